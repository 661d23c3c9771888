// From nested values to paths, and back.
#include "study/figures.h"

#include <limits>

#include "sim/core/cases.h"

namespace sgdsim {

std::string path_of(const std::string& before, const std::string& name) {
  return before.empty() ? name : before + "." + name;
}

FigureValue figure_value(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  const bool fits = !json.is_number_unsigned() ||
                    json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (json.is_number_integer() && fits) return json.get<int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_binary()) return figure_value(unpacked(json));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_figures(Figures& figures, const std::string& path, const Json& json) {
  if (!json.is_object() || json.empty()) {
    figures.push_back({path, figure_value(json)});
    return;
  }
  for (const auto& [name, value] : json.items()) add_figures(figures, path_of(path, name), value);
}

Json json_of(const FigureValue& value) {
  return std::visit(
      Cases{[](std::monostate) { return Json(); }, [](const auto& one) { return Json(one); }},
      value);
}

Json json_of(const Figures& figures) {
  Json json = Json::object();
  for (const NamedFigure& figure : figures) {
    Json* at = &json;
    std::string_view path = figure.path.text();
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
      at = &(*at)[std::string(path.substr(0, dot))];
      path.remove_prefix(dot + 1);
    }
    (*at)[std::string(path)] = json_of(figure.value);
  }
  return json;
}

}  // namespace sgdsim
