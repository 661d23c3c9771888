// Reading and evaluating curves of factors.
#include "app/step/convergence.h"

namespace sgdsim {
namespace {

double at(const FactorCurve& curve, double x) {
  if (curve.empty()) return 1;
  if (x <= curve.front().first) return curve.front().second;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const auto& [from, low] = curve[i - 1];
    const auto& [to, high] = curve[i];
    if (x <= to) return low + (high - low) * (x - from) / (to - from);
  }
  return curve.back().second;
}

FactorCurve read_curve_of_factors(const Value& value) {
  FactorCurve curve;
  for (const Value& item : value.items()) {
    Object one(item);
    const double x = one.at("at").number(0, 1e9);
    if (!curve.empty() && x <= curve.back().first) item.fail("expected points with ascending `at`");
    curve.emplace_back(x, one.at("factor").number(0, 1e9));
    one.done();
  }
  if (curve.empty()) value.fail("expected at least one point");
  return curve;
}

}  // namespace

double Convergence::iterations_at(const Quality& quality) const {
  return iterations * at(staleness, quality.staleness_mean) * at(density, quality.density) *
         at(delivered, quality.delivered);
}

Convergence read_convergence(const Value& value) {
  Convergence convergence;
  Object fields(value);
  convergence.iterations = fields.at("iterations").number(1, 1e15);
  if (const auto field = fields.find("staleness"))
    convergence.staleness = read_curve_of_factors(*field);
  if (const auto field = fields.find("density"))
    convergence.density = read_curve_of_factors(*field);
  if (const auto field = fields.find("delivered_fraction"))
    convergence.delivered = read_curve_of_factors(*field);
  fields.done();
  return convergence;
}

}  // namespace sgdsim
