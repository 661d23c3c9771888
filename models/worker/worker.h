// How unlike workers are: fixed slowness, random factors, stragglers, transient slowdowns.
//
// All of them multiply compute times. Random draws depend on the seed, the worker, the iteration
// and the layer, never on the order of play, so results are the same for any thread count.
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "sim/core/random.h"

namespace sgdsim {

// A factor around 1. All have mean 1 unless stated: uniform in 1 +- spread; normal with sigma, not
// below 0.01; lognormal with sigma of its logarithm; exponential: 1 + a draw of mean `mean`; gamma
// with `shape`; pareto with `shape` > 1.
struct FactorDistribution {
  enum class Kind : uint8_t { none, uniform, normal, lognormal, exponential, gamma, pareto };
  Kind kind = Kind::none;
  double parameter = 0;
  double draw(Random& random) const;
};

struct Slowness {
  int worker = 0;
  double factor = 1;
};

Fields fields_of(Slowness& slow);

struct Jitter {
  FactorDistribution factor;
  bool per_layer = false;  // a draw per layer instead of one per iteration
};

struct Transient {
  double probability = 0;  // per worker and iteration
  double factor = 1;
};

Fields fields_of(Transient& transient);
void read_value(const Value& value, Jitter& jitter);
Json schema_of_value(const Jitter& jitter);

struct WorkerModel {
  std::vector<Slowness> slowness;  // fixed, of single workers
  Jitter jitter;
  Transient transient = {};

  bool is_random() const {
    return jitter.factor.kind != FactorDistribution::Kind::none || transient.probability > 0;
  }
  bool all_alike() const { return slowness.empty() && !is_random(); }
};

// {"slow": [{"worker": 3, "factor": 1.5}], "jitter": {"distribution": "lognormal", "sigma": 0.1,
//  "per": "iteration"}, "transient": {"probability": 0.01, "factor": 3}}
WorkerModel read_workers(const Value& value);
Fields fields_of(WorkerModel& model);

// The factors of one worker in one iteration.
class WorkerFactors {
 public:
  WorkerFactors(const WorkerModel& model, double fixed, uint64_t seed, int worker, int iteration);
  double of_iteration() const { return factor_; }
  // The factor of the next layer to be computed; of_iteration() times its own draw, if there is
  // one.
  double next_layer();

 private:
  Random random_;
  const FactorDistribution* jitter_;
  double factor_ = 1;
  bool per_layer_ = false;
};

// The fixed factors of all workers.
std::vector<double> fixed_factors(const WorkerModel& model, int workers);

}  // namespace sgdsim
