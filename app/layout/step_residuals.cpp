// Four classes: by fidelity, and by the size of the model.
#include "app/layout/step_residuals.h"

#include <algorithm>
#include <array>

namespace sgdsim {

const StepResiduals& step_residuals(bool plays, int64_t parameters) {
  static constexpr std::array<StepResiduals, 4> all{{{false, false, 10, 1.0071, 1.1736},
                                                     {false, true, 24, 0.9620, 1.0876},
                                                     {true, false, 10, 1.0071, 1.1748},
                                                     {true, true, 24, 0.9632, 1.0906}}};
  return all[(plays ? 2U : 0U) + (parameters >= large_model ? 1U : 0U)];
}

std::string text_of(const StepResiduals& residuals) {
  return std::to_string(residuals.steps) + " published steps of models " +
         (residuals.is_large ? "from" : "below") + " 10 billion parameters";
}

StepResiduals residuals_of(std::span<const CaseFile> cases, bool plays, bool is_large) {
  std::vector<double> ratios;
  for (const CaseFile& file : cases)
    for (const CaseRow& row : file.rows) {
      if (row.use == RowUse::fitted || (row.size.count() / 4 >= large_model) != is_large) continue;
      ratios.push_back(row.measured / row.predict().time);
    }
  StepResiduals residuals{plays, is_large, static_cast<int>(ratios.size()), 1, 1};
  if (ratios.empty()) return residuals;
  std::sort(ratios.begin(), ratios.end());
  residuals.p10 = ratios[ratios.size() / 10];
  residuals.p90 = ratios[std::min(ratios.size() - 1, ratios.size() * 9 / 10)];
  return residuals;
}

}  // namespace sgdsim
