// Reading the worker model, and drawing from it.
#include "models/worker/worker.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {
namespace {

using Kind = FactorDistribution::Kind;

struct KindName {
  const char* name;
  Kind kind;
  const char* parameter;
  double least;
  double most;
};

constexpr KindName kind_names[] = {
    {"uniform", Kind::uniform, "spread", 0, 1},
    {"normal", Kind::normal, "sigma", 0, 10},
    {"lognormal", Kind::lognormal, "sigma", 0, 10},
    {"exponential", Kind::exponential, "mean", 0, 1e3},
    {"gamma", Kind::gamma, "shape", 1e-3, 1e9},
    {"pareto", Kind::pareto, "shape", 1.001, 1e9},
};

FactorDistribution read_distribution(Object& fields) {
  const Value name = fields.at("distribution");
  std::vector<std::string> known;
  for (const KindName& one : kind_names) {
    if (name.text() == one.name) {
      const double parameter = fields.at(one.parameter).number(one.least, one.most);
      if (parameter == 0) return {};  // every draw is 1
      return {one.kind, parameter};
    }
    known.emplace_back(one.name);
  }
  name.fail(unknown_name("distribution", name.text(), known));
}

}  // namespace

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

WorkerModel read_workers(const Value& value) {
  WorkerModel model;
  Object fields(value);
  if (const auto slow = fields.find("slow"))
    for (const Value& item : slow->items()) {
      Object one(item);
      const Value worker = one.at("worker");
      const auto number = static_cast<int>(worker.whole(0, 1 << 24));
      for (const Slowness& before : model.slowness)
        if (before.worker == number)
          worker.fail("worker " + std::to_string(number) + " is listed twice; give it one factor");
      model.slowness.push_back({number, one.at("factor").number(1e-6, 1e6)});
      one.done();
    }
  if (const auto jitter = fields.find("jitter")) {
    Object one(*jitter);
    model.jitter = read_distribution(one);
    if (const auto per = one.find("per")) {
      if (per->text() != "iteration" && per->text() != "layer")
        per->fail(unknown_name("value", per->text(), {"iteration", "layer"}));
      model.jitter_per_layer = per->text() == "layer";
    }
    one.done();
  }
  if (const auto transient = fields.find("transient")) {
    Object one(*transient);
    model.transient_probability = one.at("probability").number(0, 1);
    model.transient_factor = one.at("factor").number(1e-6, 1e6);
    one.done();
  }
  fields.done();
  return model;
}

WorkerFactors::WorkerFactors(const WorkerModel& model, double fixed, uint64_t seed, int worker,
                             int iteration)
    : random_(model.is_random() ? Random(seed)
                                      .stream(static_cast<uint64_t>(worker))
                                      .stream(static_cast<uint64_t>(iteration))
                                : Random(0)),
      jitter_(&model.jitter),
      factor_(fixed),
      per_layer_(model.jitter_per_layer && model.jitter.kind != Kind::none) {
  if (model.transient_probability > 0 && random_.uniform() < model.transient_probability)
    factor_ *= model.transient_factor;
  if (!per_layer_) factor_ *= model.jitter.draw(random_);
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
