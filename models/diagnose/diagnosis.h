// What a recorded step would take if all were balanced, if one part of it were, and which part
// costs most. Definitions of arXiv 2505.05713: S = T / T_ideal, waste 1 - 1/S, and S of a part with
// only that part as it was recorded. Ideal is the mean of a kind for computations and the median
// for exchanges, over all steps: work that is unevenly divided is divided evenly, so a stage with
// less work than the mean has an S below 1.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/diagnose/parts.h"
#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {

struct PartSlowdown {
  std::string name;  // of a kind; of stages and replicas: their number
  double slowdown = 1;
};

struct WorkerSlowdown {
  int worker = 0;
  double slowdown = 1;  // the least of its replica's and its stage's
};

// Operations of some kinds that take other times, or another number of replicas.
struct WhatIf {
  std::string words;                           // as it was asked
  std::array<double, recorded_kinds> factors;  // by kind: of the recorded time
  int replicas = 0;                            // 0: as recorded
};

struct WhatIfStep {
  std::string words;
  double step_s = 0;  // T then
};

struct DiagnoseOptions {
  int layers = 0;  // of the model; 0: not said
  std::vector<WhatIf> what_ifs;
};

struct Diagnosis {
  double measured_s = 0;        // mean of steps, as recorded (recorded_times of step_shape.h)
  double played_s = 0;          // T: as recorded, without delays between operations
  double ideal_s = 0;           // T_ideal
  std::vector<double> steps_s;  // T of each step
  std::vector<PartSlowdown> stages;
  std::vector<PartSlowdown> replicas;
  std::vector<PartSlowdown> kinds;
  std::vector<WorkerSlowdown> workers;  // all, the slowest first
  // Parts of T - T_ideal that the last stage and the slowest 3 % of workers explain; nothing where
  // there is no difference.
  std::optional<double> last_stage;
  std::optional<double> slow_workers;
  std::vector<int> slowest;              // workers: those 3 %
  std::vector<Part> parts;               // what repairing one would save, the most first
  std::optional<double> fewer_layers_s;  // T with a layer of the last stage on the least busy one
  int receiving_stage = 0;
  std::vector<WhatIfStep> what_ifs;  // as they were asked

  double slowdown() const { return ideal_s > 0 ? played_s / ideal_s : 1; }
  // By as much as a thousandth; else parts of the difference mean nothing to people.
  bool is_slowed() const { return slowdown() >= 1.001; }
  double waste() const { return played_s > 0 ? 1 - ideal_s / played_s : 0; }
  double launch() const { return played_s > 0 ? measured_s / played_s : 1; }
};

// What every node would take if all of its kind took alike.
std::vector<Duration> ideal_lengths(const StepWork& work);

Diagnosis diagnose(const StepWork& work, const DiagnoseOptions& options = {});

}  // namespace sgdsim::diagnose
