// The older variant of Chakra's execution traces, in JSON.
#pragma once

#include <string_view>

#include "traces/chakra.h"

namespace sgdsim {

void parse_chakra_json(std::string_view text, const std::string& where, const ChakraVisitor& visit);

}  // namespace sgdsim
