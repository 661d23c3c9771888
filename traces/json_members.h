// Members of JSON that other programs wrote, where they are what is expected: a reader of logs
// passes over what is not.
#pragma once

#include <optional>
#include <string>

#include "sim/core/foreign_json.h"
#include "sim/core/json.h"

namespace sgdsim {

std::optional<int64_t> whole_field(const Json& json, int64_t least, int64_t most);
std::optional<int64_t> whole_member(const Json& json, const std::string& name, int64_t least,
                                    int64_t most);
std::optional<double> number_member(const Json& json, const std::string& name);  // finite

}  // namespace sgdsim
