// Measuring a list of tasks on a backend: check each result, then repeat until medians are sure.
//
// Repetitions go round over all tasks a few at a time, so that a disturbance of some seconds meets
// a few repetitions of many sizes instead of all of one. A task whose result is wrong is not timed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/backend.h"
#include "calibrate/statistics.h"

namespace sgdsim::calibrate {

// One point of one curve.
struct Task {
  std::string operation = {};
  std::string algorithm = {};
  std::string note = {};
  Type type = Type::float32;
  int64_t bytes = 0;
  std::optional<int64_t> block_B = {};
  int repeats = 1;  // how often the plan does what is measured
  Plan plan = {};
  std::function<void(int rank, std::vector<std::byte>& data)> fill = {};
  // The first element that is wrong after the operation, or -1.
  std::function<int64_t(int rank, const std::vector<std::byte>& data)> first_wrong = {};
};
// Whether two points belong to one curve.
bool is_same_series(const Task& a, const Task& b);
// "allreduce ring, 8 ranks, 4 KiB of float32"
std::string text_of(const Task& task);

struct MeasureOptions {
  StoppingRule rule;
  bool cold = false;  // caches are flushed before every repetition
  double time_limit_s = 60;
  bool verify_only = false;
};

struct Watcher {
  std::function<bool()> is_interrupted;
  std::function<void(const std::string& line)> progress;
};

struct Measured {
  std::vector<double> samples_us;
  bool verified = false;
};

struct Outcome {
  std::vector<Measured> points;  // one per task
  bool is_complete = true;       // neither interrupted nor out of time
  std::vector<std::string> wrong;
};

// Tasks of one number of ranks should follow each other: buffers are made anew in between.
Outcome measure(Backend& backend, const std::vector<Task>& tasks, const MeasureOptions& options,
                const Watcher& watcher);

}  // namespace sgdsim::calibrate
