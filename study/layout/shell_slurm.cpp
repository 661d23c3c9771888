// Options as sbatch reads them, and variables as its manual says that they follow.
#include "study/layout/shell_slurm.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

constexpr std::string_view directive = "#SBATCH";
constexpr int64_t most_of_slurm = 1'000'000;  // nodes, tasks or GPUs

struct SlurmOption {
  std::string value;
  int line = 0;
};

// "-N" is "--nodes".
std::string long_name(const std::string& name) {
  using Short = std::pair<const char*, const char*>;
  for (const auto& [letter, whole] :
       {Short{"-N", "nodes"}, Short{"-n", "ntasks"}, Short{"-G", "gpus"},
        Short{"-c", "cpus-per-task"}, Short{"--tasks-per-node", "ntasks-per-node"}})
    if (name == letter) return whole;
  return name.starts_with("--") ? name.substr(2) : "";
}

// Nothing: a range, as "2-4", or another text.
std::optional<int64_t> slurm_number(const std::string& text) {
  const auto number = number_of_text(text);
  return number && *number > 0 && *number <= most_of_slurm ? number : std::nullopt;
}

// "8" of "h100:8", and 1 of "h100".
std::optional<int64_t> typed_number(const std::string& text) {
  const std::string bare = text.substr(0, text.find('('));
  const std::size_t colon = bare.rfind(':');
  if (const auto number = slurm_number(bare.substr(colon == std::string::npos ? 0 : colon + 1)))
    return number;
  const bool is_type = colon == std::string::npos && bare.find_first_of("-,=") == std::string::npos;
  return is_type && !bare.empty() ? std::optional<int64_t>(1) : std::nullopt;
}

// Of "gpu:h100:8,nvme:1"; nothing where no GPU is among them.
std::optional<int64_t> gpus_of_resources(const std::string& text) {
  std::istringstream all(text);
  int64_t gpus = 0;
  for (std::string one; std::getline(all, one, ',');)
    if (one == "gpu")
      ++gpus;
    else if (one.starts_with("gpu:"))
      gpus += typed_number(one.substr(4)).value_or(0);
  return gpus > 0 ? std::optional(gpus) : std::nullopt;
}

// "#SBATCH hetjob", behind which options are those of other nodes.
bool is_of_next_part(const std::string& line) {
  return line.starts_with(directive) &&
         (line.find(" hetjob") != std::string::npos || line.find(" packjob") != std::string::npos);
}

using Product = std::optional<int64_t>;

Product times(const Product& a, const Product& b) { return a && b ? Product(*a * *b) : Product(); }
Product parts(const Product& whole, const Product& by) {
  return whole && by && *whole % *by == 0 ? Product(*whole / *by) : Product();
}
Product first_of(std::initializer_list<Product> all) {
  const auto known =
      std::find_if(all.begin(), all.end(), [](const auto& one) { return one.has_value(); });
  return known == all.end() ? Product() : *known;
}

class SlurmHeader {
 public:
  SlurmHeader(const std::string& text, int line) : line_(line - 1) {
    std::istringstream lines(text);
    for (std::string one; std::getline(lines, one);) {
      ++line_;
      if (is_of_next_part(one)) break;
      if (one.starts_with(directive))
        take_options(one.substr(directive.size()));
      else if (const std::string bare = trimmed(one); !bare.empty() && bare.front() != '#')
        break;
    }
  }
  std::map<std::string, ShellWord> variables() {
    if (!is_there_) return {};
    // Of every job, whose number nobody knows before.
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) set(name, "1", 0);
    for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) set(name, "nodes", 0);
    for (const char* name : {"SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID"}) set(name, "0", 0);
    copy("ntasks-per-node", "SLURM_NTASKS_PER_NODE");
    copy("gpus-per-node", "SLURM_GPUS_PER_NODE");
    copy("gpus-per-task", "SLURM_GPUS_PER_TASK");
    copy("gpus", "SLURM_GPUS");
    copy("cpus-per-task", "SLURM_CPUS_PER_TASK");
    const Product of_node = number("ntasks-per-node");
    const Product nodes = first_of({number("nodes"), parts(number("ntasks"), of_node)});
    for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) count(name, nodes, "nodes");
    const Product gpus = gpus_of_node(nodes, of_node);
    count("SLURM_GPUS_ON_NODE", gpus, "");
    const Product tasks = first_of({number("ntasks"), times(nodes, of_node),
                                    times(number("ntasks-per-gpu"), times(nodes, gpus))});
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"}) count(name, tasks, "ntasks");
    return std::move(all_);
  }

 private:
  // "--nodes=16 -n 4 # a comment".
  void take_options(const std::string& text) {
    if (text.empty() || (text.front() != ' ' && text.front() != '\t')) return;
    is_there_ = true;
    std::istringstream stream(without_comment(text));
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(unquoted(word));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      const bool is_long = word.starts_with("--");
      const std::size_t end = is_long ? word.find('=') : 2;
      const std::string name = long_name(word.substr(0, end));
      const bool has_value = end < word.size();
      if (!name.empty() && has_value)
        options_[name] = {unquoted(word.substr(end + (is_long ? 1 : 0))), line_};
      else if (!name.empty() && i + 1 < words.size() && !words[i + 1].starts_with("-"))
        options_[name] = {words[++i], line_};
    }
  }
  // Nothing where it is not said, or no number.
  Product number(const std::string& option) const {
    const auto found = options_.find(option);
    return found == options_.end() ? Product() : slurm_number(found->second.value);
  }
  Product gpus_of_node(const Product& nodes, const Product& tasks_of_node) const {
    const auto typed = [&](const char* option) {
      const auto found = options_.find(option);
      return found == options_.end() ? Product() : typed_number(found->second.value);
    };
    const auto resources = options_.find("gres");
    const Product listed =
        resources == options_.end() ? Product() : gpus_of_resources(resources->second.value);
    return first_of({typed("gpus-per-node"), listed, parts(typed("gpus"), nodes),
                     times(typed("gpus-per-task"), tasks_of_node)});
  }
  void set(const std::string& name, const std::string& value, int line) {
    all_[name] = {value, line, false};
  }
  void copy(const std::string& option, const std::string& name) {
    if (const auto found = options_.find(option); found != options_.end())
      set(name, found->second.value, found->second.line);
  }
  // Where its option says a range, Slurm sets it to what only the job knows.
  void count(const std::string& name, const Product& number, const std::string& option) {
    const auto said = options_.find(option);
    const int line = said == options_.end() ? 0 : said->second.line;
    if (number) return set(name, std::to_string(*number), line);
    if (said != options_.end()) all_[name] = {"$" + name, line, true, false, Unsure::by_slurm};
  }

  int line_;  // of what is read now
  bool is_there_ = false;
  std::map<std::string, SlurmOption> options_;
  std::map<std::string, ShellWord> all_;
};

}  // namespace

std::map<std::string, ShellWord> slurm_variables(const std::string& text, int line) {
  return SlurmHeader(text, line).variables();
}

}  // namespace sgdsim
