// A small JSON Schema checker (draft 2020-12) for the schemas that ship.
//
// It knows the keywords that our schemas use and no others: an unknown keyword is a fault of the
// schema, not something to pass over. Patterns are ECMAScript regular expressions that match
// anywhere, as the standard wants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

// Schemas by their "$id".
using SchemaShelf = std::map<std::string, Json>;
SchemaShelf embedded_shelf();

// What is wrong with a schema: keywords that the checker does not know, references to nothing,
// objects with fields that do not say whether others are allowed, fields without a description.
std::vector<std::string> faults_of_schema(const SchemaShelf& shelf, const std::string& id);

// Where and why a value does not fit: "/nic/latency: ...".
std::vector<std::string> faults_of_value(const SchemaShelf& shelf, const std::string& id,
                                         const Json& value);

}  // namespace sgdsim
