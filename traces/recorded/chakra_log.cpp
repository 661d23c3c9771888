// Of an execution trace: which nodes are exchanges, and when what they wait for had ended.
#include <algorithm>
#include <limits>
#include <map>

#include "sim/core/error.h"
#include "traces/chakra.h"
#include "traces/recorded/job_logs.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

// Profiles have a collective twice: as the call on the CPU, and as the kernel.
bool is_exchange(const ChakraNode& node) {
  return node.type == ChakraType::collective && node.size_B.value_or(0) > 0 &&
         !node.is_cpu_op.value_or(false) && node.collective.value_or(0) >= 0 &&
         node.collective.value_or(0) < chakra_collectives;
}

}  // namespace

ExchangeLog chakra_log(const std::string& file) {
  ExchangeLog log;
  log.file = file;
  std::map<uint64_t, int64_t> ends;          // of nodes that compute
  std::vector<std::vector<uint64_t>> waits;  // of exchanges
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  bool has_times = false;
  read_chakra(file, [&](ChakraNode& node) {
    if (std::max(node.start_us, node.duration_us) > uint64_t{latest_log_us}) return;
    const auto start_ns = static_cast<int64_t>(node.start_us) * 1000;
    const int64_t end_ns = start_ns + static_cast<int64_t>(node.duration_us) * 1000;
    const bool is_timed = node.start_us > 0 || node.duration_us > 0;
    if (is_timed && !node.is_cpu_op.value_or(false)) {
      first_ns = std::min(first_ns, start_ns);
      log.last_ns = std::max(log.last_ns, end_ns);
    }
    if (!is_exchange(node)) {
      if (is_timed) ends[node.id] = end_ns;
      return;
    }
    if (log.exchanges.size() == most_recorded_operations)
      throw InputError(
          file, "holds more than " + std::to_string(most_recorded_operations) + " collectives");
    has_times = has_times || node.start_us > 0;
    LoggedExchange one;
    one.group = log.group_with(node.group.value_or("all"));
    one.operation = static_cast<uint8_t>(node.collective.value_or(0));
    one.size_B = *node.size_B;
    one.start_ns = start_ns;
    one.end_ns = end_ns;
    log.exchanges.push_back(one);
    waits.push_back(std::move(node.control_waits));
    waits.back().insert(waits.back().end(), node.data_waits.begin(), node.data_waits.end());
  });
  if (!has_times)
    throw InputError(file, log.exchanges.empty()
                               ? "holds no collective"
                               : "does not say when its collectives ran; `sgdsim replay` simulates "
                                 "such a trace");
  log.first_ns = first_ns;
  for (std::size_t i = 0; i < waits.size(); ++i)
    for (const uint64_t id : waits[i])
      if (const auto found = ends.find(id); found != ends.end())
        log.exchanges[i].ready_ns = std::max(log.exchanges[i].ready_ns, found->second);
  return log;
}

void number_members(std::vector<ExchangeLog>& logs) {
  std::map<std::string, int64_t> ranks;
  for (ExchangeLog& log : logs)
    for (LoggedGroup& group : log.groups) group.rank = ranks[group.id]++;
  for (ExchangeLog& log : logs)
    for (LoggedGroup& group : log.groups) group.ranks = ranks[group.id];
}

}  // namespace sgdsim
