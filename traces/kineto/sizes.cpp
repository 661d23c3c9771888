// Tables are read like other logs, line by line.
#include "traces/kineto/sizes.h"

#include <algorithm>
#include <optional>

#include "sim/core/error.h"
#include "traces/complete.h"
#include "traces/log_text.h"

namespace sgdsim::profiler {
namespace {

std::optional<std::size_t> column(const std::vector<std::string_view>& names,
                                  std::initializer_list<std::string_view> known) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(known.begin(), known.end(), names[i]) != known.end()) return i;
  return std::nullopt;
}

}  // namespace

ParameterSizes parameter_table(const std::string& text, const std::string& file) {
  const LogText log{text, file, {}};
  ParameterSizes sizes{file, {}};
  std::optional<std::size_t> name;
  std::optional<std::size_t> elements;
  std::size_t columns = 0;
  for (const LogLine& line : lines_of(log)) {
    if (line.text.empty()) continue;
    const auto cells = split(line.text);
    if (columns == 0) {
      columns = cells.size();
      name = column(cells, {"name", "parameter"});
      elements = column(cells, {"elements", "numel", "parameters", "params"});
      if (!name || !elements)
        throw InputError(line.where, "expected a header with the columns name and elements");
      continue;
    }
    if (cells.size() != columns)
      throw InputError(line.where, "expected " + std::to_string(columns) + " cells, got " +
                                       std::to_string(cells.size()));
    sizes.parameters.emplace_back(
        cells[*name], whole_in(cells[*elements], "elements", 1, most_parameters, line.where));
    if (sizes.parameters.size() > most_layers)
      throw InputError(line.where, "more than " + std::to_string(most_layers) + " parameters");
  }
  if (sizes.parameters.empty()) throw InputError(file, "names no parameter");
  return sizes;
}

ParameterSizes parameters_like(const Trace& trace, const std::string& file) {
  ParameterSizes sizes{file, {}};
  for (const Layer& layer : trace.layers) {
    if (layer.parameters == 0) continue;
    if (layer.tensors.size() < 2) {
      sizes.parameters.emplace_back(layer.name, layer.parameters);
      continue;
    }
    for (std::size_t i = 0; i < layer.tensors.size(); ++i)
      if (layer.tensors[i] > 0)
        sizes.parameters.emplace_back(layer.name + "." + std::to_string(i + 1), layer.tensors[i]);
  }
  if (sizes.parameters.empty()) throw InputError(file, "has no layer with parameters");
  return sizes;
}

}  // namespace sgdsim::profiler
