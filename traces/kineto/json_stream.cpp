// A scanner, byte by byte; only texts are read in longer runs.
#include "traces/kineto/json_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/error.h"

namespace sgdsim::profiler {
namespace {

constexpr std::size_t longest_text = 4096;
constexpr int deepest_nesting = 64;

bool is_blank(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_control(int c) { return c >= 0 && c < 0x20; }
bool ends_word(int c) {
  return c < 0 || c == ',' || c == '}' || c == ']' || c == '/' || is_control(c) || c == ' ';
}

constexpr int64_t most_before_value_B = 1 << 20;  // blanks and comments before there is anything
constexpr int64_t most_zeros = 4096;              // within a text

// Bytes at which a text stops being plain.
const std::array<bool, 256> special = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = true;
  table['"'] = table['\\'] = true;
  return table;
}();

}  // namespace

bool JsonStream::refill() {
  if (ended_early_) return false;
  before_ += stop_ - begin_;
  const std::string_view piece = source_.next();
  begin_ = at_ = piece.data();
  stop_ = begin_ + piece.size();
  return !piece.empty();
}

// A zero outside a text is what a file system puts where a machine that crashed had not written
// yet: the file ends there.
int JsonStream::mark() {
  while (true) {
    const int c = byte();
    if (!has_begun_ && place() > most_before_value_B) fail("JSON, which begins with { or [");
    if (is_blank(c)) {
      ++at_;
    } else if (c == '/') {
      skip_comment();
    } else if (c == 0) {
      if (!has_begun_) fail("JSON, which begins with { or [");
      return end_here();
    } else if (is_control(c)) {
      ++control_characters_;
      ++at_;
    } else {
      has_begun_ = true;
      if (c == end) ended_early_ = true;
      return c;
    }
  }
}

int JsonStream::end_here() {
  ended_early_ = true;
  at_ = stop_;
  return end;
}

// From // to the end of the line, or between /* and */.
void JsonStream::skip_comment() {
  ++at_;
  const int kind = byte();
  if (kind != '/' && kind != '*') fail("a value");
  ++at_;
  int before = ' ';
  for (int c = byte(); c != end; c = byte()) {
    if (!has_begun_ && place() > most_before_value_B) return;  // mark() refuses
    if (kind == '/' && c == '\n') return;
    ++at_;
    if (kind == '*' && before == '*' && c == '/') return;
    before = c;
  }
}

// Within a text, where single zeros are control characters. Whether the file ends here.
bool JsonStream::is_end_in_text(int c) {
  zeros_ = c == 0 ? zeros_ + 1 : 0;
  if (zeros_ < most_zeros) return false;
  end_here();
  return true;
}

char JsonStream::peek() {
  const int c = mark();
  return c == end ? '\0' : static_cast<char>(c);
}

void JsonStream::fail(const std::string& expected) {
  const int c = byte();
  const std::string found = c > 0x20 && c < 0x7f ? std::string("\"") + static_cast<char>(c) + "\""
                                                 : "byte " + std::to_string(c);
  throw InputError(source_.file() + ": byte " + std::to_string(place() + 1),
                   "expected " + expected + ", found " + found);
}

void JsonStream::enter(char bracket) {
  const int c = mark();
  if (c == end) return;
  if (c != bracket) fail(std::string("\"") + bracket + "\"");
  ++at_;
  fresh_ = true;
}

bool JsonStream::next_in(char closing) {
  const bool first = std::exchange(fresh_, false);
  const int c = mark();
  if (c == end) return false;
  if (c == closing) {
    ++at_;
    return false;
  }
  if (first) return true;
  if (c != ',') fail(std::string("\",\" or \"") + closing + "\"");
  ++at_;
  return mark() != end;
}

bool JsonStream::next_member(std::string& key) {
  if (!next_in('}')) return false;
  if (mark() != '"') fail("a name in quotes");
  read_string(key);
  const int colon = mark();
  if (colon == end) return false;
  if (colon != ':') fail("\":\"");
  ++at_;
  return mark() != end;
}

bool JsonStream::next_item() { return next_in(']'); }

void JsonStream::keep(std::string& text, char c) const {
  if (text.size() < longest_text) text.push_back(c);
}

// Only the escapes that stand for one byte are read; names of kernels and operators have no others.
void JsonStream::read_escape(std::string& text) {
  ++at_;
  const int c = byte();
  if (c == end) return;
  ++at_;
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return keep(text, static_cast<char>(c));
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return keep(text, ' ');
    default:
      return keep(text, '?');  // of \u, four digits follow as text
  }
}

void JsonStream::read_string(std::string& text) {
  text.clear();
  const int quote = mark();
  if (quote == end) return;
  if (quote != '"') fail("a text in quotes");
  ++at_;
  while (true) {
    if (byte() == end) {
      ended_early_ = true;
      return;
    }
    const char* const from = at_;
    while (at_ != stop_ && !special[static_cast<unsigned char>(*at_)]) ++at_;
    const auto run = static_cast<std::size_t>(at_ - from);
    text.append(from, std::min(run, longest_text - text.size()));
    if (at_ == stop_) continue;
    if (*at_ == '"') {
      ++at_;
      return;
    }
    if (*at_ == '\\') {
      read_escape(text);
      continue;
    }
    if (is_end_in_text(*at_)) return;
    ++control_characters_;
    keep(text, ' ');
    ++at_;
  }
}

void JsonStream::skip_string() {
  ++at_;
  while (true) {
    const int c = byte();
    if (c == end) {
      ended_early_ = true;
      return;
    }
    while (at_ != stop_ && !special[static_cast<unsigned char>(*at_)]) ++at_;
    if (at_ == stop_) continue;
    const char special_one = *at_++;
    if (special_one == '"') return;
    if (is_end_in_text(special_one)) return;
    if (special_one != '\\')
      ++control_characters_;
    else if (byte() != end)
      ++at_;
  }
}

void JsonStream::skip_plain() {
  while (!ends_word(byte())) ++at_;
  if (byte() == end) ended_early_ = true;
}

void JsonStream::read_number(std::string& text) {
  text.clear();
  mark();
  while (!ends_word(byte())) keep(text, *at_++);
  if (byte() == end) ended_early_ = true;  // it may go on
}

void JsonStream::read_word(std::string& text) {
  const char c = peek();
  if (c == '"') return read_string(text);
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(text);
  text.clear();
  skip();
}

void JsonStream::read_text(std::string& text) {
  if (peek() != '[') return read_word(text);
  text.clear();
  read_list(text);
  if (text.size() >= longest_text) text += "...";
}

// Texts of a list have no brackets of their own that matter to anybody who reads shapes or types.
void JsonStream::read_list(std::string& text) {
  enter('[');
  keep(text, '[');
  std::string word;
  for (bool is_first = true; next_item(); is_first = false) {
    if (!is_first) keep(text, ',');
    const char c = peek();
    if (c == '[') {
      if (text.size() >= longest_text)
        skip();
      else
        read_list(text);
      continue;
    }
    read_word(word);
    if (c == '"') keep(text, '"');
    for (const char one : word) keep(text, one);
    if (c == '"') keep(text, '"');
  }
  keep(text, ']');
}

// Which bracket closes each level is kept as bits, so that nesting costs no memory.
void JsonStream::skip() {
  uint64_t objects = 0;
  int depth = 0;
  do {
    const int c = mark();
    if (c == end) return;
    if (c == '"') {
      skip_string();
    } else if (c == '{' || c == '[') {
      if (++depth == deepest_nesting) fail("values nested less than 64 levels deep");
      objects = objects << 1 | static_cast<uint64_t>(c == '{');
      ++at_;
    } else if (c == '}' || c == ']') {
      if (depth == 0 || (objects & 1) != static_cast<uint64_t>(c == '}')) fail("a value");
      objects >>= 1;
      --depth;
      ++at_;
    } else if (c == ',' || c == ':') {
      if (depth == 0) fail("a value");
      ++at_;
    } else {
      skip_plain();
    }
  } while (depth > 0);
}

void JsonStream::expect_end() {
  if (ended_early_) return;
  if (mark() != end) fail("the end of the file");
  ended_early_ = false;
}

}  // namespace sgdsim::profiler
