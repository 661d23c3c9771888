// What comes seldom: the end of the buffer, comments, long words and refusals.
#include "traces/goal_words.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_word = 200;
constexpr std::size_t buffer_B = 1 << 18;

}  // namespace

GoalWords::GoalWords(ByteReader in, std::string where)
    : in_(std::move(in)),
      where_(std::move(where)),
      buffer_(buffer_B + PackedCharacters::most),
      at_(buffer_.data()),
      end_(at_),
      held_characters_(longest_word + PackedCharacters::most) {
  next();
}

void GoalWords::fail(const std::string& sentence) const { fail_at(word_line_, sentence); }

void GoalWords::fail_at(uint32_t line, const std::string& sentence) const {
  throw InputError(where_ + ":" + std::to_string(line), sentence);
}

void GoalWords::fail_expected(const std::string& what) const {
  fail("expected " + what + ", found " + (is_at_end() ? "the end of the file" : quoted()));
}

std::string GoalWords::quoted() const { return "\"" + std::string(word_.text()) + "\""; }

// Whether there is a character so far ahead, which is then in the buffer.
bool GoalWords::has_more(std::size_t ahead) {
  return static_cast<std::size_t>(end_ - at_) > ahead || read_more(ahead);
}

bool GoalWords::read_more(std::size_t kept) {
  // A word longer than the buffer is refused before it is filled.
  if (kept > longest_word || has_ended_) return false;
  if (held_.begin != nullptr && held_.begin != held_characters_.data()) {
    std::copy_n(held_.begin, held_.size, held_characters_.begin());
    held_.begin = held_characters_.data();
  }
  char* const begin = buffer_.data();
  std::copy(at_, end_, begin);
  at_ = begin;
  const std::size_t filled = kept + in_.read(begin + kept, buffer_B - kept);
  end_ = begin + filled;
  std::fill_n(begin + filled, PackedCharacters::most, '\0');
  has_ended_ = filled == kept;  // the last word stays where it is
  return !has_ended_;
}

void GoalWords::next_of_any() {
  skip_blanks();
  word_line_ = line_;
  word_ = {};
  if (!has_more()) return;
  std::size_t size = 0;
  if (kind_at(0) == Kind::sign)
    has_more(++size);  // what comes next moves the buffer now, or not before the next word
  else
    while (has_more(size) && kind_at(size) >= Kind::mark) ++size;
  word_ = GoalWord::of({at_, std::min(size, longest_word + 1)});
  at_ += size;
  if (size > longest_word)
    fail("a word of more than " + std::to_string(longest_word) + " characters");
  if (!has_more() || kind_at(0) != Kind::none) return;
  fail("a character that is no word's: byte " + std::to_string(static_cast<unsigned char>(*at_)));
}

void GoalWords::skip_blanks() {
  while (has_more()) {
    if (kind_at(0) == Kind::blank)
      pass();
    else if (*at_ == '#')
      skip_line();
    else if (*at_ == '/')
      skip_comment();
    else
      return;
  }
}

void GoalWords::skip_line() {
  while (has_more() && *at_ != '\n') ++at_;
}

void GoalWords::skip_comment() {
  word_line_ = line_;
  word_ = {};
  ++at_;
  if (has_more() && *at_ == '/') return skip_line();
  if (!has_more() || *at_ != '*') fail("a \"/\" that begins no comment");
  ++at_;
  for (char before = 0; has_more();) {
    const char now = *at_;
    pass();
    if (before == '*' && now == '/') return;
    before = now;
  }
  fail("a comment without an end");
}

}  // namespace sgdsim
