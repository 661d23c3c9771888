// When a training with this layout ends on a machine that fails: the question of `sgdsim goodput`,
// of which the layout gives the step, the work and the nodes.
#pragma once

#include <optional>
#include <string>

#include "sim/core/json.h"
#include "sim/core/units.h"
#include "study/layout/layout_rates.h"

namespace sgdsim {

class FailingTraining {
 public:
  // A file, or JSON itself. InputError where it says what the layout says, and where it is no
  // question: that of a step of a second is asked.
  FailingTraining(const std::string& file_or_json, const StepSize& size, int64_t gpus_per_node);
  // By formula where one holds, else the mean of some hundred runs.
  TrainingEnd end(Duration step) const;

 private:
  Json question_;
  std::string file_;
};

}  // namespace sgdsim
