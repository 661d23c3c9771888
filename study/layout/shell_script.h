// A shell script followed line by line: its flags and variables, with what is known from the file
// alone. Neither arguments nor an environment are given; programs are not run. What stands below an
// if is taken where its test is known to hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sgdsim {

// Why a word may be another one.
enum class Unsure : uint8_t {
  below_test,  // that is not known, so that it may not happen
  in_loop,     // another pass changes it
  by_command,  // that would have to be run
  by_slurm     // of what Slurm has free
};

struct ShellWord {
  std::string text;
  int line = 0;
  bool may_differ = false;
  bool is_end = false;              // behind the last word of a command
  Unsure why = Unsure::below_test;  // where it may differ
  bool is_flag() const { return text.size() > 2 && text.starts_with("--"); }
};

struct ShellCommand {
  std::vector<ShellWord> words = {};  // an empty one behind them
  int line = 0;                       // where it is called
};

struct ShellScript {
  // The command that trains; of variables that no command takes, where no command has a flag.
  ShellCommand training;
  std::vector<ShellCommand> others;  // that have other flags, and may train, too
  std::map<std::string, ShellWord> variables;
  std::vector<std::string> sourced = {};  // files that are not read
  std::set<std::string> unset = {};       // variables that it sets only where it does not get to
  int end_line = 0;                       // of an exit in front of commands with flags; 0: none
  std::map<std::string, ShellWord> header =
      {};  // what lines of #SBATCH say; nothing: none are there
};

// InputError names the file.
ShellScript shell_script(const std::string& text, const std::string& file);

}  // namespace sgdsim
