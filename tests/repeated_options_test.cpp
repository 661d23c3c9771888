// Options that may be given several times, where somebody gives several values at once.
#include <doctest/doctest.h>

#include "tests/run_program.h"

namespace sgdsim {
namespace {

std::string refused(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"layout", "llama3.1_8b", "-c", "dgx_h100_4"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_sgdsim(words);
  CHECK(ran.exit_code == 2);
  return ran.log.substr(0, ran.log.find('\n'));
}

TEST_CASE("command line: a second value of an option says to repeat it") {
  const auto holds = [](const std::string& log, const std::string& sentence) {
    INFO(log);
    CHECK(log.find(sentence) != std::string::npos);
  };
  holds(refused({"-a", "ring", "alltoall=direct"}),
        "nothing takes \"alltoall=direct\"; an option takes one value each time: -a ring -a "
        "alltoall=direct");
  holds(refused({"--set", "nic.efficiency=1", "gpu_link.efficiency=1"}),
        "each time: --set nic.efficiency=1 --set gpu_link.efficiency=1");
  holds(refused({"--axis", "gpus=8,16", "cluster.nic.bandwidth=100 Gbps,400 Gbps"}),
        "--axis gpus=8,16 --axis 'cluster.nic.bandwidth=100 Gbps,400 Gbps'");
  // Not of an option that is given once.
  CHECK(refused({"--gpus", "8", "16"}).find("each time") == std::string::npos);
}

}  // namespace
}  // namespace sgdsim
