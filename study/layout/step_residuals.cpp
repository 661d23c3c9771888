// Six classes: by fidelity, and by what is trained.
#include "study/layout/step_residuals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace sgdsim {
namespace {

constexpr double one_in_twenty = 0.05;
constexpr std::size_t least_of_source = 2;  // steps

struct Weighed {
  double ratio = 1;
  double weight = 0;
};

// From the first one on, until one in twenty is behind.
template <class Iterator>
double after_one_in_twenty(Iterator from, Iterator to) {
  double behind = 0;
  for (; from != to; ++from)
    if ((behind += from->weight) >= one_in_twenty) return from->ratio;
  return 1;
}

std::vector<double> ratios_of(const CaseFile& file, StepClass kind) {
  std::vector<double> ratios;
  for (const CaseRow& row : file.rows)
    if (row.use != RowUse::fitted && class_of(row.size.count() / 4, row.has_experts) == kind)
      ratios.push_back(row.measured / row.predict().time);
  return ratios;
}

}  // namespace

StepClass class_of(int64_t parameters, bool has_experts) {
  if (has_experts) return StepClass::experts;
  return parameters >= large_model ? StepClass::large : StepClass::small;
}

const StepResiduals& step_residuals(bool plays, StepClass kind) {
  static constexpr const char* of_small = "DGX Cloud, Megatron-Bridge, torchtitan, vTrain";
  static constexpr const char* of_large =
      "DGX Cloud, Llama 3, Megatron-Bridge, MLPerf, SimuMax, torchtitan, vTrain";
  static constexpr const char* of_experts = "Megatron-Bridge, SimuMax";
  static constexpr std::array<StepResiduals, 6> all{
      {{false, StepClass::small, 16, of_small, 0.95, 1.17},
       {false, StepClass::large, 68, of_large, 0.95, 1.25},
       {false, StepClass::experts, 53, of_experts, 0.92, 1.77},
       {true, StepClass::small, 16, of_small, 0.95, 1.17},
       {true, StepClass::large, 68, of_large, 0.95, 1.25},
       {true, StepClass::experts, 53, of_experts, 0.92, 1.77}}};
  return all[(plays ? step_classes.size() : 0) + static_cast<std::size_t>(kind)];
}

std::string text_of(const StepResiduals& residuals) {
  static constexpr std::array names = {"models below 10 billion parameters",
                                       "models from 10 billion parameters", "mixtures of experts"};
  return std::to_string(residuals.steps) + " published steps of " +
         names[static_cast<std::size_t>(residuals.kind)] + ", tuned and untuned (" +
         residuals.sources + ")";
}

StepResiduals residuals_of(std::span<const CaseFile> cases, bool plays, StepClass kind) {
  std::map<std::string, std::vector<double>> sources;  // by suite: a source may have several cases
  for (const CaseFile& file : cases)
    for (const double ratio : ratios_of(file, kind)) sources[file.suite].push_back(ratio);
  // One run says how far off that run was, and nothing of others of its kind.
  std::erase_if(sources, [](const auto& source) { return source.second.size() < least_of_source; });
  std::vector<Weighed> steps;
  for (const auto& [suite, ratios] : sources)
    for (const double ratio : ratios)
      steps.push_back({ratio, 1.0 / static_cast<double>(sources.size() * ratios.size())});
  std::sort(steps.begin(), steps.end(),
            [](const Weighed& a, const Weighed& b) { return a.ratio < b.ratio; });
  const double low = after_one_in_twenty(steps.begin(), steps.end());
  const double high = after_one_in_twenty(steps.rbegin(), steps.rend());
  return {plays,
          kind,
          static_cast<int>(steps.size()),
          "",
          std::floor(100 * low) / 100,
          std::ceil(100 * high) / 100};
}

}  // namespace sgdsim
