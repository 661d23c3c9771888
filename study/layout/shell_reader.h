// The words of a shell script one behind another: assignments, words of commands, arguments.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "study/layout/shell_builtins.h"
#include "study/layout/shell_tests.h"
#include "study/layout/shell_texts.h"

namespace sgdsim {

class ShellReader : public ShellBuiltins {
 protected:
  using ShellBuiltins::ShellBuiltins;
  using Ends = std::initializer_list<const char*>;
  using Tokens = std::span<const ShellToken>;
  // "NAME=text", "NAME[1]=text", "NAME=(a b)", and with "+=".
  struct Target {
    std::string name;
    std::optional<std::string> place;  // in the brackets
    bool is_more = false;
    std::size_t from = 0;  // where the text begins
  };

  // What a shell of its own cannot change outside.
  struct Outside {
    Scope scope;
    ShellList given;
    bool is_given = false;
    Mode mode = Mode::run, rest = Mode::run, exit = Mode::run;
  };

  Outside outside() { return {scope(), given_, is_given_, mode_, rest_, exit_}; }
  void back_to(const Outside& before);
  bool is_end() const { return at_ >= tokens_.size(); }
  bool is_at(Ends words) const;
  bool is_sign(const char* sign) const { return !is_end() && tokens_[at_].is(sign); }
  bool is_word() const { return !is_end() && !tokens_[at_].is_sign; }
  // "NAME() {" and "function NAME {".
  bool is_function() const;
  // Whether what stands here is piped into another command, or goes on beside the script.
  bool is_simple_piped() const;
  int line_here() const { return is_end() ? 0 : tokens_[at_].line; }

  static std::optional<Target> target_of(const ShellToken& token);
  // Whether it is one.
  bool assign();
  bool is_array() const;
  // Of "NAME=(a [3]=b)": its words, and elements where each has a known place.
  std::optional<ShellItems> items_here(const Target& target, ShellList& words);
  // "3" and "b" of "[3]=b".
  static std::pair<std::optional<std::string>, ShellToken> placed(ShellToken token);
  // Whether it is known how many elements a word of it is.
  bool has_places(const ShellToken& token, const ShellList& words) const;
  // Those before a command, "A=1 run".
  void pass_assignments();
  // Of "IFS=, read", which begins there.
  std::string separators(std::size_t from) const;

  // With an empty word behind the last.
  void take_words();
  ShellList words_from(std::size_t begin) const;
  static std::string text_of(const ShellList& words);
  [[noreturn]] void refuse_flag(const ShellWord& flag, int line) const;
  // As the shell hands them on.
  ShellText here_text(const ShellToken& token);
  ShellText expanded_text(const std::string& text, int line);
  // What "((A *= 2))" changes is not known behind it.
  void forget_changes(const std::string& text);

  // "declare -A NAME"; `is_new`: whatever it was outside.
  void name_places(const std::string& name, bool is_new);
  // "local A=1", "export A".
  Known declare();
  // "[ $A = 1 ]".
  Known test();
  // Behind a command that trains. Before one, it is the end of a check that failed, as of
  // arguments.
  void leave(bool is_exit, int line);
  // Behind an exit flags are looked for, which are not read.
  Known skipped(std::size_t from);
  // Words of a command that may differ stand as variables, so that the others stay known. Others
  // than words may change what is run.
  ShellText text_for_eval(const ShellList& words, int line);
  void forget_stand_ins(std::size_t before);
  // Of "source FILE", where the words from `begin` on are that.
  void keep_source(std::size_t begin);

  // "$1", "$#" and "$@" of a function; of the script itself, which nobody gives arguments, those
  // of "set --".
  void bind_given();
  void set_given(const ShellList& words);
  void shift();

  Tokens tokens_;  // of the text that is followed now
  std::size_t at_ = 0;
  ShellList words_;
  bool has_trained_ = false;  // a command did
  ShellList given_;           // to the function that runs, or by "set --"
  bool is_given_ = false;
  int calls_ = 0;
  std::vector<Kept> locals_;  // what they stand before
  bool is_cut_ = false;       // flags stand behind an exit
  int exit_line_ = 0;
  std::vector<std::string> sourced_;  // files that are not read
  std::set<std::string> passed_;      // variables that are set where it does not get to
  std::size_t unsure_words_ = 0;      // of texts for eval
  int call_line_ = 0;                 // where the outermost function is called
  Mode rest_ = Mode::run;             // of what stands behind an exit, or a return in its function
  Mode exit_ = Mode::run;             // behind an exit
};

}  // namespace sgdsim
