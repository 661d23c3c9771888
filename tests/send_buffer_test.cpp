// Messages of a pair that a buffer takes off their sender's hands stay in order.
#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/net/flows.h"
#include "tests/packet_cases.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

Json chain_of(int nodes) {
  return {{"shape", "single_switch"},
          {"nodes", nodes},
          {"nic", {{"latency", "0.5 ms"}, {"per_byte", "80 ns/B"}}}};
}

Duration chain_time(int ranks, Operation operation, const std::string& buffer) {
  CollectiveQuestion question;
  question.algorithm = "lp";
  question.operation = operation;
  question.messages = {Bytes(4 << 20)};
  question.block = Bytes(1 << 20);
  set_option(question.options, "alpha", "wire", "test");
  set_option(question.options, "ports", "shared", "test");
  set_option(question.options, "send_buffer", buffer, "test");
  return simulate_collective(question, cluster_of(chain_of(ranks)), "test").time;
}

}  // namespace

// Four blocks of 1 MiB go through P - 1 ports one after the other: P - 2 + 4 blocks and P - 1
// start-ups, whatever part of a block the buffer holds. (Two blocks of a pair that share a port are
// both late: that took 525 ms with 3 ranks, not 421.)
TEST_CASE("send_buffer: the blocks of a pipeline stay in order") {
  const Duration block = Duration::ns(80) * (1 << 20);
  for (const int ranks : {2, 3, 16})
    for (const Operation operation : {Operation::broadcast, Operation::reduce})
      for (const char* buffer : {"1 B", "400 KB", "740 KB", "1 MiB", "2 MB"}) {
        INFO(ranks << " ranks, " << name_of(operation) << ", " << buffer);
        CHECK(chain_time(ranks, operation, buffer) ==
              block * (ranks - 2 + 4) + Duration::ms(ranks - 1));
      }
}
