// Each method is a point of one curve: the one of what distinguishes it from dense training.
#include "study/learn/learned_convergence.h"

#include <cmath>
#include <map>
#include <optional>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr char option[] = "--convergence";

// The curve that a method is a point of; none: it is as good as dense, or `why` not.
const QualityCurve* curve_of(const Quality& quality, std::string& why) {
  const QualityCurve* found = nullptr;
  for (const QualityCurve& curve : quality_curves) {
    if (quality.*curve.quality == curve.usual) continue;
    if (found == nullptr) {
      found = &curve;
    } else if (std::string(found->name) != "density" ||
               std::string(curve.name) != "delivered_fraction") {
      why = "both its " + std::string(found->says) + " and its " + curve.says +
            " differ from dense training's";
      return nullptr;
    }
  }
  return found;
}

double factor_of(const LearnMethod& method, const LearnedMethod& learned,
                 const LearnedMethod& dense) {
  const OverSeeds& own = learned.chosen().iterations_to_target;
  const double needed = dense.chosen().iterations_to_target.median;
  if (!std::isfinite(own.median) || !std::isfinite(needed))
    throw InputError(option, "\"" + method.label +
                                 "\" did not reach the target with most seeds, so there is no "
                                 "factor: choose an easier --target or more --iterations, or leave "
                                 "this method out");
  if (needed == 0)
    throw InputError(option,
                     "the target is met before the first iteration: choose a harder --target");
  return own.median / needed;
}

}  // namespace

LearnedConvergence convergence_of(const LearnQuestion& question, const Learned& learned) {
  LearnedConvergence result;
  std::map<std::string, std::map<double, std::pair<double, std::string>>> points;
  for (std::size_t i = 1; i < question.methods.size(); ++i) {
    const LearnMethod& method = question.methods[i];
    std::string why;
    const QualityCurve* curve = curve_of(method.quality, why);
    if (curve == nullptr) {
      result.said.push_back("\"" + method.label + "\" is not in the curves: " +
                            (why.empty() ? "neither its density nor its staleness nor what is "
                                           "delivered differs from dense training's"
                                         : why));
      continue;
    }
    const double at = method.quality.*curve->quality;
    const double factor = factor_of(method, learned.methods[i], learned.methods.front());
    const auto [place, is_new] = points[curve->name].emplace(at, std::pair(factor, method.label));
    if (!is_new)
      throw InputError(option, "\"" + place->second.second + "\" and \"" + method.label +
                                   "\" have the same " + curve->says + ", " + Json(at).dump() +
                                   ": a curve has one factor there, so leave one of them out");
  }
  if (points.empty())
    throw InputError(option,
                     "no method differs from dense training in density, staleness or what is "
                     "delivered: add some with --also, such as compression=topk or "
                     "\"late: synchronization=pipe_sgd, width=4\"");
  if (points.contains("density") && points.contains("delivered_fraction"))
    throw InputError(option,
                     "methods with lost packets and sparse ones need a file each, because what is "
                     "sparse is delivered in part, too: leave one kind out");
  result.file = {
      {"schema", "sgdsim/convergence/1"},
      {"name", question.name},
      {"description", "Factors of a small model: " + question.task.name + ", " +
                          std::to_string(question.task.weights()) +
                          " weights. A large model's may be others; compare, do not predict."},
      {"source", "sgdsim learn: " + std::to_string(question.workers) + " workers with " +
                     std::to_string(question.samples) + " samples each, " +
                     std::to_string(question.seeds.size()) + " seeds, rate " +
                     (question.wants_best_rate ? "best of each method" : "the same") + ", to " +
                     (learned.target.is_accuracy ? "accuracy " : "loss ") +
                     Json(learned.target.value).dump()},
      {"iterations", learned.methods.front().chosen().iterations_to_target.median}};
  for (const QualityCurve& curve : quality_curves) {
    const auto found = points.find(curve.name);
    if (found == points.end()) continue;
    found->second.emplace(curve.usual, std::pair(1., ""));
    Json& list = result.file[curve.name] = Json::array();
    for (const auto& [at, factor] : found->second)
      list.push_back({{"at", at}, {"factor", factor.first}});
  }
  return result;
}

}  // namespace sgdsim
