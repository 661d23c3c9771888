// Which field of an experiment a name belongs to: "gtopk" is a compression, "pipe_sgd" a
// synchronization.
#pragma once

#include <string>

#include "sim/core/json.h"

namespace sgdsim {

// "strategy", "compression", "synchronization" or "collective"; "" for a word that is none.
std::string field_of_name(const std::string& name);

// The name that this value of a field has, whether it stands alone or in an object; "" if none.
std::string name_in_part(const std::string& field, const Json& value);

// Refuses a name that belongs to another field, and says which: "gtopk is a compression".
void check_names(const Value& experiment);
// The same of one field.
void check_name(const Value& value, const std::string& field);

}  // namespace sgdsim
