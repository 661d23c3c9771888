// Configuration files of other programs as flat names and values: command lines and shell scripts
// ("--micro-batch-size 1", or NAME=value of upper-case variables), YAML ("model.micro_batch_size"),
// TOML, JSON, and what recipes in Python assign.
// Settings of Hydra, "model.micro_batch_size=1", are words of command lines, too.
//
// Only what such files are made of is read: words, numbers, flags, tables and lists of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "study/layout/shell_script.h"
#include "study/layout/table_settings.h"

namespace sgdsim {

class FlatSettings {
 public:
  enum class Kind : uint8_t { flags, yaml, toml, json, python };

  // InputError names the file and the line. `recipe`: which one, of a file in Python with several.
  static FlatSettings read(const std::string& text, const std::string& file,
                           const std::string& recipe = "");

  Kind kind() const { return kind_; }
  const std::string& file() const { return file_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  // Words of a list, which as a value is "[a, b]"; nothing where it is not there.
  std::optional<std::vector<std::string>> list(const std::string& name) const;
  // Nothing where it is not there, or null.
  std::optional<std::string> find(const std::string& name) const;
  // Of names for one thing, the only one that is there. InputError where two are, and differ.
  std::optional<std::string> find_any(const std::vector<std::string>& names) const;
  // Whether one of them is there and not null, whatever it is.
  bool has_any(const std::vector<std::string>& names) const;
  // Why it may be another value, in words; empty: it is not.
  std::string doubt_on(const std::string& name) const;
  int64_t whole(const std::string& name, const std::string& value, int64_t least,
                int64_t most) const;
  bool flag(const std::string& name, const std::string& value) const;
  [[noreturn]] void fail(const std::string& name, const std::string& sentence) const;
  const std::map<std::string, std::string>& values() const { return values_; }
  // What it begins with and what is not in it: functions and names of Python, files of YAML, what
  // settings of a command change.
  const std::set<std::string>& missing() const { return missing_; }
  // Of scripts: all words of the command that trains, where it stands, others that may train, too,
  // and where the script ends before its last line (0: nowhere).
  const std::vector<std::string>& words() const { return words_; }
  int line() const { return line_; }
  const std::vector<FlatSettings>& others() const { return others_; }
  // Whether lines of #SBATCH say what Slurm gives it; its variables are among the values.
  bool is_batch() const { return is_batch_; }
  int end_line() const { return end_line_; }
  // Words of that command that may hold any flags, and files that the script sources.
  const std::vector<ShellWord>& not_known() const { return not_known_; }
  const std::vector<std::string>& sourced() const { return sourced_; }

 private:
  void read_script(const std::string& text);
  void read_flags(const std::vector<ShellWord>& words, const ShellScript& script);
  void read_overrides(const std::vector<ShellWord>& words);
  void note_bases();
  void read_arguments();
  void read_tables(const std::vector<TableSetting>& all);
  void resolve_references();
  void read_python(const std::string& text, const std::string& recipe);
  void read_members(const Json& json, const std::string& prefix);
  void set(const std::string& name, const std::string& value, int line);
  void set(const std::string& name, const ShellWord& word);

  std::string file_;
  Kind kind_ = Kind::flags;
  std::map<std::string, std::string> values_;
  std::map<std::string, int> lines_;
  std::map<std::string, std::vector<std::string>> lists_;  // of flags: all words behind one
  std::map<std::string, Unsure> unsure_;  // of Python and of scripts: what may be another value
  std::set<std::string> unknown_;         // and what only running it would tell
  std::set<std::string> missing_;
  std::vector<std::string> words_;
  std::vector<FlatSettings> others_;
  std::vector<ShellWord> not_known_;
  std::vector<std::string> sourced_;
  int line_ = 0;
  int end_line_ = 0;
  bool is_batch_ = false;
};

}  // namespace sgdsim
