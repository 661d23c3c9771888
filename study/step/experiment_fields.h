// The fields of an experiment, as its file has them.
#pragma once

#include <optional>

#include "models/collective/simulate.h"
#include "sim/core/fields.h"
#include "study/step/convergence.h"

namespace sgdsim {

// "none" is as good as no field, so that a sweep can compare with it.
inline bool is_none(const Json& json) {
  return json.is_string() && json.get<std::string>() == "none";
}
inline bool is_none(const Value& value) { return is_none(value.json()); }

// A trace as {"file": path, "compute_scale": 0.5}.
struct ScaledTrace {
  std::string file;
  std::optional<Json> compute_scale;
  std::optional<Json> gradient_scale;
};
Fields fields_of(ScaledTrace& trace);

// What a compression may have besides its own fields.
struct OwnCollective {
  std::optional<Value> collective;
};
Fields fields_of(OwnCollective& own);

inline constexpr int most_channels = 1024;

// What depends on each other is read later.
struct ExperimentFields {
  FileHead head;
  std::optional<Value> trace, cluster, collective, compression, strategy, synchronization;
  std::optional<Value> transport, traffic, workers;
  Fidelity fidelity = Fidelity::message;
  std::optional<int> iterations, warm_up, channels;
  std::optional<int64_t> accumulation;
  uint64_t seed = 1;
  std::optional<double> interference = {};
  std::optional<Duration> alone;
  std::optional<Convergence> convergence;
};
Fields fields_of(ExperimentFields& experiment);

}  // namespace sgdsim
