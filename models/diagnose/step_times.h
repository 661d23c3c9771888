// Where the time of recorded steps goes, part by part, so that two records can be compared; and
// which single part explains a difference between them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/diagnose/parts.h"
#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {

enum class TimePart : uint8_t {
  forward,
  backward,
  optimizer,
  collection,
  sends,     // between stages
  replicas,  // their exchange
  embedding,
  clipping,
  waiting,  // for others, in exchanges
  launch    // delays between operations
};
inline constexpr std::size_t time_part_count = 10;
inline constexpr std::array<std::string_view, time_part_count> time_part_names = {
    "forward",  "backward",  "optimizer", "collection", "sends",
    "replicas", "embedding", "clipping",  "waiting",    "launch"};

TimePart time_part_of(Recorded kind);

// Seconds of a worker in a step, on average over workers.
using PartTimes = std::array<double, time_part_count>;

struct StepTimes {
  int64_t step = 0;
  double time_s = 0;  // as recorded, of the worker that took longest
  PartTimes times{};
  std::vector<double> causes;  // as causes_of() lists them: seconds in this step
};

std::vector<StepTimes> step_times_of(const StepWork& work);
PartTimes mean_of(const std::vector<StepTimes>& steps);

// What can be named: computing of each worker, each link, the exchange of each stage's replicas.
std::vector<Part> causes_of(const StepWork& work);

// How much of the difference goes if one part of the prediction takes what was measured of it.
struct Explanation {
  TimePart part = TimePart::forward;
  double factor = 1;     // measured over predicted, of this part
  double explained = 0;  // of the difference; 1: all
};
// The best first.
std::vector<Explanation> explain(const StepWork& predicted, const PartTimes& measured_times,
                                 double measured_s, double predicted_s);

}  // namespace sgdsim::diagnose
