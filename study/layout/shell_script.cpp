// By descent over words. Parts that are known not to happen are passed over.
#include "study/layout/shell_script.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "sim/core/error.h"
#include "study/layout/setting_text.h"
#include "study/layout/shell_arithmetic.h"
#include "study/layout/shell_tests.h"
#include "study/layout/shell_tokens.h"
#include "study/layout/shell_variables.h"

namespace sgdsim {
namespace {

class Script {
 public:
  Script(const std::string& text, const std::string& file)
      : file_(file), tokens_(shell_tokens(text)) {
    while (!is_end()) list({});
    // Others may call what this file only defines.
    for (auto& one : functions_)
      if (!one.second.is_called) where(std::nullopt, [&] { enter(one.second, {}); });
  }
  ShellScript take() {
    if (std::none_of(words_.begin(), words_.end(), is_flag)) words_ = std::move(assigned_);
    return {std::move(words_), std::move(variables_.all)};
  }

 private:
  enum class Mode : uint8_t { run, may_run, skip };
  using Ends = std::initializer_list<const char*>;
  struct Function {
    std::size_t body = 0;  // where it begins
    bool is_called = false;
  };
  // What an assignment, or a pass through a loop, may have changed.
  struct State {
    ShellVariables variables;
    std::map<std::string, ShellList> lists;
    std::size_t words = 0;
    std::size_t assigned = 0;
  };
  static constexpr int deepest = 100;
  static constexpr int deepest_calls = 20;
  static constexpr std::size_t most_steps = 3'000'000;  // words, whenever they are copied

  static bool is_flag(const ShellWord& word) { return word.is_flag(); }
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
    mode_ = std::max(before, rest_);
  }

  // Up to one of these words, or to a sign that ends it. What its last command answers.
  Known list(Ends ends, const char* sign = ";;") {
    Known answer = true;
    while (!is_end() && !is_at(ends)) {
      if (is_sign(sign)) break;
      if (tokens_[at_].is_sign && !is_sign("(") && !is_sign("(("))
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
    count(1);
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
    if (is_sign("((")) return arithmetic();
    if (is_sign("(")) return subshell();
    if (is_function()) return define();
    if (is_at({"{"})) return body({"}"}, ";;");
    if (is_at({"if"})) return branches();
    if (is_at({"while", "until", "for", "select"})) return loop();
    if (is_at({"case"})) return cases();
    if (!is_at({"!"})) return simple();
    ++at_;
    const Known answer = command();
    is_program_ = false;  // whatever it is asked for, "!" asks whether it fails
    return opposite_of(answer);
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
  // What exits in it ends it alone.
  Known subshell() {
    const auto before = std::tuple(mode_, rest_, exit_);
    const Known answer = body({}, ")");
    std::tie(mode_, rest_, exit_) = before;
    return answer;
  }
  // "NAME() {" and "function NAME {".
  bool is_function() const {
    const std::size_t name = at_ + (is_at({"function"}) ? 1 : 0);
    if (name + 2 >= tokens_.size() || tokens_[name].is_sign || is_array()) return false;
    return name > at_ || (tokens_[name + 1].is("(") && tokens_[name + 2].is(")"));
  }
  // Its body is passed over here, and followed where it is called.
  Known define() {
    if (is_at({"function"})) ++at_;
    const std::string name = tokens_[at_++].text;
    while (is_sign("(") || is_sign(")") || is_sign("\n")) ++at_;
    if (mode_ != Mode::skip) functions_[name] = {at_};
    where(false, [&] { command(); });
    return true;
  }
  void enter(Function& function, const ShellList& given) {
    function.is_called = true;
    count(calls_ == deepest_calls ? most_steps + 1 : given.size());
    const std::size_t back = std::exchange(at_, function.body);
    const ShellList outer = std::exchange(given_, given);
    const auto before = std::pair(mode_, rest_);
    ++calls_;
    bind_given();
    command();
    --calls_;
    given_ = outer;
    bind_given();
    // A return ends the function alone, an exit the script.
    rest_ = std::max(before.second, exit_);
    mode_ = std::max(before.first, exit_);
    at_ = back;
  }
  // "$1", "$#" and "$@" of a function; of the script itself, which nobody gives arguments, none.
  void bind_given() {
    for (std::size_t i = 1; i <= 9; ++i) {
      const std::string name = std::to_string(i);
      variables_.all.erase(name);
      if (i <= given_.size()) variables_.all[name] = given_[i - 1];
    }
    variables_.all["#"] = {std::to_string(given_.size()), 0, false};
    for (const char* name : {"@", "*"}) lists_[name] = given_;
    if (calls_ > 0) return;
    for (const char* name : {"@", "*"}) lists_.erase(name);
    variables_.all.erase("#");
  }
  void shift() {
    if (given_.empty() || mode_ == Mode::skip) return;
    if (mode_ == Mode::run) given_.erase(given_.begin());
    if (mode_ == Mode::may_run)
      for (ShellWord& word : given_) word.may_differ = true;
    bind_given();
  }

  // "((A *= 2))": what it changes is not known behind it.
  Known arithmetic() {
    std::string text;
    int depth = 0;
    do {
      depth += is_sign("((") ? 2 : is_sign("(") ? 1 : is_sign(")") ? -1 : 0;
      text += tokens_[at_++].text + ' ';
    } while (!is_end() && depth > 0);
    forget(text);
    return {};
  }
  void forget(const std::string& text) {
    if (mode_ == Mode::skip) return;
    for (const std::string& name : shell_changes(text))
      put(name, {{"$" + name, is_end() ? 0 : tokens_[at_].line, true}}, 0, false);
  }

  // What a second pass through a loop changes again is not known behind it.
  void passes(Known holds, Ends ends) {
    const std::size_t begin = at_;
    const std::size_t words = words_.size();
    where(holds, [&] { list(ends); });
    if (is_second_pass_ || holds == false || mode_ == Mode::skip) return;
    const std::size_t end = at_;
    for (const auto& [name, word] : variables_.all) count(1 + word.text.size() / 100);
    for (const auto& [name, list] : lists_) count(1 + list.size());
    const State first{variables_, lists_, words_.size(), assigned_.size()};
    at_ = begin;
    is_second_pass_ = true;
    where(holds, [&] { list(ends); });
    is_second_pass_ = false;
    at_ = end;
    keep_first_pass(first, words);
  }
  void keep_first_pass(const State& first, std::size_t begin) {
    mark_second(words_, begin, first.words);
    words_.resize(first.words);
    assigned_.resize(first.assigned);
    const auto second = std::exchange(lists_, first.lists);
    const auto changed = std::exchange(variables_, first.variables).all;
    for (auto& [name, word] : variables_.all) {
      const auto again = changed.find(name);
      word.may_differ =
          word.may_differ || again == changed.end() || again->second.text != word.text;
    }
    for (auto& [name, list] : lists_) mark_changes(list, second.at(name));
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
    if (!is_tested && is_sign("((")) arithmetic();  // "((I = 0; I < 8; I++))"
    while (!is_end() && !is_at({"do"})) ++at_;
    ++at_;
    passes(is_until ? opposite_of(holds) : holds, {"done"});
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
    const bool declares = is_at({"export", "declare", "local", "readonly", "typeset"});
    if (declares) do
        ++at_;
      while (!is_end() && tokens_[at_].text.starts_with("-"));
    while (!is_end() && !tokens_[at_].is_sign && assign()) ++at_;
    if (is_at({"[", "[[", "test"})) return test();
    if (is_end() || tokens_[at_].is_sign || is_at({":", "true"})) {
      take_words();
      return true;
    }
    is_program_ = true;
    const std::string name = tokens_[at_].text;
    const auto function = declares ? functions_.end() : functions_.find(name);
    const std::size_t begin = words_.size();
    take_words();
    if (mode_ == Mode::skip) return {};
    if (function != functions_.end()) {
      const ShellList given(words_.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                            words_.end() - 1);
      words_.resize(begin);
      enter(function->second, given);
    }
    if (name == "let") forget(text_from(begin));
    if (name == "shift") shift();
    if (name == "exit" || (name == "return" && calls_ > 0)) leave(name == "exit");
    return {};
  }
  std::string text_from(std::size_t begin) const {
    std::string text;
    for (std::size_t i = begin; i < words_.size(); ++i) text += words_[i].text + ' ';
    return text;
  }
  // Behind a command with flags. Before one, it is the end of a check that failed, as of arguments.
  void leave(bool is_exit) {
    if (is_exit && !has_flags_) return;
    rest_ = mode_ == Mode::run ? Mode::skip : std::max(rest_, Mode::may_run);
    mode_ = std::max(mode_, rest_);
    if (is_exit) exit_ = rest_;
  }
  Known test() {
    std::vector<std::string> words;
    for (++at_; !is_end() && !tokens_[at_].is_sign; ++at_)
      if (!is_at({"]", "]]"})) words.push_back(known_text(tokens_[at_].text));
    return shell_test(words);
  }
  // With an empty word behind the last.
  void take_words() {
    for (; !is_end() && !tokens_[at_].is_sign; ++at_) {
      const ShellList more = words_of(tokens_[at_]);
      has_flags_ = has_flags_ || std::any_of(more.begin(), more.end(), is_flag);
      append(words_, more);
    }
    words_.push_back({"", is_end() ? 0 : tokens_[at_].line, false});
  }
  // What a word stands for: the words of a list, one, or those of a text with flags.
  ShellList words_of(const ShellToken& token) {
    if (mode_ == Mode::skip) return {};
    if (const auto found = lists_.find(variable_in(token.text)); found != lists_.end())
      return found->second;
    variables_.has_unsure = false;
    const std::string text = variables_.expanded(token.text);
    const bool may_differ = variables_.has_unsure || mode_ == Mode::may_run;
    if (token.is_quoted && text.find("--", 1) == std::string::npos)
      return {{text, token.line, may_differ}};
    return split_words(text, token.line, may_differ);
  }
  // "NAME=text", "NAME=(a b)", and both with "+=". Whether it is one.
  bool assign() {
    const ShellToken& token = tokens_[at_];
    const std::size_t equals = token.text.find('=');
    if (equals == std::string::npos || equals == 0 || token.text.starts_with("-")) return false;
    const bool is_more = token.text[equals - 1] == '+';
    const std::string name = token.text.substr(0, equals - (is_more ? 1 : 0));
    if (!is_setting_name(name)) return false;
    ShellList words;
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
  void append(ShellList& all, const ShellList& more) {
    count(more.size());
    all.insert(all.end(), more.begin(), more.end());
  }
  void count(std::size_t words) {
    steps_ += words;
    if (steps_ > most_steps)
      throw InputError(file_, "it is too long or too deep to be followed; say the layout in words");
  }
  // Lists within a text keep what is known of their words.
  ShellList words_of_value(const ShellToken& token, std::size_t from) {
    ShellList all;
    for (const ShellWord& word : split_words(token.text.substr(from), token.line, false))
      append(all, words_of({word.text, word.line, false, false}));
    return all;
  }
  void put(const std::string& name, const ShellList& words, int line, bool is_more) {
    ShellList& list = lists_[name];
    const ShellList before = list;
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
  const std::string& file_;
  std::vector<ShellToken> tokens_;
  std::size_t steps_ = 0;
  ShellVariables variables_;
  std::map<std::string, ShellList> lists_;
  ShellList words_;
  ShellList assigned_;
  std::map<std::string, Function> functions_;
  std::size_t at_ = 0;
  int calls_ = 0;
  bool is_second_pass_ = false;
  bool has_flags_ = false;  // a command had some
  Mode rest_ = Mode::run;   // of what stands behind an exit, or a return in its function
  Mode exit_ = Mode::run;   // behind an exit
  ShellList given_;         // to the function that runs
  int depth_ = 0;
  Mode mode_ = Mode::run;
  bool is_program_ = false;  // what answered last
};

}  // namespace

ShellScript shell_script(const std::string& text, const std::string& file) {
  return Script(text, file).take();
}

}  // namespace sgdsim
