// Reading the worker model, and drawing from it.
#include "models/worker/worker.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/core/part.h"

namespace sgdsim {
namespace {

using Kind = FactorDistribution::Kind;

struct KindName {
  const char* name;
  Kind kind;
  const char* parameter;
  const char* says;
  double least;
  double most;
};

constexpr KindName kind_names[] = {
    {"uniform", Kind::uniform, "spread", "1 +- spread", 0, 1},
    {"normal", Kind::normal, "sigma", "deviation", 0, 10},
    {"lognormal", Kind::lognormal, "sigma", "deviation of the logarithm", 0, 10},
    {"exponential", Kind::exponential, "mean", "mean of the draw, to which 1 is added", 0, 1e3},
    {"gamma", Kind::gamma, "shape", "shape; the mean is 1", 1e-3, 1e9},
    {"pareto", Kind::pareto, "shape", "shape; the mean is 1", 1.001, 1e9},
};

Fields fields_of(const KindName& kind, Jitter& jitter) {
  return {Field(kind.parameter, jitter.factor.parameter, kind.says)
              .needed()
              .from(kind.least, kind.most),
          Field("per", jitter.per_layer, "one draw per iteration, or per layer")
              .one_of({"iteration", "layer"})
              .called("value")};
}

}  // namespace

void read_value(const Value& value, Jitter& jitter) {
  Object fields(value);
  const Value name = fields.at("distribution");
  const KindName& kind = part_named(kind_names, "distribution", name.text(), name.where());
  read_fields(fields, fields_of(kind, jitter));
  fields.done();
  // With a parameter of 0 every draw is 1.
  if (jitter.factor.parameter > 0) jitter.factor.kind = kind.kind;
}

Json schema_of_value(const Jitter&) {
  std::vector<PartText> texts;
  for (const KindName& kind : kind_names) {
    Jitter jitter;
    texts.push_back({kind.name, "distribution of the factor", options_in(fields_of(kind, jitter))});
  }
  return schema_of_parts_by("distribution", texts);
}

namespace {

void check_slow(const Value& list) {
  std::set<int64_t> workers;
  for (const Value& item : list.items()) {
    const Value worker = item.child("worker");
    const int64_t number = worker.json().get<int64_t>();
    if (!workers.insert(number).second)
      worker.fail("worker " + std::to_string(number) + " is listed twice; give it one factor");
  }
}

}  // namespace

Fields fields_of(Slowness& slow) {
  return {Field("worker", slow.worker, "its number, from 0").needed().from(0, 1 << 24),
          Field("factor", slow.factor,
                "factor on its compute time; below 1 the worker is faster, and waits for others")
              .needed()
              .from(1e-6, 1e6)};
}

Fields fields_of(Transient& transient) {
  return {Field("probability", transient.probability, "chance of a worker in an iteration")
              .needed()
              .from(0, 1),
          Field("factor", transient.factor, "factor on its compute time").needed().from(1e-6, 1e6)};
}

Fields fields_of(WorkerModel& model) {
  return {Field("slow", model.slowness, "fixed factors on the compute time of single workers")
              .also(check_slow),
          {"jitter", model.jitter, "a random factor on compute times"},
          {"transient", model.transient, "a slowdown that hits a worker for one iteration"}};
}

WorkerModel read_workers(const Value& value) { return read_record<WorkerModel>(value); }

double FactorDistribution::draw(Random& random) const {
  switch (kind) {
    case Kind::none:
      return 1;
    case Kind::uniform:
      return random.uniform(1 - parameter, 1 + parameter);
    case Kind::normal:
      return std::max(0.01, random.normal(1, parameter));
    case Kind::lognormal:
      return random.lognormal(-parameter * parameter / 2, parameter);
    case Kind::exponential:
      return 1 + random.exponential(parameter);
    case Kind::gamma:
      return random.gamma(parameter, 1 / parameter);
    case Kind::pareto:
      return random.pareto(parameter, (parameter - 1) / parameter);
  }
  return 1;
}

WorkerFactors::WorkerFactors(const WorkerModel& model, double fixed, uint64_t seed, int worker,
                             int iteration)
    : random_(model.is_random() ? Random::of(seed, {static_cast<uint64_t>(worker),
                                                    static_cast<uint64_t>(iteration)})
                                : Random(0)),
      jitter_(&model.jitter.factor),
      factor_(fixed),
      per_layer_(model.jitter.per_layer && model.jitter.factor.kind != Kind::none) {
  if (model.transient.probability > 0 && random_.uniform() < model.transient.probability)
    factor_ *= model.transient.factor;
  if (!per_layer_) factor_ *= model.jitter.factor.draw(random_);
}

double WorkerFactors::next_layer() {
  return per_layer_ ? factor_ * jitter_->draw(random_) : factor_;
}

std::vector<double> fixed_factors(const WorkerModel& model, int workers) {
  std::vector<double> factors(static_cast<std::size_t>(workers), 1.);
  for (const Slowness& one : model.slowness)
    if (one.worker < workers) factors[static_cast<std::size_t>(one.worker)] *= one.factor;
  return factors;
}

}  // namespace sgdsim
