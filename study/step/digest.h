// SHA-256, by which inputs are known.
#pragma once

#include <string>

namespace sgdsim {

// 64 hexadecimal digits.
std::string sha256_of(const std::string& text);

}  // namespace sgdsim
