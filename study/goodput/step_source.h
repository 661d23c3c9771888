// Where the time of a step comes from: a number, or an experiment or layout that is simulated. What
// is simulated can be simulated again with a part that is slow or gone, which tells how much longer
// a step takes meanwhile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/fields.h"

namespace sgdsim {

// What is slow or gone.
struct Degraded {
  std::optional<double> gpu;
  std::vector<std::string> link;
  std::string vertex;
  std::optional<double> bandwidth;
  int64_t replicas_away = 0;
  std::vector<std::string> set;
};
Fields fields_of(Degraded& degraded);

// What a step that is simulated runs on.
struct StepMachine {
  int64_t nodes = 1;
  int64_t gpus_per_node = 1;
};

class StepSource {
 public:
  // "8.2 s", the path of an experiment, {"experiment": ..., "cluster": ..., "set": [...]}, or
  // {"layout": ..., "model": ..., "cluster": ...}. With `nodes` an experiment is simulated on as
  // many; InputError there if it cannot be. `look` is called now and then; what it throws ends
  // simulations.
  static StepSource read(const Value& step, const std::optional<Value>& nodes,
                         const std::function<void()>& look);

  double step_s() const { return step_s_; }
  const std::string& from() const { return from_; }  // for people; empty: a number
  // Nothing for a number, and for a recorded step of which nobody says where it ran.
  const std::optional<StepMachine>& machine() const { return machine_; }
  // Whether an experiment was asked for on other nodes than its own: then a step trains more or
  // fewer samples.
  bool has_other_samples() const { return has_other_samples_; }
  const std::vector<std::string>& notes() const { return notes_; }  // on what was priced

  // How many times as long a step takes with {"gpu": 0.5}, one GPU at half of its speed; {"link":
  // [A, B], "bandwidth": 0}, a link at a part of its bandwidth, or gone; {"vertex": A, "bandwidth":
  // 0.25}; {"replicas_away": 1}, of a layout; {"set": [...]}, fields of the experiment. Each is
  // simulated once. InputError at the value if the step is a number, or cannot be simulated so.
  double factor_of(const Value& degraded);

 private:
  struct Play {
    std::vector<std::string> settings = {};  // of an experiment
    double gpu_speed = 1;
    int64_t replicas_away = 0;
    bool is_played = false;  // a layout: at fidelity message, in which GPUs may differ
  };
  Play play_of(const Value& degraded) const;
  void read_layout(const Value& step, const std::optional<Value>& nodes,
                   const std::function<void()>& look);
  void read_experiment_of(const Value& step, const std::optional<Value>& nodes,
                          const std::function<void()>& look);

  double step_s_ = 0;
  std::string from_;
  std::vector<std::string> notes_;
  std::optional<StepMachine> machine_;
  bool is_layout_ = false;
  bool has_other_samples_ = false;
  std::function<double(const Play&)> simulate_;  // nothing where it is a number
  std::map<std::string, double> remembered_;
};

}  // namespace sgdsim
