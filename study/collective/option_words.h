// Options of algorithms as they are written: key=value.
#pragma once

#include <string>
#include <vector>

#include "models/collective/options.h"

namespace sgdsim {

// "key=value" in its two halves.
std::string option_key(const std::string& option);
std::string option_value(const std::string& option);
std::vector<std::string> names_of(const std::vector<OptionKey>& keys);

}  // namespace sgdsim
