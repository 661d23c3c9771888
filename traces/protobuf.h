// The wire format of protocol buffers: fields with a number and a kind, read and written directly.
//
// A generated reader would need a compiler and a library for two dozen fields, would take what is
// declared before it is there, and could not say at which byte a file breaks (decision 18).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/byte_reader.h"

namespace sgdsim {

enum class WireKind : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireKind kind = WireKind::varint;
  uint64_t value = 0;      // of numbers, as they stand in the file
  std::string_view bytes;  // of WireKind::bytes
  uint64_t at = 0;         // where the field stands in the file
};

// The fields of one message, one after the other.
class WireReader {
 public:
  // `at` is the place of the first byte in the file.
  WireReader(std::string_view message, uint64_t at, const std::string& file)
      : left_(message), at_(at), file_(&file) {}

  bool next(WireField& field);  // false: there are no more
  // A list of varints without fields around them.
  bool next_number(uint64_t& number);
  // The message that a field holds.
  WireReader inside(const WireField& field) const;
  [[noreturn]] void fail(uint64_t at, const std::string& sentence) const;

 private:
  uint64_t varint();
  uint64_t fixed(unsigned count);

  std::string_view left_;
  uint64_t at_;  // of what is left
  const std::string* file_;
};

// The next message of a file in which a length stands before each; false: the file has ended. What
// is declared is taken only as far as it is there.
bool next_message(ByteReader& file, std::string& message, uint64_t& at);

inline int64_t from_zigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1U) ^ -static_cast<int64_t>(value & 1U);
}

void append_varint(std::string& to, uint64_t value);
void append_number(std::string& to, uint32_t field, uint64_t value);  // as a varint
void append_bytes(std::string& to, uint32_t field, std::string_view bytes);

}  // namespace sgdsim
