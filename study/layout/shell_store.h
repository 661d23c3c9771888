// What a shell script has set so far: variables, and lists of words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "study/layout/shell_script.h"
#include "study/layout/shell_tokens.h"
#include "study/layout/shell_variables.h"

namespace sgdsim {

class ShellStore {
 public:
  explicit ShellStore(const std::string& file) : file_(file) {}

 protected:
  enum class Mode : uint8_t { run, may_run, skip };
  // A variable as it was.
  struct Kept {
    std::string name;
    std::optional<ShellWord> word;
    std::optional<ShellList> list;
    std::optional<ShellItems> items = {};
  };
  // All of them: what a shell of its own, or a pass through a loop, may change.
  struct Scope {
    ShellVariables variables;
    std::map<std::string, ShellList> lists;
  };
  static constexpr std::size_t most_steps = 3'000'000;  // words, whenever they are copied

  void count(std::size_t words);
  void append(ShellList& all, const ShellList& more);
  // What a word stands for: the words of a list, one, or those of a text with flags.
  ShellList words_of(const ShellToken& token);
  // Lists within a text keep what is known of their words.
  ShellList words_of_value(const ShellToken& token, std::size_t from);
  // With "$" where it may have another value.
  std::string known_text(const std::string& text);

  // How a text goes on behind one that there is: right behind it, unless a blank parts them.
  struct Ends {
    bool goes_on = false;
    bool has_blank = false;  // at its end
  };
  void put(const std::string& name, const ShellList& words, int line, bool is_more,
           Ends ends = {false, false});
  // "NAME[1]=a"; of a place that is not known, the list is not known.
  void put_item(const std::string& name, const std::string& place, const ShellList& words,
                int line);
  // Its value is not known from here on.
  void forget_value(const std::string& name, int line, Unsure why = Unsure::by_command);
  Unsure reason() const;  // why something here may differ
  void unset(const std::string& name, int line);
  Kept kept(const std::string& name) const;
  void restore(const Kept& before);
  Scope scope();
  void keep_first_pass(const Scope& first);

  const std::string& file_;
  ShellVariables variables_;
  std::map<std::string, ShellList> lists_;
  ShellList assigned_;  // by all assignments, in their order
  Mode mode_ = Mode::run;

 private:
  std::size_t steps_ = 0;
};

}  // namespace sgdsim
