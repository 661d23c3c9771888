// Launchers differ in the word for the number of ranks; others than these do not say it in one.
#include "traces/measurement/run_command.h"

#include <algorithm>
#include <array>

#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string_view>;

template <class List>
bool is_among(std::string_view word, const List& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_launcher(std::string_view word) {
  constexpr std::array<std::string_view, 8> names{
      "mpirun", "mpiexec", "mpiexec.hydra", "mpirun_rsh", "orterun", "prterun", "srun", "aprun"};
  return is_among(file_name(word), names);
}

bool is_program(std::string_view word, std::string_view program) {
  const std::string_view name = file_name(word);
  return program.starts_with('_') ? name.ends_with(program) : name.starts_with(program);
}

// "./osu_latency", and the first word behind a prompt.
bool begins_command(const Words& words, std::size_t at) {
  constexpr std::array<std::string_view, 4> prompts{"+", "++", "$", "%"};
  if (at == 0) return words[at].find('/') != std::string_view::npos;
  const std::string_view before = words[at - 1];
  const bool ends_prompt = before.ends_with('$') || before.ends_with('#');
  return is_among(before, prompts) || (ends_prompt && before.size() > 1);  // "#" is a comment
}

bool sets_variable(std::string_view word) {
  return word.find('=') != std::string_view::npos && !word.starts_with('-');
}

// Which sizes, how often: another such word makes no other curve. With a number behind it.
bool asks_for_sizes(std::string_view word) {
  constexpr std::array<std::string_view, 16> options{
      "-m",    "-i",     "-x",         "-b",         "-e",      "-f",           "-n",
      "-w",    "--iter", "--minbytes", "--maxbytes", "--iters", "--stepfactor", "--warmup_iters",
      "-iter", "-msglog"};
  return is_among(word, options);
}

bool leads_to_file(std::string_view word) {
  return word.starts_with('>') || word.starts_with("2>") || word.starts_with("&>") ||
         word.starts_with('|') || word == "&";
}

int count_in(std::string_view word) {
  const auto count = whole_word(word);
  return count && *count >= 1 && *count <= most_measured_ranks ? static_cast<int>(*count) : 0;
}

// "-np 4", "--ntasks=4", "-n4". Several programs side by side are no such run.
int ranks_of(const Words& words, std::size_t launcher, std::size_t program) {
  constexpr std::array<std::string_view, 4> options{"-np", "--np", "-n", "--ntasks"};
  if (std::find(words.begin(), words.end(), ":") != words.end()) return 0;
  for (std::size_t i = launcher + 1; i < program; ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    if (is_among(words[i], options)) return count_in(words[i + 1]);
    if (is_among(words[i].substr(0, equals), options)) return count_in(words[i].substr(equals + 1));
    if (words[i].starts_with("-n") && count_in(words[i].substr(2)) > 0)
      return count_in(words[i].substr(2));
  }
  return 0;
}

std::vector<std::string> words_of(const std::string& text) {
  Words words;
  split_words(text, words);
  return {words.begin(), words.end()};
}

}  // namespace

std::optional<RunCommand> run_command_in(const Words& words, std::string_view program) {
  const auto names = [&](std::string_view word) { return is_program(word, program); };
  const auto found = std::find_if(words.begin(), words.end(), names);
  if (found == words.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(found - words.begin());
  const auto launcher = std::find_if(words.begin(), found, is_launcher);
  auto first = static_cast<std::size_t>(launcher - words.begin());
  while (first > 0 && sets_variable(words[first - 1])) --first;
  if (launcher == found && !begins_command(words, first)) return std::nullopt;
  RunCommand command;
  if (launcher != found)
    command.ranks = ranks_of(words, static_cast<std::size_t>(launcher - words.begin()), at);
  for (std::size_t i = first; i < words.size() && !leads_to_file(words[i]); ++i) {
    if (i > at && asks_for_sizes(words[i])) {
      ++i;
      continue;
    }
    command.text += (command.text.empty() ? "" : " ") + std::string(words[i]);
  }
  return command;
}

std::string words_apart(const std::string& command, const std::vector<std::string>& others) {
  const std::vector<std::string> own = words_of(command);
  const auto all_have = [&](const std::string& word) {
    return std::all_of(others.begin(), others.end(), [&](const std::string& other) {
      const std::vector<std::string> words = words_of(other);
      return std::find(words.begin(), words.end(), word) != words.end();
    });
  };
  std::string text;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (all_have(own[i])) continue;
    const bool is_value = i > 0 && own[i - 1].starts_with('-') && all_have(own[i - 1]);
    for (const std::string& word : {is_value ? own[i - 1] : std::string(), own[i]})
      if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

}  // namespace sgdsim
