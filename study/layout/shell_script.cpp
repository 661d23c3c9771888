// By descent over words. Parts that are known not to happen are passed over.
#include "study/layout/shell_script.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "study/layout/setting_text.h"
#include "study/layout/shell_commands.h"
#include "study/layout/shell_reader.h"
#include "study/layout/shell_slurm.h"
#include "study/layout/shell_tests.h"
#include "study/layout/shell_texts.h"

namespace sgdsim {
namespace {

// Of files that others than a shell read, which may join their lines.
bool may_join_lines(const std::string& file) {
  const auto ends_so = [&](const char* ending) { return file.ends_with(ending); };
  const std::initializer_list<const char*> endings = {".yaml", ".yml", ".txt", ".md", ".args"};
  return std::any_of(endings.begin(), endings.end(), ends_so);
}

class Script : public ShellReader {
 public:
  Script(const std::string& text, const std::string& file)
      : ShellReader(file), are_lines_(may_join_lines(file)) {
    texts_.push_back(shell_tokens(text));
    tokens_ = texts_.back();
    read_header(text, 1);
    while (!is_end()) list({});
    // Others may call what this file only defines.
    for (auto& one : functions_)
      if (!one.second.is_called)
        where(std::nullopt, [&] { enter(one.second, {}, one.second.line); });
  }
  ShellScript take() {
    for (const auto& [name, word] : for_programs_) variables_.all.insert({name, word});
    variables_.all.insert(header_.begin(), header_.end());
    auto all = commands_that_count(words_, assigned_, file_);
    std::erase_if(passed_, [&](const std::string& name) { return variables_.all.contains(name); });
    ShellScript script{std::move(all.front()), {}, std::move(variables_.all), sourced_, passed_};
    script.others.assign(std::make_move_iterator(all.begin() + 1),
                         std::make_move_iterator(all.end()));
    if (exit_ == Mode::skip && is_cut_) script.end_line = exit_line_;
    script.header = std::move(header_);
    return script;
  }

 private:
  struct Function {
    Tokens tokens = {};
    std::size_t body = 0;  // where it begins
    int line = 0;
    bool is_called = false;
  };
  static constexpr int deepest = 100;
  static constexpr int deepest_calls = 20;

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
    Known answer = element(false);
    while (is_sign("&&") || is_sign("||") || is_sign("|")) {
      const std::string sign = tokens_[at_++].text;
      while (is_sign("\n")) ++at_;
      const Known done = is_program_ || sign == "|" ? Known(true) : answer;
      const Known needed = sign == "||" ? opposite_of(done) : done;
      Known next;
      where(needed, [&] { next = element(sign == "|"); });
      if (needed != true) is_program_ = false;  // it may not have run
      answer = !needed ? std::nullopt : *needed ? next : done;
    }
    return answer;
  }
  // On both sides of "|", and before "&", a command is a shell of its own.
  Known element(bool is_behind_pipe) {
    const bool may_be_piped = is_behind_pipe || is_compound() || is_simple_piped();
    if (!may_be_piped || depth_ == deepest) return command();
    const Outside before = outside();
    const Known answer = command();
    if (is_behind_pipe || is_piped()) back_to(before);
    return answer;
  }
  bool is_piped() const { return is_sign("|") || is_sign("&"); }
  bool is_compound() const {
    return is_sign("(") || is_at({"{", "if", "while", "until", "for", "select", "case"});
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
  // What it sets, and what exits in it, ends with it.
  Known subshell() {
    const Outside before = outside();
    const Known answer = body({}, ")");
    back_to(before);
    return answer;
  }
  // Its body is passed over here, and followed where it is called.
  Known define() {
    if (is_at({"function"})) ++at_;
    const std::string name = tokens_[at_++].text;
    if (is_sign("(") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].is(")")) at_ += 2;
    while (is_sign("\n")) ++at_;
    if (mode_ != Mode::skip) functions_[name] = {tokens_, at_, line_here()};
    where(false, [&] { command(); });
    return true;
  }
  void enter(Function& function, const ShellList& given, int line) {
    function.is_called = true;
    count(calls_ == deepest_calls ? most_steps + 1 : given.size());
    const std::size_t back = std::exchange(at_, function.body);
    const Tokens caller = std::exchange(tokens_, function.tokens);
    const ShellList outer = std::exchange(given_, given);
    const auto before = std::pair(mode_, rest_);
    const std::size_t locals = locals_.size();
    if (calls_++ == 0) call_line_ = line;
    bind_given();
    command();
    --calls_;
    for (; locals_.size() > locals; locals_.pop_back()) restore(locals_.back());
    given_ = outer;
    bind_given();
    // A return ends the function alone, an exit the script.
    rest_ = std::max(before.second, exit_);
    mode_ = std::max(before.first, exit_);
    tokens_ = caller;
    at_ = back;
  }
  // "((A *= 2))": what it changes is not known behind it.
  Known arithmetic() {
    std::string text;
    int depth = 0;
    do {
      depth += is_sign("((") ? 2 : is_sign("(") ? 1 : is_sign(")") ? -1 : 0;
      text += tokens_[at_++].text + ' ';
    } while (!is_end() && depth > 0);
    forget_changes(text);
    return {};
  }
  // What a second pass through a loop changes again is not known behind it.
  void passes(Known holds, Ends ends) {
    const std::size_t begin = at_;
    const std::size_t words = words_.size();
    where(holds, [&] { list(ends); });
    if (is_second_pass_ || holds == false || mode_ == Mode::skip) return;
    const std::size_t end = at_;
    const Scope first = scope();
    const std::size_t first_words = words_.size();
    const std::size_t assigned = assigned_.size();
    at_ = begin;
    is_second_pass_ = true;
    where(holds, [&] { list(ends); });
    is_second_pass_ = false;
    at_ = end;
    mark_second(words_, words, first_words);
    words_.resize(first_words);
    assigned_.resize(assigned);
    keep_first_pass(first);
  }
  Known loop() {
    const bool is_until = is_at({"until"});
    const bool is_tested = is_until || is_at({"while"});
    ++at_;
    const Known holds = is_tested ? list({"do"}) : true;
    // What is counted has another value each time.
    if (!is_tested && is_word() && mode_ != Mode::skip) {
      const ShellToken& name = tokens_[at_];
      forget_value(name.text, name.line, Unsure::in_loop);
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
      bool has_group = false;  // "+([0-9])"
      for (; !is_end() && !is_sign(")") && !is_at({"esac"}); ++at_) {
        const ShellToken& before = tokens_[at_ - 1];
        has_group = has_group || (is_sign("(") && !before.is_sign && before.text != "in");
        if (!tokens_[at_].is_sign && holds != true) holds = fits(value, tokens_[at_], holds);
      }
      if (has_group) holds = std::nullopt;
      if (is_end() || is_at({"esac"})) break;
      ++at_;
      where(taken.take(holds), [&] { list({"esac"}); });
      if (is_sign(";;")) ++at_;
    }
    ++at_;
    return true;
  }
  Known fits(const std::string& value, const ShellToken& pattern, Known other) {
    const std::string text = pattern.is_literal ? pattern.text : known_text(pattern.text);
    const Known is_this = shell_fits(value, text, pattern.is_quoted);
    return is_this == false ? other : is_this;
  }
  Known simple() {
    if (is_at({"export", "declare", "local", "readonly", "typeset"})) return declare();
    const std::size_t from = at_;
    pass_assignments();
    if (is_at({"[", "[[", "test"})) return test();
    if (is_word()) return program(from);
    for (at_ = from; is_word() && assign();) ++at_;
    take_words();
    return true;
  }
  // They hold for what the command runs, and not for its own words.
  template <class F>
  void with_assignments(std::size_t from, std::size_t to, const F& f) {
    std::vector<Kept> before;
    const std::size_t behind = std::exchange(at_, from);
    for (; at_ < to; ++at_) {
      const auto target = target_of(tokens_[at_]);
      if (target) before.push_back(kept(target->name));
      assign();
    }
    at_ = behind;
    f();
    for (; !before.empty(); before.pop_back()) {
      for_programs_.insert({before.back().name, variables_.all[before.back().name]});
      restore(before.back());
    }
  }
  Known program(std::size_t from) {
    const std::size_t first = at_;
    const std::size_t begin = words_.size();
    is_program_ = true;
    take_words();
    if (mode_ == Mode::skip) return skipped(from);
    if (words_.size() == begin + 1) return true;
    if (words_[begin].is_flag()) check_program(tokens_[first]);
    const Tokens command = tokens_.subspan(first, at_ - first);
    const std::string name = words_[begin].text;
    has_program_ = has_program_ || !words_[begin].is_flag();
    has_trained_ = has_trained_ || is_training(words_from(begin));
    const std::string between = separators(from);
    const std::optional<ShellText> text = text_for(command);  // with variables as they are outside
    Known answer;
    with_assignments(from, first, [&] { answer = follow(name, command, begin, between, text); });
    return answer;
  }
  // Where no command is above, flags are all that the file has.
  void check_program(const ShellToken& first) {
    if (are_lines_ || !has_program_) return;
    const ShellList all = words_of(first);
    if (!all.empty()) refuse_flag(all.front(), first.line);
  }
  // What is known of some commands.
  Known follow(const std::string& name, Tokens command, std::size_t begin,
               const std::string& between, const std::optional<ShellText>& text) {
    if (const auto function = functions_.find(name); function != functions_.end()) {
      ShellList given = words_from(begin + 1);
      std::erase_if(given, [](const ShellWord& word) { return word.text == "$@"; });
      words_.resize(begin);
      enter(function->second, given, command.front().line);
      return {};
    }
    if (name == ":" || name == "true" || name == "false") {
      const bool may_differ = known_text(command.front().text) != name;
      words_.resize(begin);
      is_program_ = false;
      return may_differ ? Known() : name != "false";
    }
    if (name == "eval") {
      const ShellList some = words_from(begin + 1);
      words_.resize(begin);
      evaluate(some, command.front().line);
      return {};
    }
    if (name == "getopts" && given_.empty()) {  // nobody gives options
      words_.resize(begin);
      is_program_ = false;
      return false;
    }
    if (name == "set") {
      set_given(words_from(begin + 1));
      words_.resize(begin);
      return true;
    }
    if (sets_variables(name, command, between)) {
      words_.resize(begin);
      return {};
    }
    if (name == "let") forget_changes(text_of(words_from(begin)));
    if (name == "shift") shift();
    if (name == "exit" || (name == "return" && calls_ > 0))
      leave(name == "exit", command.front().line);
    follow_text(name, command, begin, text);
    return {};
  }
  void evaluate(const ShellList& words, int line) {
    const std::size_t before = unsure_words_;
    run_text(text_for_eval(words, line));
    forget_stand_ins(before);
  }
  // Of "bash -c TEXT", "<<EOF" and a pipe.
  std::optional<ShellText> text_for(Tokens command) {
    std::optional<ShellText> text = std::exchange(piped_, {});
    for (const ShellToken& token : command)
      if (token.is_here) text = here_text(token);
    if (const ShellToken* inner = text_of_shell(command); inner != nullptr)
      text = inner->is_literal ? ShellText{inner->text, inner->line, false}
                               : expanded_text(inner->text, inner->line);
    return text;
  }
  // A shell runs it, or files that "cat" writes.
  void follow_text(const std::string& name, Tokens command, std::size_t begin,
                   const std::optional<ShellText>& text) {
    if (text && (text_of_shell(command) != nullptr || runs_input(command)))
      return run_apart(*text, begin);
    if (text && (name == "cat" || name == "tee")) {
      if (is_sign("|")) piped_ = text;
      if (const std::string file = file_written(command); !file.empty()) files_[file] = *text;
      return;
    }
    for (const std::string& file : files_run(command))
      if (const auto found = files_.find(file); found != files_.end())
        return run_apart(found->second, begin);
    keep_source(begin);
  }
  // In place of the command whose words begin there.
  void run_apart(const ShellText& text, std::size_t begin) {
    const ShellList launch = launch_of(words_from(begin));
    words_.resize(begin);
    const Outside before = outside();
    const auto functions = std::exchange(functions_, {});
    read_header(text.text, text.line);
    run_text(text);
    put_before(words_, begin, launch);
    functions_ = functions;
    back_to(before);
  }
  void run_text(const ShellText& text) {
    count(text_depth_ == deepest_calls ? most_steps + 1 : text.text.size() / 10);
    texts_.push_back(shell_tokens(text.text, text.line));
    const Tokens outer = std::exchange(tokens_, texts_.back());
    const std::size_t back = std::exchange(at_, 0);
    const bool has_program = std::exchange(has_program_, false);
    ++text_depth_;
    where(text.may_differ ? Known() : true, [&] {
      while (!is_end()) list({});
    });
    --text_depth_;
    has_program_ = has_program;
    tokens_ = outer;
    at_ = back;
  }
  // Of a job of Slurm: variables that it sets before the script begins.
  void read_header(const std::string& text, int line) {
    const auto header = slurm_variables(text, line);
    for (const auto& [name, word] : header) put(name, {word}, word.line, false);
    if (!header.empty()) header_ = header;
  }

  const bool are_lines_;  // of YAML, which may join them
  std::deque<std::vector<ShellToken>> texts_;
  std::map<std::string, Function> functions_;
  std::map<std::string, ShellText> files_;         // that it writes
  std::map<std::string, ShellWord> for_programs_;  // set before a command, for it alone
  std::map<std::string, ShellWord> header_;
  std::optional<ShellText> piped_;
  int text_depth_ = 0;
  bool has_program_ = false;  // a command that is none of flags alone
  bool is_second_pass_ = false;
  int depth_ = 0;
  bool is_program_ = false;  // what answered last
};

}  // namespace

ShellScript shell_script(const std::string& text, const std::string& file) {
  return Script(text, file).take();
}

}  // namespace sgdsim
