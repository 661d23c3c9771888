// JSON text read piece by piece, in its own order, without keeping any of it.
//
// Profilers write files of gigabytes, with control characters inside texts and, when they are
// killed, without an end. So control characters are counted and taken as blanks, and at the end of
// the bytes, or where only zeros follow, everything that is open ends: every question is then
// answered with "no more", and has_ended_early() says why. Comments are blanks. Other mistakes are
// an InputError that names the byte, and so is a beginning that cannot be JSON.
//
//   stream.enter('{');
//   while (stream.next_member(key)) key == "ts" ? stream.read_number(text) : stream.skip();
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/byte_source.h"

namespace sgdsim::profiler {

class JsonStream {
 public:
  explicit JsonStream(ByteSource& source) : source_(source) {}

  // The byte with which the next value begins, '\0' at the end of the bytes.
  char peek();
  void enter(char bracket);             // '{' or '['
  bool next_member(std::string& key);   // of the object; its value follows. false: it is closed
  bool next_item();                     // of the array; it follows. false: it is closed
  void read_string(std::string& text);  // the first 4,096 bytes of it
  void read_number(std::string& text);  // as it is written
  void skip();                          // a value of any kind
  // A string or a number as it is, a list as it is written without strings' escapes (its first
  // 4,096 bytes, and then "..."); an object is skipped, and the text is empty.
  void read_text(std::string& text);
  // A string or a number as text; anything else is skipped, and the text is empty.
  void read_word(std::string& text);

  bool has_ended_early() const { return ended_early_; }
  int64_t control_characters() const { return control_characters_; }
  void expect_end();  // only blanks are left

 private:
  static constexpr int end = -1;
  int byte() { return at_ != stop_ || refill() ? static_cast<unsigned char>(*at_) : end; }
  bool refill();
  int64_t place() const { return before_ + (at_ - begin_); }
  int mark();      // the next byte that is neither blank nor comment
  int end_here();  // whatever follows
  void skip_comment();
  bool is_end_in_text(int c);
  bool next_in(char closing);
  void skip_string();
  void skip_plain();
  void read_escape(std::string& text);
  void keep(std::string& text, char c) const;
  void read_list(std::string& text);
  [[noreturn]] void fail(const std::string& expected);

  ByteSource& source_;
  const char* at_ = nullptr;
  const char* stop_ = nullptr;
  const char* begin_ = nullptr;  // of this piece
  int64_t before_ = 0;           // bytes of earlier pieces
  int64_t control_characters_ = 0;
  int64_t zeros_ = 0;       // within a text, one behind the other
  bool has_begun_ = false;  // there was something else than blanks
  bool fresh_ = false;      // a bracket was entered, nothing read of it
  bool ended_early_ = false;
};

}  // namespace sgdsim::profiler
