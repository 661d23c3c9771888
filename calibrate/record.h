// Measured points as a measurement file, sgdsim/measurement/1.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure.h"
#include "sim/core/json.h"

namespace sgdsim::calibrate {

struct Provenance {
  std::string name = {};
  std::string date = {};
  bool cold = false;
  Json asked = {};  // of asked_of
  std::vector<DeviceState> before = {};
  std::vector<DeviceState> after = {};
  std::vector<std::string> left_out = {};  // and why
};

// The series and sizes of all that was asked for, by which a reader knows what is missing.
Json asked_of(const std::vector<Task>& tasks);

// Series in the order of the tasks; points without a sample are left out.
// `machine` as it was before the measurement: a GPU that failed does not say.
Json record_of(const Backend& backend, const Machine& machine, const std::vector<Task>& tasks,
               const Outcome& outcome, const Provenance& provenance);

}  // namespace sgdsim::calibrate
