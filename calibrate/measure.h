// Measuring a list of tasks on a backend: check each result, then repeat until medians are sure.
//
// Repetitions go round over all tasks a few at a time, so that a disturbance of some seconds meets
// a few repetitions of many sizes instead of all of one. A task whose result is wrong is not timed,
// and one that cannot be timed does not end the others. Whatever goes wrong, what was measured
// before it stays.
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
  // What a rank's data is before the operation, and what the operation promises of it.
  std::function<Stretches(int rank)> before = {};
  std::function<Stretches(int rank)> after = {};
  // Where a promise is not of numbers that repeat: the first element that breaks it, or -1.
  std::function<int64_t(int rank, const std::vector<std::byte>& data)> first_broken = {};

  // The same in the memory of this machine.
  void fill(int rank, std::vector<std::byte>& data) const;
  int64_t first_wrong(int rank, const std::vector<std::byte>& data) const;
};
// Whether two points belong to one curve.
bool is_same_series(const Task& a, const Task& b);
// "allreduce ring, 8 ranks, 4 KiB of float32"
std::string text_of(const Task& task);
// The same of all sizes: "allreduce ring, 8 ranks, float32".
std::string text_of_series(const Task& task);

// Takes out the tasks for which the backend has no memory, and says why. Tasks of one number of
// ranks share buffers, so that what counts is what they need together; the smaller ones stay.
std::vector<std::string> leave_out_what_has_no_room(const Backend& backend,
                                                    std::vector<Task>& tasks);

struct MeasureOptions {
  StoppingRule rule;
  bool cold = false;         // caches are flushed before every repetition
  double time_limit_s = 60;  // of verification and repetitions together
  bool verify_only = false;
};

struct Watcher {
  std::function<bool()> is_interrupted;
  std::function<void(const std::string& line)> progress;
};

struct Measured {
  std::vector<double> samples_us;
  bool verified = false;
  bool is_wrong = false;
  bool cannot_be_timed = false;
  int rounds = 0;  // each sample is the mean of this many runs; 0: not known yet
  std::vector<std::size_t> visits = {};  // how many of the samples each visit took
  std::vector<double> clocks_MHz = {};   // during each sample, where that is known

  std::vector<double> medians_us() const { return medians_of_visits(samples_us, visits); }
  double time_us() const { return median(medians_us()); }
};

struct Outcome {
  std::vector<Measured> points;    // one per task
  bool is_complete = true;         // neither interrupted, nor out of time, nor ended by a failure
  std::vector<std::string> wrong;  // results
  bool is_interrupted = false;     // by a signal to any process
  std::string failure;             // what ended everything; empty: nothing did
  std::vector<std::string> notes;  // why a time is missing
};

// A line for each series of which some sizes were not measured or, if nothing is timed, not
// verified. Wrong results have lines of their own.
std::vector<std::string> missing_of(const std::vector<Task>& tasks, const Outcome& outcome,
                                    bool verify_only);

// Tasks of one number of ranks should follow each other: buffers are made anew in between.
Outcome measure(Backend& backend, const std::vector<Task>& tasks, const MeasureOptions& options,
                const Watcher& watcher);

}  // namespace sgdsim::calibrate
