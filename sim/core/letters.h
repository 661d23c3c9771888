// ASCII letters, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace sgdsim {

inline std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

}  // namespace sgdsim
