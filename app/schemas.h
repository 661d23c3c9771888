// The JSON schemas of app/schemas/, carried inside the program, so that `sgdsim schema NAME` needs
// no file beside it. The build writes the table behind this header; names are file names without
// ".json", in alphabetical order.
#pragma once

#include <span>
#include <string_view>

namespace sgdsim {

struct EmbeddedSchema {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedSchema> embedded_schemas();

}  // namespace sgdsim
