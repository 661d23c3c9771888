// Members of the JSON of benchmarks, of which some print numbers as texts.
#pragma once

#include <optional>
#include <string_view>

#include "sim/core/json.h"

namespace sgdsim {

// Nothing if there is no such member, or it is something else.
std::optional<double> number_of(const Json& json, const char* name);
std::string_view text_of(const Json& json, const char* name);

}  // namespace sgdsim
