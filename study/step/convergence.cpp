// Reading and evaluating curves of factors.
#include "study/step/convergence.h"

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

Fields fields_of(FactorPoint& point) {
  return {Field("at", point.at, "where").needed().from(0., 1e9),
          Field("factor", point.factor, "on the iterations").needed().from(0., 1e9)};
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
