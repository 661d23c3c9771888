// The table of colours, carried inside the program. The build writes what is behind this header.
#pragma once

#include <span>
#include <string_view>

namespace sgdsim {

struct ShippedColours {
  std::string_view name;
  std::string_view text;
};

std::span<const ShippedColours> shipped_colours();

}  // namespace sgdsim
