// Reading and evaluating curves of factors.
#include "study/step/convergence.h"

#include "sim/core/decimal.h"

namespace sgdsim {
namespace {

constexpr char convergence_schema[] = "sgdsim/convergence/1";

double at(const FactorCurve& curve, double x) {
  if (curve.empty()) return 1;
  if (x <= curve.front().at) return curve.front().factor;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const auto& [from, low] = curve[i - 1];
    const auto& [to, high] = curve[i];
    if (x <= to) return low + (high - low) * (x - from) / (to - from);
  }
  return curve.back().factor;
}

std::string is(const QualityCurve& curve, double x) {
  return "iterations to the target: the " + std::string(curve.says) + " is " + number_text(x);
}

std::string beyond(const QualityCurve& curve, const FactorCurve& points, double x) {
  const FactorPoint& end = x < points.front().at ? points.front() : points.back();
  return is(curve, x) + ", beyond its curve, which ends at " + number_text(end.at) +
         ": the factor there, " + number_text(end.factor) + ", is taken";
}

std::string without(const QualityCurve& curve, double x) {
  return is(curve, x) + ", and `convergence` has no curve \"" + curve.name +
         "\": no extra iterations are counted for it";
}

void check_ascending(const Value& curve) {
  const std::vector<Value> points = curve.items();
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].json()["at"] <= points[i - 1].json()["at"])
      points[i].fail("expected points with ascending `at`");
}

}  // namespace

double Convergence::iterations_at(const Quality& quality) const {
  return iterations * at(staleness, quality.staleness_mean) * at(density, quality.density) *
         at(delivered, quality.delivered);
}

std::vector<std::string> Convergence::warnings_at(const Quality& quality) const {
  std::vector<std::string> warnings;
  // Of sparse gradients one of the two curves is enough.
  const bool is_sparse = quality.density < 1 && !(density.empty() && delivered.empty());
  for (const QualityCurve& curve : quality_curves) {
    const FactorCurve& points = this->*curve.points;
    const double x = quality.*curve.quality;
    const bool is_told = curve.quality != &Quality::staleness_mean && is_sparse;
    if (!points.empty() && (x < points.front().at || x > points.back().at))
      warnings.push_back(beyond(curve, points, x));
    else if (points.empty() && x != curve.usual && !is_told)
      warnings.push_back(without(curve, x));
  }
  return warnings;
}

Fields fields_of(FactorPoint& point) {
  return {Field("at", point.at, "where").needed().from(0., 1e9),
          Field("factor", point.factor, "on the iterations").needed().from(1e-9, 1e9)};
}

Fields fields_of(Convergence& convergence) {
  const auto curve = [](const char* name, FactorCurve& points, const char* says) {
    return Field(name, points, says).filled("point").also(check_ascending);
  };
  return head_fields(convergence.head, convergence_schema) +
         Fields{
             Field("iterations", convergence.iterations, "with dense gradients that are not stale")
                 .needed()
                 .from(1., 1e15),
             curve("staleness", convergence.staleness,
                   "factors over the mean staleness, straight between points"),
             curve("density", convergence.density, "factors over the density"),
             curve("delivered_fraction", convergence.delivered,
                   "factors over the delivered fraction")};
}

Json schema_of_convergences() { return schema_of_record<Convergence>(); }

}  // namespace sgdsim
