// Both kinds in one list.
#include "app/schemas.h"

#include <algorithm>

#include "study/file_schemas.h"

namespace sgdsim {

std::vector<Schema> all_schemas() {
  std::vector<Schema> schemas;
  for (const EmbeddedSchema& schema : embedded_schemas())
    schemas.push_back({std::string(schema.name), Json::parse(schema.text)});
  for (const FileSchema& schema : file_schemas())
    schemas.push_back({std::string(schema.name), to_json(schema)});
  std::sort(schemas.begin(), schemas.end(),
            [](const Schema& a, const Schema& b) { return a.name < b.name; });
  return schemas;
}

}  // namespace sgdsim
