// Measured points as a measurement file, sgdsim/measurement/1.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure.h"
#include "sim/core/json.h"

namespace sgdsim::calibrate {

struct Provenance {
  std::string name;
  std::string date;
  bool cold = false;
  std::vector<std::string> left_out = {};  // and why
};

// Series in the order of the tasks; points without a sample are left out.
Json record_of(const Backend& backend, const std::vector<Task>& tasks, const Outcome& outcome,
               const Provenance& provenance);

}  // namespace sgdsim::calibrate
