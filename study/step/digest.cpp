// OpenSSL is used here only.
#include "study/step/digest.h"

#include <array>
#include <memory>
#include <new>
#include <openssl/evp.h>

namespace sgdsim {
namespace {

// Looked up once: OpenSSL takes longer to find it by its name than to digest a small experiment.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return found == nullptr ? EVP_sha256() : found;
}

}  // namespace

std::string sha256_of(std::span<const std::string_view> parts) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  bool is_done = context && EVP_DigestInit_ex(context.get(), algorithm(), nullptr) == 1;
  for (const std::string_view part : parts)
    is_done = is_done && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  if (!is_done || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1)
    throw std::bad_alloc();  // nothing else can fail
  std::string hexadecimal;
  constexpr char digits[] = "0123456789abcdef";
  for (unsigned int i = 0; i < size; ++i) {
    hexadecimal += digits[digest[i] >> 4U];
    hexadecimal += digits[digest[i] & 15U];
  }
  return hexadecimal;
}

}  // namespace sgdsim
