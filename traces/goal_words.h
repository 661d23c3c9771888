// The words of a GOAL schedule, one after the other, and numbers that they hold.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_reader.h"

namespace sgdsim {

// Up to eight characters in one number, the first of them lowest.
class PackedCharacters {
 public:
  static constexpr std::size_t most = 8;

  constexpr PackedCharacters() = default;
  constexpr explicit PackedCharacters(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && i < most; ++i)
      bits_ |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  // Of a longer text nothing.
  static constexpr PackedCharacters of_all(std::string_view text) {
    return text.size() > most ? PackedCharacters() : PackedCharacters(text);
  }
  // Eight of them, wherever they lie.
  static PackedCharacters at(const char* place) {
    PackedCharacters all;
    if constexpr (std::endian::native == std::endian::little)
      std::memcpy(&all.bits_, place, most);
    else
      all = PackedCharacters(std::string_view(place, most));
    return all;
  }
  bool operator==(const PackedCharacters&) const = default;

  // How many come before the first one that is no letter of a word, or is '|' or '~'.
  std::size_t plain() const {
    const uint64_t low = bits_ & ~tops;
    const uint64_t colons = (low | every(1)) ^ every(':' | 1);  // zero: a colon or a semicolon
    const uint64_t ends =
        (~(low + every(0x80 - '!')) | (low + every(0x80 - '{')) | ~(colons + ~tops) | bits_) & tops;
    return static_cast<std::size_t>(std::countr_zero(ends)) / 8;
  }
  PackedCharacters first(std::size_t count) const {  // up to eight
    return PackedCharacters(count == most ? bits_ : bits_ & ((uint64_t{1} << (8 * count)) - 1));
  }
  PackedCharacters without_first(std::size_t count) const {  // up to seven
    return PackedCharacters(bits_ >> (8 * count));
  }
  bool begins_with(char character) const {
    return (bits_ & 0xff) == static_cast<unsigned char>(character);
  }

  // The number that the first ones are, one to eight of them; -1: not all are digits.
  int64_t number(std::size_t count) const {
    const std::size_t left = 8 * (most - count);
    uint64_t digits = (bits_ << left) ^ (every('0') << left);
    if (((digits | (digits + every(0x80 - 10))) & tops) != 0) return -1;
    // Neighbours together: two digits, four, and eight.
    digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
    digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
    return static_cast<int64_t>((digits * 10'000 + (digits >> 32)) & 0xffffffff);
  }

 private:
  constexpr explicit PackedCharacters(uint64_t bits) : bits_(bits) {}
  static constexpr uint64_t every(uint64_t byte) { return 0x0101010101010101 * byte; }
  static constexpr uint64_t tops = 0x8080808080808080;

  uint64_t bits_ = 0;
};

struct GoalWord {
  const char* begin = nullptr;
  std::size_t size = 0;
  PackedCharacters packed;  // of up to eight characters; of a longer word nothing

  static GoalWord of(std::string_view text) {
    return {text.data(), text.size(), PackedCharacters::of_all(text)};
  }
  std::string_view text() const { return {begin, size}; }
};

// A word that the reader knows.
struct GoalKeyword {
  std::string_view text;
  PackedCharacters packed;

  consteval GoalKeyword(const char* word) : text(word), packed(PackedCharacters::of_all(text)) {}
};

// Words lie in the buffer that the file is read into, until the next one is asked for.
class GoalWords {
 public:
  GoalWords(ByteReader in, std::string where);

  const GoalWord& word() const { return word_; }
  bool is_at_end() const { return word_.size == 0; }
  uint32_t line() const { return word_line_; }
  uint64_t offset() const { return in_.offset() - static_cast<uint64_t>(end_ - at_); }

  bool is(GoalKeyword keyword) const {
    return word_.packed == keyword.packed &&
           (keyword.text.size() <= PackedCharacters::most || word_.text() == keyword.text);
  }
  bool accept(GoalKeyword keyword) {
    if (!is(keyword)) return false;
    next();
    return true;
  }
  void expect(GoalKeyword keyword) {
    if (!accept(keyword)) fail_expected("\"" + std::string(keyword.text) + "\"");
  }
  // Keeps this word until another one is held.
  void hold() { held_ = word_; }
  const GoalWord& held() const { return held_; }

  // Here are short words in the middle of the buffer, which nearly all are.
  void next() {
    const char* at = at_;
    for (; kind_of(*at) == Kind::blank; ++at)
      if (*at == '\n') ++line_;
    at_ = at;
    const Kind first = kind_of(*at);
    if (first == Kind::letter || first == Kind::sign) {
      const PackedCharacters characters = PackedCharacters::at(at);
      const std::size_t size = first == Kind::sign ? 1 : characters.plain();
      const Kind behind = kind_of(at[size]);
      if (behind == Kind::blank || behind == Kind::sign) {
        word_ = {at, size, characters.first(size)};
        word_line_ = line_;
        at_ = at + size;
        return;
      }
    }
    next_of_any();
  }

  [[noreturn]] void fail(const std::string& sentence) const;
  [[noreturn]] void fail_at(uint32_t line, const std::string& sentence) const;
  [[noreturn]] void fail_expected(const std::string& what) const;
  std::string quoted() const;

 private:
  // A mark begins a comment, and is a letter within a word.
  enum class Kind : uint8_t { none, blank, sign, mark, letter };
  static constexpr std::array<Kind, 256> kinds = [] {
    std::array<Kind, 256> all{};
    for (std::size_t c = '!'; c <= '~'; ++c) all[c] = Kind::letter;
    for (const char c : {' ', '\t', '\r', '\n', ';'})
      all[static_cast<unsigned char>(c)] = Kind::blank;
    for (const char c : {'{', '}', ':'}) all[static_cast<unsigned char>(c)] = Kind::sign;
    for (const char c : {'#', '/'}) all[static_cast<unsigned char>(c)] = Kind::mark;
    return all;
  }();
  static Kind kind_of(char character) { return kinds[static_cast<unsigned char>(character)]; }
  Kind kind_at(std::size_t ahead) const { return kind_of(at_[ahead]); }
  void pass() {
    if (*at_++ == '\n') ++line_;
  }
  bool has_more(std::size_t ahead = 0);
  bool read_more(std::size_t kept);
  void next_of_any();
  void skip_blanks();
  void skip_line();
  void skip_comment();

  ByteReader in_;
  std::string where_;
  std::vector<char> buffer_;
  const char* at_;
  const char* end_;  // of what was read; zeros, which are of no kind, stand there
  bool has_ended_ = false;
  uint32_t line_ = 1;
  uint32_t word_line_ = 1;
  GoalWord word_;
  GoalWord held_;
  std::vector<char> held_characters_;  // once the buffer has moved
};

}  // namespace sgdsim
