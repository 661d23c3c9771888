// How long the steps of a training run took, as its log says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

// One tensor of a timeline, over all steps; medians.
struct TensorExchange {
  std::string name;
  int64_t count = 0;
  Duration wait;      // from the first rank that has it to the last
  Duration transfer;  // of the buffer in which it went, maybe among others
  std::optional<Bytes> size{};
};

struct StepRun {
  std::string file;
  std::string benchmark;  // empty: not stated
  std::optional<int64_t> global_batch;
  std::optional<int64_t> accumulation;     // batches per step and worker
  std::optional<int64_t> sequence_length;  // tokens
  std::vector<Duration> steps;             // in the order of the run
  std::vector<int64_t> stands_for;         // steps that each is the mean of; empty: one each
  std::optional<Duration> run;             // from its start to its stop
  std::optional<double> stated_samples_per_s;
  std::vector<TensorExchange> exchanges;
  std::vector<std::string> notes;
};

int64_t steps_of(const StepRun& run);  // how many its times stand for

// What the steps of a run come to.
struct StepSummary {
  Duration median;
  Duration p95;         // the least that 95 % of the steps do not exceed
  Duration mean;        // without those that warm up
  int64_t warm_up = 0;  // steps: the first ones, where they take much longer than the median
  std::optional<double> autocorrelation;  // of neighbours; none if all steps take the same
  std::optional<double> samples_per_s;    // batch over mean
};
StepSummary summary_of(const StepRun& run);  // of at least one step

}  // namespace sgdsim
