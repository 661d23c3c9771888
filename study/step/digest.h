// SHA-256, by which inputs are known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sgdsim {

// 64 hexadecimal digits, of the parts as one text.
std::string sha256_of(std::span<const std::string_view> parts);
inline std::string sha256_of(std::string_view text) {
  return sha256_of(std::span<const std::string_view>(&text, 1));
}

}  // namespace sgdsim
