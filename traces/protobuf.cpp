// https://protobuf.dev/programming-guides/encoding
#include "traces/protobuf.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr uint64_t longest_message = 64 << 20;
constexpr std::size_t most_at_once = 1 << 16;
constexpr unsigned varint_bytes = 10;  // of 64 bits

[[noreturn]] void fail_at(const std::string& file, uint64_t at, const std::string& sentence) {
  throw InputError(file, "byte " + std::to_string(at) + ": " + sentence);
}

// Adds the next seven bits; false if they do not fit.
bool add_bits(uint64_t& value, unsigned index, uint8_t byte) {
  if (index == varint_bytes - 1 && byte > 1) return false;
  value |= uint64_t{byte & 0x7FU} << 7 * index;
  return true;
}

constexpr char too_long[] = "a number of more than 64 bits";

}  // namespace

void WireReader::fail(uint64_t at, const std::string& sentence) const {
  fail_at(*file_, at, sentence);
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (unsigned i = 0; i < left_.size(); ++i) {
    const auto byte = static_cast<uint8_t>(left_[i]);
    if (i == varint_bytes || !add_bits(value, i, byte)) fail(at_, too_long);
    if (byte >= 0x80U) continue;
    left_.remove_prefix(i + 1);
    at_ += i + 1;
    return value;
  }
  fail(at_, "the message ends within a number");
}

uint64_t WireReader::fixed(unsigned count) {
  if (left_.size() < count) fail(at_, "the message ends within a number");
  uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) value |= uint64_t{static_cast<uint8_t>(left_[i])} << 8 * i;
  left_.remove_prefix(count);
  at_ += count;
  return value;
}

bool WireReader::next(WireField& field) {
  if (left_.empty()) return false;
  field.at = at_;
  const uint64_t tag = varint();
  const uint64_t number = tag >> 3U;
  constexpr uint64_t most_number = (1 << 29) - 1;
  if (number < 1 || number > most_number)
    fail(field.at, std::to_string(number) + " is no number of a field");
  field.number = static_cast<uint32_t>(number);
  field.bytes = {};
  field.value = 0;
  switch (tag & 7U) {
    case 0:
      field.kind = WireKind::varint;
      field.value = varint();
      return true;
    case 1:
      field.kind = WireKind::fixed64;
      field.value = fixed(8);
      return true;
    case 2: {
      field.kind = WireKind::bytes;
      const uint64_t length = varint();
      if (length > left_.size())
        fail(field.at, "a field of " + std::to_string(length) + " bytes, of which " +
                           std::to_string(left_.size()) + " are there");
      field.bytes = left_.substr(0, length);
      left_.remove_prefix(length);
      at_ += length;
      return true;
    }
    case 5:
      field.kind = WireKind::fixed32;
      field.value = fixed(4);
      return true;
    default:
      fail(field.at, "a field of wire type " + std::to_string(tag & 7U) + ", which is not read");
  }
}

bool WireReader::next_number(uint64_t& number) {
  if (left_.empty()) return false;
  number = varint();
  return true;
}

WireReader WireReader::inside(const WireField& field) const {
  return {field.bytes, at_ - field.bytes.size(), *file_};
}

bool next_message(ByteReader& file, std::string& message, uint64_t& at) {
  at = file.offset();
  uint64_t length = 0;
  for (unsigned i = 0;; ++i) {
    char byte = 0;
    if (file.read(&byte, 1) == 0) {
      if (i == 0) return false;
      fail_at(file.where(), at, "the file ends within the length of a message");
    }
    const auto bits = static_cast<uint8_t>(byte);
    if (i == varint_bytes || !add_bits(length, i, bits)) fail_at(file.where(), at, too_long);
    if (bits < 0x80U) break;
  }
  if (length > longest_message)
    fail_at(file.where(), at,
            "a message of " + std::to_string(length) + " bytes; the longest that is read has " +
                std::to_string(longest_message));
  message.clear();
  while (message.size() < length) {
    const std::size_t before = message.size();
    const std::size_t wanted = std::min<std::size_t>(most_at_once, length - before);
    message.resize(before + wanted);
    const std::size_t got = file.read(message.data() + before, wanted);
    if (got < wanted)
      fail_at(file.where(), at,
              "a message of " + std::to_string(length) + " bytes, of which " +
                  std::to_string(before + got) + " are there");
  }
  return true;
}

void append_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) to += static_cast<char>(value | 0x80U);
  to += static_cast<char>(value);
}

void append_number(std::string& to, uint32_t field, uint64_t value) {
  append_varint(to, uint64_t{field} << 3U);
  append_varint(to, value);
}

void append_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  append_varint(to, uint64_t{field} << 3U | 2U);
  append_varint(to, bytes.size());
  to += bytes;
}

}  // namespace sgdsim
