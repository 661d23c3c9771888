// What logs of a running job say of one process: which collectives it took part in, and when. Of
// computing they say nothing, so it is what lies between.
//
// The exchanges of a job's replicas repeat from step to step. A step begins where the exchange
// before it ended: what follows up to the first exchange counts as the forward pass, and what lies
// between starts of exchanges as the backward pass, bucket by bucket. An exchange that began as the
// one before it ended may have been ready sooner; then the least time between the two, over all
// processes and steps, stands for its computing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/work/step_record.h"

namespace sgdsim {

struct LoggedGroup {
  std::string id;    // the same for all members
  std::string name;  // for people; may be empty
  int64_t ranks = 0;
  int64_t rank = 0;  // of the process
};

struct LoggedExchange {
  int32_t group = 0;  // among the groups of the process
  uint8_t operation = 0;
  int64_t number = -1;  // among those of its operation and group; -1: not said
  int64_t size_B = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t ready_ns = -1;  // when all that it waits for had ended; -1: not said
};

struct ExchangeLog {
  std::string file;
  bool is_cut_off = false;
  std::vector<LoggedGroup> groups;
  std::vector<LoggedExchange> exchanges;
  // Of all that the process did, which then is one step; -1: not said.
  int64_t first_ns = -1;
  int64_t last_ns = -1;

  int32_t group_with(const std::string& id);  // which is added if need be
};

// InputError if no more exchanges are read of a log.
void check_room(const ExchangeLog& log);

// How the processes of a job are divided.
struct LogLayout {
  int64_t tensor = 1;                    // ranks that share the exchanges inside of layers
  int64_t stages = 1;                    // of the pipeline
  int64_t replicas = 0;                  // 0: not said
  int64_t stage = -1;                    // the one to look at, where there are several
  int64_t exchanges = 0;                 // of a step; 0: as they repeat, or all of them
  bool clocks_may_be_far_apart = false;  // by over a minute
};

// `format`: what the logs are, for people. `notes`: what was left out before. InputError, naming
// `folder`, if no two processes have a step in common.
StepRecord record_of_logs(std::vector<ExchangeLog> logs, const LogLayout& layout,
                          const std::string& folder, const std::string& format,
                          const std::vector<std::string>& notes, const std::vector<int64_t>& steps);

}  // namespace sgdsim
