// Options of a launcher stand between its name and the program that it starts.
#include "study/layout/foreign_launch.h"

#include <algorithm>
#include <initializer_list>

#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

using LaunchWords = std::vector<std::string>;

bool is_one_of(const std::string& word, std::initializer_list<const char*> all) {
  return std::any_of(all.begin(), all.end(), [&](const char* one) { return word == one; });
}

std::string program_name(const std::string& word) { return word.substr(word.rfind('/') + 1); }

bool is_launcher(const std::string& word) {
  return is_one_of(program_name(word),
                   {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "srun", "aprun"});
}

bool starts_others(const std::string& word) {
  const std::string name = program_name(word);
  return name.ends_with(".sh") ||
         is_one_of(name, {"bash", "sh", "torchrun", "deepspeed", "accelerate"});
}

bool ends_options(const std::string& word) {
  const std::string name = program_name(word);
  return starts_others(word) || name.starts_with("python") || name.ends_with(".py") ||
         is_one_of(name, {"singularity", "apptainer", "nsys", "numactl"});
}

// "./bind.sh --cpu=node python x.py": a script that becomes the program behind it.
bool is_wrapper(LaunchWords::const_iterator word, LaunchWords::const_iterator end) {
  while (word != end && (word->starts_with("-") || program_name(*word).ends_with(".sh") ||
                         is_one_of(program_name(*word), {"bash", "sh"})))
    ++word;
  return word != end && program_name(*word).starts_with("python");
}

// 0: it is no number, as what only the environment has.
int64_t count_in(const std::string& text) {
  return std::max<int64_t>(0, number_of_text(text).value_or(0));
}

// "-n 16", "-n16", "--ntasks=16"; 0: it is not there.
int64_t option_of(const LaunchWords& words, std::initializer_list<const char*> names) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (is_one_of(word, names)) return i + 1 < words.size() ? count_in(words[i + 1]) : 0;
    for (const std::string name : names) {
      const bool is_long = name.starts_with("--");
      if (is_long && word.starts_with(name + "=")) return count_in(word.substr(name.size() + 1));
      if (name.size() == 2 && word.starts_with(name) && count_in(word.substr(2)) > 0)
        return count_in(word.substr(2));
    }
  }
  return 0;
}

// What a launcher of MPI or Slurm is told, and what it starts.
struct ProcessLaunch {
  std::string name = {};  // of the launcher; empty: there is none
  LaunchWords options = {};
  LaunchWords started = {};
};
ProcessLaunch launch_in(const LaunchWords& words) {
  const auto begin = std::find_if(words.begin(), words.end(), is_launcher);
  if (begin == words.end()) return {};
  const auto behind = std::find_if(begin + 1, words.end(), ends_options);
  return {program_name(*begin), {begin + 1, behind}, {behind, words.end()}};
}

// One process of each node may start those of its GPUs.
bool starts_script(const LaunchWords& words) {
  return !words.empty() && starts_others(words.front()) && !is_wrapper(words.begin(), words.end());
}

// What is said first counts.
int64_t said_or(int64_t said, int64_t otherwise) {
  return std::min<int64_t>(1'000'000, said > 0 ? said : otherwise);
}

int64_t processes_of(const ProcessLaunch& launch, const SlurmCounts& job) {
  const LaunchWords& options = launch.options;
  if (launch.name != "srun") return option_of(options, {"-np", "--np", "-n", "--n"});
  if (const int64_t tasks = option_of(options, {"-n", "--ntasks"}); tasks > 0) return tasks;
  const int64_t nodes = option_of(options, {"-N", "--nodes"});
  const int64_t of_node = option_of(options, {"--ntasks-per-node"});
  const int64_t all = said_or(nodes, job.nodes) * said_or(of_node, job.tasks_of_node);
  const bool is_of_job = nodes == 0 && of_node == 0 && job.tasks > 0;
  return is_of_job || all == 0 ? job.tasks : all;
}

// "train.sh" of "bash -x train.sh", of "./train.sh", and behind options of torchrun.
std::string script_in(const LaunchWords& words) {
  const auto is_file = [](const std::string& word) {
    const std::string name = program_name(word);
    return name.ends_with(".sh") || name.ends_with(".bash") || name.ends_with(".slurm");
  };
  const bool is_shell = is_one_of(program_name(words.front()), {"bash", "sh"});
  const auto file = std::find_if(words.begin(), words.end(), is_file);
  if (file != words.end()) return *file;
  return is_shell && words.size() > 1 && !words[1].starts_with("-") ? words[1] : "";
}

}  // namespace

bool is_swift_launch(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].find("_megatron/") != std::string::npos && words[i].ends_with(".py")) return true;
    if (program_name(words[i]) == "megatron" && i + 1 < words.size() &&
        is_one_of(words[i + 1], {"sft", "pt", "rlhf"}))
      return true;
  }
  return false;
}

bool is_accelerate(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return program_name(word) == "accelerate"; });
}

int64_t processes_launched(const std::vector<std::string>& words, const SlurmCounts& job) {
  const ProcessLaunch launch = launch_in(words);
  return launch.name.empty() || starts_script(launch.started) ? 0 : processes_of(launch, job);
}

std::string script_launched(const std::vector<std::string>& words, const SlurmCounts& job) {
  const ProcessLaunch launch = launch_in(words);
  const bool counts = !launch.name.empty() && processes_of(launch, job) > 0;
  return counts && starts_script(launch.started) ? script_in(launch.started) : "";
}

std::string script_started(const std::vector<std::string>& words) {
  for (auto begin = words.begin(); begin != words.end();) {
    const auto end = std::find(begin, words.end(), "");
    const LaunchWords command(begin, end);
    const ProcessLaunch launch = launch_in(command);
    const LaunchWords& started = launch.name.empty() ? command : launch.started;
    if (starts_script(started))
      if (const std::string script = script_in(started); !script.empty()) return script;
    begin = end == words.end() ? end : std::next(end);
  }
  return "";
}

}  // namespace sgdsim
