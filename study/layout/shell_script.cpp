// By descent over words. Parts that are known not to happen are passed over.
#include "study/layout/shell_script.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include "sim/core/error.h"
#include "study/layout/setting_text.h"
#include "study/layout/shell_arithmetic.h"
#include "study/layout/shell_tests.h"
#include "study/layout/shell_tokens.h"

namespace sgdsim {
namespace {

constexpr std::size_t longest_text = 100'000;  // of a variable

// Variables and what they stand for.
class ShellVariables {
 public:
  std::map<std::string, ShellWord> all;
  bool has_unsure = false;  // whether one was asked for that may have another value

  // Every "$NAME", "${NAME:-8}" and "$((A * 2))" of it that is known.
  std::string expanded(const std::string& text, int depth = 0) {
    std::string whole;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text[at] == '$' && depth < deepest ? end_of(text, at) : at;
      if (end == at) {
        whole += text[at++];
        continue;
      }
      whole += value_of(text.substr(at, end - at), depth + 1);
      at = end;
      if (whole.size() > longest_text) return text;
    }
    return whole;
  }

 private:
  static constexpr int deepest = 10;

  static std::size_t end_of(const std::string& text, std::size_t at) {
    if (const std::size_t end = behind_dollar(text, at); end > at) return end;
    if (text.compare(at, 2, "$#") == 0) return at + 2;
    return end_of_name(text, at + 1);
  }
  static std::size_t end_of_name(const std::string& text, std::size_t at) {
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_'))
      ++at;
    return at;
  }
  // Of one that begins with "$"; itself where it is not known.
  std::string value_of(const std::string& word, int depth) {
    constexpr std::size_t most_letters = 200;
    if (word == "$#") return "0";  // no arguments are given
    if (word.starts_with("$((") && word.ends_with("))") && word.size() < most_letters) {
      const auto number =
          shell_arithmetic(word.substr(3, word.size() - 5),
                           [&](const std::string& name) { return expanded(name, depth); });
      return number ? std::to_string(*number) : word;
    }
    if (word.starts_with("$(")) return word;
    const bool has_braces = word.starts_with("${");
    const std::string inside = has_braces ? word.substr(2, word.size() - 3) : word.substr(1);
    const std::size_t end = end_of_name(inside, 0);
    const std::string name = inside.substr(0, end);
    std::string rest = inside.substr(end);
    if (rest == "[@]" || rest == "[*]") rest = "";
    const auto found = all.find(name);
    const bool is_set =
        found != all.end() && !(rest.starts_with(":") && found->second.text.empty());
    if (rest.starts_with(":")) rest.erase(0, 1);
    if (found != all.end()) has_unsure = has_unsure || found->second.may_differ;
    if (rest.starts_with("+")) return is_set ? expanded(unquoted(rest.substr(1)), depth) : "";
    if (!rest.empty() && !rest.starts_with("-") && !rest.starts_with("=")) return word;
    if (is_set) return found->second.text;
    if (rest.empty()) return word;
    std::string usual = expanded(unquoted(rest.substr(1)), depth);
    if (rest.starts_with("=")) all[name] = {usual, 0, false};
    return usual;
  }
};

class Script {
 public:
  Script(const std::string& text, const std::string& file)
      : file_(file), tokens_(shell_tokens(text)) {
    while (at_ < tokens_.size()) list({});
  }
  ShellScript take() {
    const auto is_flag = [](const ShellWord& word) { return word.text.starts_with("--"); };
    if (std::none_of(words_.begin(), words_.end(), is_flag)) words_ = std::move(assigned_);
    return {std::move(words_), std::move(variables_.all)};
  }

 private:
  enum class Mode : uint8_t { run, may_run, skip };
  using Ends = std::initializer_list<const char*>;
  static constexpr int deepest = 100;
  static constexpr std::size_t most_steps = 3'000'000;  // words, whenever they are copied

  static bool is_one(const std::string& text, Ends words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
  }
  bool is_end() const { return at_ >= tokens_.size(); }
  bool is_at(Ends words) const {
    return !is_end() && !tokens_[at_].is_sign && !tokens_[at_].is_quoted &&
           is_one(tokens_[at_].text, words);
  }
  bool is_sign(const char* sign) const { return !is_end() && tokens_[at_].is(sign); }
  template <class F>
  void where(Known holds, const F& f) {
    const Mode before = mode_;
    if (mode_ != Mode::skip && holds != true) mode_ = holds == false ? Mode::skip : Mode::may_run;
    f();
    mode_ = before;
  }

  // Up to one of these words, or to a sign that ends it. What its last command answers.
  Known list(Ends ends, const char* sign = ";;") {
    Known answer = true;
    while (!is_end() && !is_at(ends)) {
      if (is_sign(sign)) break;
      if (tokens_[at_].is_sign && !is_sign("("))
        ++at_;
      else
        answer = chain();
    }
    if (!is_end() && ends.size() == 0 && std::string(sign) == ";;") ++at_;
    return answer;
  }
  // "a && b || c". Programs are taken to do what they should.
  Known chain() {
    Known answer = command();
    while (is_sign("&&") || is_sign("||") || is_sign("|")) {
      const std::string sign = tokens_[at_++].text;
      while (is_sign("\n")) ++at_;
      const Known done = is_program_ || sign == "|" ? Known(true) : answer;
      const Known needed = sign == "||" ? opposite_of(done) : done;
      Known next;
      where(needed, [&] { next = command(); });
      if (needed != true) is_program_ = false;  // it may not have run
      answer = !needed ? std::nullopt : *needed ? next : done;
    }
    return answer;
  }
  Known command() {
    is_program_ = false;
    if (depth_ == deepest) {
      if (!is_end() && tokens_[at_].is_sign) ++at_;
      return simple();
    }
    ++depth_;
    const Known answer = compound();
    --depth_;
    return answer;
  }
  Known compound() {
    if (is_sign("(")) return body({}, ")");
    if (is_at({"{"})) return body({"}"}, ";;");
    if (is_at({"if"})) return branches();
    if (is_at({"while", "until", "for", "select"})) return loop();
    if (is_at({"case"})) return cases();
    if (!is_at({"!"})) return simple();
    ++at_;
    return opposite_of(command());
  }
  Known body(Ends ends, const char* sign) {
    ++at_;
    const Known answer = list(ends, sign);
    ++at_;
    return answer;
  }
  Known branches() {
    FirstThatHolds taken;
    while (is_at({"if", "elif", "else"})) {
      const bool is_else = is_at({"else"});
      ++at_;
      Known holds = true;
      if (!is_else) {
        where(taken.is_none(), [&] { holds = list({"then"}); });
        ++at_;
      }
      where(taken.take(holds), [&] { list({"elif", "else", "fi"}); });
    }
    ++at_;
    return true;
  }
  Known loop() {
    const bool is_until = is_at({"until"});
    const bool is_tested = is_until || is_at({"while"});
    ++at_;
    const Known holds = is_tested ? list({"do"}) : true;
    // What is counted has another value each time.
    if (!is_tested && !is_end() && !tokens_[at_].is_sign && mode_ != Mode::skip) {
      const ShellToken& name = tokens_[at_];
      put(name.text, {{"$" + name.text, name.line, true}}, name.line, false);
    }
    while (!is_end() && !is_at({"do"})) ++at_;
    ++at_;
    where(is_until ? opposite_of(holds) : holds, [&] { list({"done"}); });
    ++at_;
    return true;
  }
  // "case $A in a | b) ... ;; *) ... ;; esac".
  Known cases() {
    ++at_;
    const std::string value = is_end() ? "" : known_text(tokens_[at_].text);
    while (!is_end() && !is_at({"in"})) ++at_;
    ++at_;
    FirstThatHolds taken;
    while (!is_end() && !is_at({"esac"})) {
      Known holds = false;
      for (; !is_end() && !is_sign(")") && !is_at({"esac"}); ++at_)
        if (!tokens_[at_].is_sign && holds != true) holds = fits(value, tokens_[at_].text, holds);
      if (is_end() || is_at({"esac"})) break;
      ++at_;
      where(taken.take(holds), [&] { list({"esac"}); });
      if (is_sign(";;")) ++at_;
    }
    ++at_;
    return true;
  }
  static Known fits(const std::string& value, const std::string& pattern, Known other) {
    if (pattern == "*") return true;
    const Known is_this = shell_test({value, "=", pattern});
    return is_this == false ? other : is_this;
  }
  // With "$" where it may have another value.
  std::string known_text(const std::string& text) {
    variables_.has_unsure = false;
    const std::string value = variables_.expanded(text);
    return variables_.has_unsure ? "$(" + value + ")" : value;
  }

  Known simple() {
    if (is_at({"export", "declare", "local", "readonly", "typeset"})) do
        ++at_;
      while (!is_end() && tokens_[at_].text.starts_with("-"));
    while (!is_end() && !tokens_[at_].is_sign && assign()) ++at_;
    if (is_at({"[", "[[", "test"})) return test();
    if (is_end() || tokens_[at_].is_sign || is_at({":", "true"})) {
      take_words();
      return true;
    }
    is_program_ = true;
    take_words();
    return {};
  }
  Known test() {
    std::vector<std::string> words;
    for (++at_; !is_end() && !tokens_[at_].is_sign; ++at_)
      if (!is_at({"]", "]]"})) words.push_back(known_text(tokens_[at_].text));
    return shell_test(words);
  }
  // With an empty word behind the last.
  void take_words() {
    for (; !is_end() && !tokens_[at_].is_sign; ++at_) append(words_, words_of(tokens_[at_]));
    words_.push_back({"", is_end() ? 0 : tokens_[at_].line, false});
  }
  // What a word stands for: the words of a list, one, or those of a text with flags.
  std::vector<ShellWord> words_of(const ShellToken& token) {
    if (mode_ == Mode::skip) return {};
    if (const auto found = lists_.find(name_in(token.text)); found != lists_.end())
      return found->second;
    variables_.has_unsure = false;
    const std::string text = variables_.expanded(token.text);
    const bool may_differ = variables_.has_unsure || mode_ == Mode::may_run;
    if (token.is_quoted && text.find("--", 1) == std::string::npos)
      return {{text, token.line, may_differ}};
    return split(text, token.line, may_differ);
  }
  // At blanks, but not at those in "$(( A * 2 ))".
  static std::vector<ShellWord> split(const std::string& text, int line, bool may_differ) {
    std::vector<ShellWord> all;
    bool is_word = false;
    for (std::size_t at = 0; at < text.size();) {
      const bool is_blank = std::isspace(static_cast<unsigned char>(text[at])) != 0;
      if (!is_blank && !is_word) all.push_back({"", line, may_differ});
      is_word = !is_blank;
      if (text[at] == '\n') ++line;
      const std::size_t end = text[at] == '$' ? std::max(at + 1, behind_dollar(text, at)) : at + 1;
      if (is_word) all.back().text += text.substr(at, end - at);
      at = end;
    }
    return all;
  }
  // "A" of "$A", "${A}", "${A[@]}".
  static std::string name_in(const std::string& text) {
    if (text.size() < 2 || text.front() != '$') return "";
    std::string name = text.substr(1);
    if (name.front() == '{' && name.back() == '}') name = name.substr(1, name.size() - 2);
    for (const std::string all : {"[@]", "[*]"})
      if (name.ends_with(all)) name.erase(name.size() - all.size());
    return name;
  }
  // "NAME=text", "NAME=(a b)", and both with "+=". Whether it is one.
  bool assign() {
    const ShellToken& token = tokens_[at_];
    const std::size_t equals = token.text.find('=');
    if (equals == std::string::npos || equals == 0 || token.text.starts_with("-")) return false;
    const bool is_more = token.text[equals - 1] == '+';
    const std::string name = token.text.substr(0, equals - (is_more ? 1 : 0));
    if (!is_setting_name(name)) return false;
    std::vector<ShellWord> words;
    if (is_array()) {
      for (at_ += 2; !is_end() && !is_sign(")"); ++at_)
        if (!tokens_[at_].is_sign) append(words, words_of(tokens_[at_]));
    } else {
      words = words_of_value(token, equals + 1);
    }
    if (mode_ != Mode::skip) put(name, words, token.line, is_more);
    return true;
  }
  bool is_array() const {
    return at_ + 1 < tokens_.size() && tokens_[at_].text.ends_with("=") && tokens_[at_ + 1].is("(");
  }
  void append(std::vector<ShellWord>& all, const std::vector<ShellWord>& more) {
    count(more.size());
    all.insert(all.end(), more.begin(), more.end());
  }
  void count(std::size_t words) {
    steps_ += words;
    if (steps_ > most_steps)
      throw InputError(file_, "it is too long or too deep to be followed; say the layout in words");
  }
  // Lists within a text keep what is known of their words.
  std::vector<ShellWord> words_of_value(const ShellToken& token, std::size_t from) {
    std::vector<ShellWord> all;
    for (const ShellWord& word : split(token.text.substr(from), token.line, false))
      append(all, words_of({word.text, word.line, false, false}));
    return all;
  }
  void put(const std::string& name, const std::vector<ShellWord>& words, int line, bool is_more) {
    std::vector<ShellWord>& list = lists_[name];
    const std::vector<ShellWord> before = list;
    count(before.size() + words.size());
    if (is_more) {
      append(list, words);
    } else {
      list = words;
      if (mode_ == Mode::may_run) keep_both(list, before);
    }
    std::string text;
    bool may_differ = false;
    for (const ShellWord& word : list) {
      text += (text.empty() ? "" : " ") + word.text;
      may_differ = may_differ || word.may_differ;
    }
    count(text.size() / 1000);
    variables_.all[name] = {text, line, may_differ};
    append(assigned_, words);
    assigned_.push_back({"", line, false});
  }
  // Where it may not happen, the words that were there may stay.
  static void keep_both(std::vector<ShellWord>& list, std::vector<ShellWord> before) {
    const auto is_same = [](const ShellWord& a, const ShellWord& b) { return a.text == b.text; };
    const bool goes_on = list.size() >= before.size() &&
                         std::equal(before.begin(), before.end(), list.begin(), is_same);
    if (goes_on) return std::copy(before.begin(), before.end(), list.begin()), void();
    for (ShellWord& word : before) word.may_differ = true;
    list.insert(list.begin(), before.begin(), before.end());
  }

  const std::string& file_;
  std::vector<ShellToken> tokens_;
  std::size_t steps_ = 0;
  ShellVariables variables_;
  std::map<std::string, std::vector<ShellWord>> lists_;
  std::vector<ShellWord> words_;
  std::vector<ShellWord> assigned_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Mode mode_ = Mode::run;
  bool is_program_ = false;  // what answered last
};

}  // namespace

ShellScript shell_script(const std::string& text, const std::string& file) {
  return Script(text, file).take();
}

}  // namespace sgdsim
