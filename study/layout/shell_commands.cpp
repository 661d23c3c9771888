// By the flags of a command, and by the name of its program.
#include "study/layout/shell_commands.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "sim/core/error.h"
#include "study/layout/layout_flags.h"
#include "study/layout/shell_overrides.h"
#include "study/layout/shell_texts.h"

namespace sgdsim {
namespace {

// Also "model.micro_batch_size=1" of Hydra.
bool is_setting(const ShellWord& word) { return word.is_flag() || is_layout_override(word.text); }

bool has_flag(const ShellList& words) {
  return std::any_of(words.begin(), words.end(), is_setting);
}

// "--a_b=1" is "a-b".
std::string flag_name(const ShellWord& word) {
  std::string name = word.text.substr(2, word.text.find_first_of("= ") - 2);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool is_layout_flag(const ShellWord& word) {
  if (!word.is_flag()) return is_layout_override(word.text);
  const std::string name = flag_name(word);
  if (name.starts_with("parallelism.")) return true;  // of torchtitan
  return name == "checkpoint-activations" || name == "zero-stage" ||
         std::find(layout_flags.begin(), layout_flags.end(), name) != layout_flags.end();
}

bool has_layout_flag(const ShellList& command) {
  return std::any_of(command.begin(), command.end(), is_layout_flag);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool has_part(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

// It handles texts and files, whatever flags they hold.
bool is_tool(const ShellList& command) {
  const std::string name = command.empty() ? "" : base_name(command.front().text);
  const auto is_it = [&](const char* one) { return name == one; };
  const std::initializer_list<const char*> tools = {
      "echo",   "printf", "cat",  "grep",  "egrep", "fgrep",  "rg",    "sed",   "awk",   "gawk",
      "perl",   "tee",    "head", "tail",  "sort",  "uniq",   "wc",    "cut",   "tr",    "ls",
      "cd",     "pushd",  "popd", "mkdir", "rm",    "cp",     "mv",    "ln",    "touch", "chmod",
      "logger", "git",    "pip",  "pip3",  "conda", "wget",   "curl",  "rsync", "scp",   "tar",
      "find",   "diff",   "date", "sleep", "trap",  "module", "alias", "kill",  "wait",  "jq"};
  return std::any_of(tools.begin(), tools.end(), is_it);
}

// "pretrain_gpt.py", "-m a.b", or the first word.
std::string program_in(const ShellList& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].text.ends_with(".py")) return command[i].text;
    if (command[i].text == "-m" && i + 1 < command.size() &&
        !command[i + 1].text.starts_with("torch.distributed"))
      return command[i + 1].text;
  }
  return command.empty() ? "" : command.front().text;
}

enum class Purpose : uint8_t { unknown, training, other };

Purpose purpose_of(const ShellList& command) {
  const std::string path = program_in(command);
  std::string name = base_name(path);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool is_other = has_part(path, {"tools/checkpoint"}) ||
                        has_part(name, {"checkpoint", "convert", "preprocess", "server", "generat",
                                        "eval", "inference", "export"});
  const bool trains = has_part(name, {"train", "finetune"});
  if (is_other == trains) return Purpose::unknown;
  return trains ? Purpose::training : Purpose::other;
}

std::vector<ShellList> split_commands(const ShellList& words) {
  std::vector<ShellList> all(1);
  for (const ShellWord& word : words) {
    all.back().push_back(word);
    if (word.is_end) all.emplace_back();
  }
  return all;
}

ShellList joined_words(const std::vector<ShellList>& commands) {
  ShellList all;
  for (const ShellList& command : commands) all.insert(all.end(), command.begin(), command.end());
  return all;
}

template <class F>
std::vector<ShellList> those(const std::vector<ShellList>& commands, const F& is_one) {
  std::vector<ShellList> some;
  std::copy_if(commands.begin(), commands.end(), std::back_inserter(some), is_one);
  return some;
}

// What a run is called, where it writes, and for how long: the step is the same.
bool is_of_run(const std::string& flag) {
  const std::string parts = "-" + flag + "-";
  return has_part(parts, {"-lr-", "-seed-", "-save-", "-load-", "-iters-", "-samples-", "-path-",
                          "-log-", "-interval-", "-dir-", "-port-", "-addr-", "-node-rank-",
                          "-name-", "-project-", "-prefix-"});
}

std::vector<std::string> step_words(const ShellList& command) {
  std::vector<std::string> words;
  bool counts = false;
  for (const ShellWord& word : command) {
    if (word.is_flag()) counts = !is_of_run(flag_name(word));
    if (is_layout_override(word.text)) counts = true;
    if (counts && !word.text.empty()) words.push_back(word.text);
  }
  return words;
}

// Below a test that is not known, words tell it themselves.
bool is_sure(const ShellList& command) { return !command.front().may_differ; }

// "--a 1", or "- --a" of a list of YAML.
bool begins_with_flag(const ShellList& command) { return command.front().text.starts_with("-"); }

// Where it ends is where it was called.
ShellCommand as_command(const ShellList& words) {
  return {words, words.empty() ? 0 : words.back().line};
}

constexpr std::size_t most_trainings = 100;  // of different flags

// Each kind of those that are sure, with those that are not, in their order.
std::vector<ShellCommand> trainings_of(const std::vector<ShellList>& commands,
                                       const std::string& file) {
  std::vector<std::vector<std::string>> kinds;
  for (const ShellList& one : those(commands, is_sure))
    if (std::find(kinds.begin(), kinds.end(), step_words(one)) == kinds.end())
      kinds.push_back(step_words(one));
  if (kinds.size() > most_trainings)
    throw InputError(file, "it has more than " + std::to_string(most_trainings) +
                               " commands with flags of a layout; give it with one of them");
  if (kinds.empty()) return {as_command(joined_words(commands))};
  std::vector<ShellCommand> all;
  for (const auto& kind : kinds)
    all.push_back(as_command(joined_words(those(commands, [&](const ShellList& one) {
      return !is_sure(one) || step_words(one) == kind;
    }))));
  return all;
}

bool is_launch(const ShellList& command) { return has_flag(command) && !is_tool(command); }

}  // namespace

bool is_training(const ShellList& command) {
  return is_launch(command) &&
         (has_layout_flag(command) || purpose_of(command) == Purpose::training);
}

ShellList launch_of(const ShellList& command) {
  const auto launches = [](const ShellWord& word) {
    const std::string name = base_name(word.text);
    return name == "srun" || name == "mpirun" || name == "mpiexec" || name == "mpiexec.hydra" ||
           name == "orterun" || name == "prun" || name == "aprun";
  };
  const auto is_inner = [](const ShellWord& word) {
    const std::string name = base_name(word.text);
    return is_shell_name(name) || name.ends_with(".sh");
  };
  const auto begin = std::find_if(command.begin(), command.end(), launches);
  return {begin, std::find_if(begin, command.end(), is_inner)};
}

void put_before(ShellList& words, std::size_t begin, const ShellList& launch) {
  if (launch.empty()) return;
  ShellList all(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(begin));
  const ShellList rest(words.begin() + static_cast<std::ptrdiff_t>(begin), words.end());
  for (const ShellList& command : split_commands(rest)) {
    if (is_training(command)) {
      all.insert(all.end(), launch.begin(), launch.end());
      for (auto word = all.end() - static_cast<std::ptrdiff_t>(launch.size()); word != all.end();
           ++word)
        word->may_differ = command.front().may_differ;
    }
    all.insert(all.end(), command.begin(), command.end());
  }
  words = std::move(all);
}

std::vector<ShellCommand> commands_that_count(const ShellList& words, const ShellList& assigned,
                                              const std::string& file) {
  const auto all = those(split_commands(words), has_flag);
  auto programs = those(all, is_launch);
  const auto trains = [](const ShellList& one) { return purpose_of(one) == Purpose::training; };
  const auto may_train = [](const ShellList& one) { return purpose_of(one) != Purpose::other; };
  if (const auto training = those(programs, trains); !training.empty()) {
    // Others are read where the one that trains has no flags of a layout.
    const bool says_layout = std::any_of(training.begin(), training.end(), has_layout_flag);
    programs = says_layout ? training : those(programs, may_train);
  }
  if (const auto with_layout = those(programs, has_layout_flag); !with_layout.empty()) {
    // Of a file of flags alone, or of YAML, lines are no commands.
    if (std::any_of(with_layout.begin(), with_layout.end(), begins_with_flag))
      return {as_command(words)};
    const auto some = those(with_layout, may_train);
    return trainings_of(some.empty() ? with_layout : some, file);
  }
  if (!programs.empty()) return {as_command(joined_words(programs))};
  // A launch that is only printed.
  const auto printed = those(all, [](const ShellList& one) {
    return has_layout_flag(one) && program_in(one) != one.front().text;
  });
  if (!printed.empty()) return trainings_of(printed, file);
  return {as_command(has_flag(assigned) ? assigned : words)};
}

}  // namespace sgdsim
