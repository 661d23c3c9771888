// All JSON schemas of files and answers, which follow from the descriptions of their fields
// (study/file_schemas.h, and here those of commands).
#pragma once

#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

// By name, in alphabetical order.
struct Schema {
  std::string name;
  Json json;
};
std::vector<Schema> all_schemas();

}  // namespace sgdsim
