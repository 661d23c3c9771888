// One pass over letters.
#include "study/layout/shell_tokens.h"

#include <algorithm>
#include <utility>

namespace sgdsim {
namespace {

class Tokens {
 public:
  Tokens(const std::string& text, int line) : text_(text), line_(line) {
    while (at_ < text_.size()) step();
    end_word();
  }
  std::vector<ShellToken> take() { return std::move(all_); }

 private:
  struct Here {  // a text that goes to a command
    std::size_t token = 0;
    std::string end = {};
    bool has_tabs = false;  // before its lines, which do not count
  };

  void step() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) return escape();
    if (c == '"' || c == '\'') return is_quote(c) ? quote(c) : add(c);
    if (c == '$' || c == '`') return dollar();
    if (c == '#' && !is_word_) return comment();
    if (c == '<' && !is_line_ && !is_sum_ && text_.compare(at_, 2, "<<") == 0 && !is_merge())
      return here();
    if (c == '&' && is_in_redirection()) return add(c);
    if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
      ++at_;
    } else if (c == '\n' || (!is_line_ && std::string(";&|()").find(c) != std::string::npos)) {
      sign(c);
    } else {
      add(c);
    }
  }
  // "2>&1", "&>log".
  bool is_in_redirection() const {
    const bool is_behind = is_word_ && (word_.text.ends_with('>') || word_.text.ends_with('<'));
    return is_behind || (at_ + 1 < text_.size() && text_[at_ + 1] == '>');
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
    // "[[ a && b ]]" is one command, of one line.
    if (text == "[[") is_test_ = true;
    if (text == "]]") is_test_ = false;
    all_.push_back(word_);
    is_word_ = false;
  }
  // A line that goes on, or a letter as it is.
  void escape() {
    ++at_;
    if (text_[at_] != '\n' && text_[at_] != '\r') {
      begin_word();
      word_.is_quoted = word_.is_quoted || std::string("*?[").find(text_[at_]) != std::string::npos;
      return add(text_[at_]);
    }
    end_word();
    at_ = text_.find('\n', at_);
    at_ = at_ == std::string::npos ? text_.size() : at_ + 1;
    ++line_;
  }
  // Not where nothing closes it.
  bool is_quote(char mark) const { return text_.find(mark, at_ + 1) != std::string::npos; }
  void quote(char mark) {
    begin_word();
    word_.is_quoted = true;
    word_.is_literal = mark == '\'';
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
      } else if (text_[at_] == '$' || (text_[at_] == '`' && mark == '"')) {
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
  // "<<: *base" of YAML that holds a script.
  bool is_merge() const { return text_.compare(at_, 3, "<<:") == 0; }
  // "<<EOF", "<<-EOF", "<< 'EOF'"; "<<<" is part of a word.
  void here() {
    if (text_.compare(at_, 3, "<<<") == 0) {
      for (int i = 0; i < 3; ++i) add('<');
      return;
    }
    end_word();
    at_ += 2;
    Here one{all_.size()};
    one.has_tabs = at_ < text_.size() && text_[at_] == '-';
    if (one.has_tabs) ++at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    ShellToken token{"<<", line_};
    token.is_here = true;
    for (;
         at_ < text_.size() && std::string(" \t\r\n;&|()<>").find(text_[at_]) == std::string::npos;
         ++at_) {
      const bool is_mark = std::string("\"'\\").find(text_[at_]) != std::string::npos;
      token.is_literal = token.is_literal || is_mark;
      if (!is_mark) one.end += text_[at_];
    }
    all_.push_back(token);
    open_.push_back(one);
  }
  // Up to the line that ends it, or, as in the shell, to the end of the file.
  void read_body(const Here& one) {
    ShellToken& token = all_[one.token];
    token.body_line = line_;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (line.ends_with('\r')) line.pop_back();
      if (one.has_tabs) line.erase(0, line.find_first_not_of('\t'));
      if (line == one.end) return;
      token.body += line + '\n';
    }
  }
  void comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void sign(char c) {
    end_word();
    if (c == '\n') is_test_ = false;
    std::string text(1, c);
    const bool is_double = at_ + 1 < text_.size() && text_[at_ + 1] == c &&
                           std::string("&|;(").find(c) != std::string::npos;
    if (is_double) text += c;
    if (c == '\n' || text_.compare(at_, 2, "))") == 0) is_sum_ = false;
    if (text == "((") is_sum_ = true;
    all_.push_back({text, line_, !is_test_});
    at_ += text.size();
    if (c != '\n') return;
    ++line_;
    for (const Here& one : std::exchange(open_, {})) read_body(one);
  }

  const std::string& text_;
  const bool is_line_ = text_.starts_with("--");  // flags alone, as a program gets them
  std::size_t at_ = 0;
  int line_;
  bool is_word_ = false;
  bool is_test_ = false;
  bool is_sum_ = false;     // in "(( ))", where "<<" is a sign
  std::vector<Here> open_;  // whose texts begin with the next line
  ShellToken word_;
  std::vector<ShellToken> all_;
};

// Of "`cat FILE`" in one line; "```" of a text around a script is none.
std::size_t behind_mark(const std::string& text, std::size_t at, std::size_t longest) {
  const std::size_t end = text.find_first_of("`\n", at + 1);
  const bool is_closed = end != std::string::npos && text[end] == '`' && end - at < longest;
  return is_closed && end > at + 1 ? end + 1 : at;
}

}  // namespace

std::size_t behind_dollar(const std::string& text, std::size_t at) {
  constexpr std::size_t longest = 500;
  if (text[at] == '`') return behind_mark(text, at, longest);
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

std::vector<ShellToken> shell_tokens(const std::string& text, int line) {
  return Tokens(text, line).take();
}

}  // namespace sgdsim
