// Whole numbers in JSON: 10, and as in JSON Schema 10.0 and 1e1, too.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/json.h"

namespace sgdsim {

std::optional<int64_t> whole_number_in(const Json& json);

}  // namespace sgdsim
