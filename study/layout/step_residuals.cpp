// Four classes: by fidelity, and by the size of the model.
#include "study/layout/step_residuals.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sgdsim {
namespace {

constexpr double one_in_twenty = 0.05;

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

std::vector<double> ratios_of(const CaseFile& file, bool is_large) {
  std::vector<double> ratios;
  for (const CaseRow& row : file.rows)
    if (row.use != RowUse::fitted && (row.size.count() / 4 >= large_model) == is_large)
      ratios.push_back(row.measured / row.predict().time);
  return ratios;
}

}  // namespace

const StepResiduals& step_residuals(bool plays, int64_t parameters) {
  static constexpr const char* of_small = "DGX Cloud, torchtitan, vTrain";
  static constexpr const char* of_large = "DGX Cloud, Llama 3, MLPerf, torchtitan, vTrain";
  static constexpr std::array<StepResiduals, 4> all{{{false, false, 10, of_small, 0.96, 1.18},
                                                     {false, true, 27, of_large, 0.89, 1.26},
                                                     {true, false, 10, of_small, 0.96, 1.18},
                                                     {true, true, 27, of_large, 0.88, 1.26}}};
  return all[(plays ? 2U : 0U) + (parameters >= large_model ? 1U : 0U)];
}

std::string text_of(const StepResiduals& residuals) {
  return std::to_string(residuals.steps) + " published steps of models " +
         (residuals.is_large ? "from" : "below") + " 10 billion parameters, tuned and untuned (" +
         residuals.sources + ")";
}

StepResiduals residuals_of(std::span<const CaseFile> cases, bool plays, bool is_large) {
  std::vector<std::vector<double>> sources;
  for (const CaseFile& file : cases)
    if (std::vector<double> ratios = ratios_of(file, is_large); !ratios.empty())
      sources.push_back(std::move(ratios));
  std::vector<Weighed> steps;
  for (const std::vector<double>& source : sources)
    for (const double ratio : source)
      steps.push_back({ratio, 1.0 / static_cast<double>(sources.size() * source.size())});
  std::sort(steps.begin(), steps.end(),
            [](const Weighed& a, const Weighed& b) { return a.ratio < b.ratio; });
  const double low = after_one_in_twenty(steps.begin(), steps.end());
  const double high = after_one_in_twenty(steps.rbegin(), steps.rend());
  return {plays,
          is_large,
          static_cast<int>(steps.size()),
          "",
          std::floor(100 * low) / 100,
          std::ceil(100 * high) / 100};
}

}  // namespace sgdsim
