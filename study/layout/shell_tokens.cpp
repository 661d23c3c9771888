// One pass over letters.
#include "study/layout/shell_tokens.h"

#include <algorithm>

namespace sgdsim {
namespace {

class Tokens {
 public:
  explicit Tokens(const std::string& text) : text_(text) {
    while (at_ < text_.size()) step();
    end_word();
  }
  std::vector<ShellToken> take() { return std::move(all_); }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) return escape();
    if (c == '"' || c == '\'') return is_quote(c) ? quote(c) : add(c);
    if (c == '$') return dollar();
    if (c == '#' && !is_word_) return comment();
    if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
      ++at_;
    } else if (c == '\n' || (!is_line_ && std::string(";&|()").find(c) != std::string::npos)) {
      sign(c);
    } else {
      add(c);
    }
  }
  void add(char c) {
    begin_word();
    word_.text += c;
    ++at_;
    if (c == '\n') ++line_;
  }
  void begin_word() {
    if (!is_word_) word_ = {"", line_};
    is_word_ = true;
  }
  void end_word() {
    if (!is_word_) return;
    const std::string& text = word_.text;
    // "<<EOF", "<<-EOF", "<< EOF"; not "<<<".
    const std::size_t begin = text.starts_with("<<") ? (text.starts_with("<<-") ? 3 : 2) : 0;
    if (is_text_next_)
      text_end_ = text;
    else if (begin > 0 && !text.starts_with("<<<"))
      text_end_ = text.substr(begin);
    else if (text == text_end_)
      text_end_.clear();
    is_text_next_ = begin > 0 && begin == text.size();
    // "[[ a && b ]]" is one command, of one line.
    if (text == "[[") is_test_ = true;
    if (text == "]]") is_test_ = false;
    all_.push_back(word_);
    is_word_ = false;
  }
  // A line that goes on, or a letter as it is.
  void escape() {
    ++at_;
    if (text_[at_] != '\n' && text_[at_] != '\r') return add(text_[at_]);
    end_word();
    at_ = text_.find('\n', at_);
    at_ = at_ == std::string::npos ? text_.size() : at_ + 1;
    ++line_;
  }
  // Not in a text that goes to a command, "<<EOF", or where nothing closes it.
  bool is_quote(char mark) const {
    return text_end_.empty() && text_.find(mark, at_ + 1) != std::string::npos;
  }
  void quote(char mark) {
    begin_word();
    word_.is_quoted = true;
    for (++at_; at_ < text_.size() && text_[at_] != mark;) {
      if (text_[at_] == '\\' && mark == '"' && at_ + 1 < text_.size()) {
        ++at_;
        if (text_[at_] != '\n') {
          add(text_[at_]);
          continue;
        }
        ++line_;
        word_.text += ' ';
        ++at_;
      } else if (text_[at_] == '$') {
        dollar();
      } else {
        add(text_[at_]);
      }
    }
    ++at_;
  }
  void dollar() {
    const std::size_t end = behind_dollar(text_, at_);
    do add(text_[at_]);
    while (at_ < end);
  }
  void comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void sign(char c) {
    end_word();
    if (c == '\n') is_test_ = false;
    std::string text(1, c);
    const bool is_double = at_ + 1 < text_.size() && text_[at_ + 1] == c &&
                           std::string("&|;(").find(c) != std::string::npos;
    if (is_double) text += c;
    all_.push_back({text, line_, !is_test_});
    at_ += text.size();
    if (c == '\n') ++line_;
  }

  const std::string& text_;
  const bool is_line_ = text_.starts_with("--");  // flags alone, as a program gets them
  std::size_t at_ = 0;
  int line_ = 1;
  bool is_word_ = false;
  bool is_test_ = false;
  std::string text_end_;       // what ends a text that goes to a command
  bool is_text_next_ = false;  // the next word says what ends it
  ShellToken word_;
  std::vector<ShellToken> all_;
};

}  // namespace

std::size_t behind_dollar(const std::string& text, std::size_t at) {
  constexpr std::size_t longest = 500;
  if (at + 1 >= text.size() || (text[at + 1] != '{' && text[at + 1] != '(')) return at;
  const char open = text[at + 1];
  const char close = open == '{' ? '}' : ')';
  const std::size_t stop = std::min(text.size(), at + longest);
  int depth = 0;
  for (std::size_t i = at + 1; i < stop; ++i) {
    depth += text[i] == open ? 1 : text[i] == close ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return at;
}

std::vector<ShellToken> shell_tokens(const std::string& text) { return Tokens(text).take(); }

}  // namespace sgdsim
