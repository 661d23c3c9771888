// The schemas of files whose fields are described (sim/core/fields.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/core/json.h"

namespace sgdsim {

struct FileSchema {
  std::string_view name;  // "cluster" of "sgdsim/cluster/1"
  std::string_view title;
  std::string_view description;
  Json (*fields)();  // of the object
};
std::span<const FileSchema> file_schemas();
// The whole schema, with its title.
Json to_json(const FileSchema& schema);

}  // namespace sgdsim
