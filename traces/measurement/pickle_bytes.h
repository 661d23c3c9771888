// The bytes of a pickle, from the first to the last; errors name where an instruction begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/error.h"

namespace sgdsim {

class PickleBytes {
 public:
  PickleBytes(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t size() const { return bytes_.size(); }
  void begin_instruction() { start_ = at_; }

  [[noreturn]] void fail(const std::string& sentence) const {
    throw InputError(file_ + ": byte " + std::to_string(start_), sentence);
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_)
      fail("the pickle ends too early: " + std::to_string(count) + " bytes are announced, " +
           std::to_string(bytes_.size() - at_) + " are left");
    const std::string_view part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }
  uint64_t little_endian(int count) {
    uint64_t number = 0;
    const std::string_view part = take(static_cast<uint64_t>(count));
    for (int i = count; i-- > 0;)
      number = number << 8U | static_cast<unsigned char>(part[static_cast<std::size_t>(i)]);
    return number;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("the pickle ends within a line");
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

 private:
  std::string_view bytes_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  // of the instruction
};

}  // namespace sgdsim
