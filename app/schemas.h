// All JSON schemas of files and answers, so that `sgdsim schema NAME` needs no file beside it.
//
// Those whose fields are described follow from the descriptions (study/file_schemas.h);
// those of app/schemas/ are carried inside the program: the build writes the table of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

struct EmbeddedSchema {
  std::string_view name;
  std::string_view text;
};
std::span<const EmbeddedSchema> embedded_schemas();

// By name, in alphabetical order.
struct Schema {
  std::string name;
  Json json;
};
std::vector<Schema> all_schemas();

}  // namespace sgdsim
