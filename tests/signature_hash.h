// A hash over answers, and the line that says how many they are.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace sgdsim {

// FNV-1a over 64-bit words: any word that differs gives another hash.
class SignatureHash {
 public:
  void add(int64_t word) {
    auto rest = static_cast<uint64_t>(word);
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ (rest & 0xff)) * 0x100000001b3;
      rest >>= 8;
    }
  }
  void add(Duration time) { add(time.ps()); }
  void add(std::string_view text) {
    for (const char one : text) add(static_cast<unsigned char>(one));
  }
  void refused() { add(int64_t{-1}); }
  void answered() { ++answers_; }
  std::string line(const std::string& name) const {
    char text[64];
    std::snprintf(text, sizeof text, " %lld %016llx", static_cast<long long>(answers_),
                  static_cast<unsigned long long>(value_));
    return name + text;
  }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
  int64_t answers_ = 0;
};

}  // namespace sgdsim
