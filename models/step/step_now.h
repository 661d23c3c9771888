// What the parts of a step's player share: what was asked, what was planned, and which iteration is
// being played.
#pragma once

#include <functional>
#include <vector>

#include "models/step/prices.h"
#include "models/step/step.h"

namespace sgdsim {

struct StepNow {
  const StepQuestion& question;
  const PipelineRule* pipeline = nullptr;  // null: every iteration waits for its sums
  const MessageCost* cost = nullptr;       // at this iteration's density
  GradientPlan plan = {};
  Prices prices = {};                 // of its messages, where one worker stands for all
  std::vector<Encoded> encoded = {};  // else what they are made into
  bool is_plain = true;  // messages are in the way of nothing but the end of the iteration

  // Messages share the network: they are played together, as they meet.
  bool together = false;
  // If they have been played: when those of an iteration start and end.
  std::function<std::vector<ExchangeTimes>(int iteration)> played = {};

  int iteration = 0;
  Time origin = {};     // where the first worker starts
  bool counts = false;  // it is measured
  bool draws = false;   // and drawn

  // Iterations are alike, and one is played for all of them.
  bool is_steady(bool one_for_all) const {
    return one_for_all && pipeline == nullptr && !question.strategy->replans;
  }
  // Where messages go on in the next forward, which is played layer by layer.
  bool is_late() const { return plan.gate == Gate::per_layer; }
};

}  // namespace sgdsim
