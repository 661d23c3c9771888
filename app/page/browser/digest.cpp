// SHA-256 as FIPS 180-4 defines it, where there is no OpenSSL.
#include "study/step/digest.h"

#include <array>
#include <cstdint>

namespace sgdsim {
namespace {

using Words = std::array<uint32_t, 8>;

constexpr std::size_t block_B = 64;

// Section 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Section 5.3.3: the same of the square roots of the first 8.
constexpr Words beginning = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

uint32_t rotated(uint32_t word, unsigned by) { return word >> by | word << (32 - by); }

uint32_t mixed(uint32_t word, unsigned a, unsigned b, unsigned c) {
  return rotated(word, a) ^ rotated(word, b) ^ rotated(word, c);
}

// Section 6.2.2.
void add_block(Words& hash, const unsigned char* bytes) {
  std::array<uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t)
    for (std::size_t i = 0; i < 4; ++i) w[t] = w[t] << 8U | bytes[4 * t + i];
  for (std::size_t t = 16; t < 64; ++t) {
    const uint32_t small_0 = rotated(w[t - 15], 7) ^ rotated(w[t - 15], 18) ^ (w[t - 15] >> 3U);
    const uint32_t small_1 = rotated(w[t - 2], 17) ^ rotated(w[t - 2], 19) ^ (w[t - 2] >> 10U);
    w[t] = small_1 + w[t - 7] + small_0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  for (std::size_t t = 0; t < 64; ++t) {
    const uint32_t one = h + mixed(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + constants[t] + w[t];
    const uint32_t two = mixed(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const Words added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < hash.size(); ++i) hash[i] += added[i];
}

}  // namespace

std::string sha256_of(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  Words hash = beginning;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t done = 0;
  for (; text.size() - done >= block_B; done += block_B) add_block(hash, bytes + done);
  // Section 5.1.1: a one, zeros, and the length in bits as 64 bits.
  std::string rest = text.substr(done) + '\x80';
  while (rest.size() % block_B != block_B - 8) rest += '\0';
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) rest += static_cast<char>(bits >> unsigned(shift));
  for (std::size_t at = 0; at < rest.size(); at += block_B)
    add_block(hash, reinterpret_cast<const unsigned char*>(rest.data()) + at);
  std::string hexadecimal;
  constexpr char digits[] = "0123456789abcdef";
  for (const uint32_t word : hash)
    for (int shift = 28; shift >= 0; shift -= 4)
      hexadecimal += digits[word >> unsigned(shift) & 15U];
  return hexadecimal;
}

}  // namespace sgdsim
