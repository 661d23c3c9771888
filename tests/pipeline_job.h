// A made-up training job whose steps are played here, apart from the program: passes in the order
// one forward, one backward, sends between stages, gradients between replicas. What is slow is
// known, and so is every time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/work/step_record.h"

namespace sgdsim {

struct PipelineJob {
  int replicas = 2;
  int stages = 4;
  int micro_batches = 8;
  int steps = 4;
  int first_step = 10;
  // Nanoseconds. `stage`: of the sender.
  std::function<int64_t(int step, int replica, int stage, int micro_batch, bool is_backward)> pass =
      [](int, int, int, int, bool is_backward) { return is_backward ? 20'000'000 : 10'000'000; };
  std::function<int64_t(int step, int replica, int stage, int micro_batch, bool is_backward)> send =
      [](int, int, int, int, bool) { return 1'000'000; };
  std::function<int64_t(int step, int stage)> reduce = [](int, int) { return 8'000'000; };
  std::function<int64_t(int step, int replica, int stage)> collection = [](int, int, int) {
    return 0;  // nothing is recorded of none
  };
  int64_t clip_ns = 1'000'000;
  int64_t optimizer_ns = 3'000'000;
  std::function<int64_t(int replica, int stage)> clock = [](int, int) { return 0; };

  StepRecord record() const;
  // The mean of the steps by the clock of the player, in seconds.
  double step_s() const;
};

// As the artefact of StragglerAnalysis writes it.
std::string timeline_text(const StepRecord& record);

}  // namespace sgdsim
