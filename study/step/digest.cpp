// OpenSSL is used here only.
#include "study/step/digest.h"

#include <array>
#include <openssl/sha.h>

namespace sgdsim {

std::string sha256_of(const std::string& text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string hexadecimal;
  constexpr char digits[] = "0123456789abcdef";
  for (const unsigned char byte : digest) {
    hexadecimal += digits[byte >> 4U];
    hexadecimal += digits[byte & 15U];
  }
  return hexadecimal;
}

}  // namespace sgdsim
