// Errors by axis; those of several axes are put together where they are compared.
#include "app/report/comparing.h"

#include <algorithm>

#include "models/strategy/registry.h"
#include "study/advise/apart.h"
#include "study/sweep/gains.h"

namespace sgdsim {
namespace {

using Role = ReportColumns::Role;

// null if no error is known.
Json errors_of(const std::vector<std::string>& fields) {
  Json errors;
  for (const std::string& field : fields) {
    const MeasuredErrors* measured = errors_of_field(field);
    if (measured == nullptr) return nullptr;
    errors[std::string(name_of(measured->kind))] = measured->p90;
  }
  return errors;
}

}  // namespace

Json comparing(const ReportColumns& columns) {
  Json json = {{"errors", Json::object()},
               {"step_times", Json::array()},
               {"bounds", Json::array()},
               {"choose_strategy", Json::array()},
               {"gains", Json::array()}};
  for (const std::string& axis : columns.keys(Role::axis)) {
    const std::vector<std::string> fields = fields_of_axis(
        axis, [&](const char* column) { return columns.varies(Role::note, column); });
    if (const Json errors = errors_of(fields); !errors.is_null()) json["errors"][axis] = errors;
    if (std::any_of(fields.begin(), fields.end(), is_strategy_field))
      json["choose_strategy"].push_back(axis);
  }
  for (const std::string& figure : columns.keys(Role::figure)) {
    if (is_step_time(figure)) json["step_times"].push_back(figure);
    if (is_gain(figure)) json["gains"].push_back(figure);
  }
  for (const StrategyKind& kind : strategies())
    if (kind.is_bound) json["bounds"].push_back(kind.name);
  return json;
}

}  // namespace sgdsim
