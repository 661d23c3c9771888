// What one of several launchers says, each by its own names.
#include "study/layout/foreign_gpus.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/training/layout.h"
#include "sim/core/product.h"
#include "study/layout/foreign_launch.h"
#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

using CountNames = std::vector<std::string>;

std::string said_name(const FlatSettings& settings, const CountNames& names) {
  const auto is_there = [&](const std::string& name) { return settings.has_any({name}); };
  const auto found = std::find_if(names.begin(), names.end(), is_there);
  return found == names.end() ? names.front() : *found;
}

// "$NODES" of the environment, or what a program prints.
bool is_asked(const FlatSettings& settings, const CountNames& names) {
  const std::string name = said_name(settings, names);
  return settings.doubt_on(name).empty() &&
         settings.find(name).value_or("").find_first_of("$`") == 0;
}

// "4:4" of torchrun, which may get from so many to so many nodes.
std::optional<std::string> both_ends(const std::string& value) {
  const std::size_t colon = value.find(':');
  const std::string least = value.substr(0, colon);
  return colon != std::string::npos && value.substr(colon + 1) == least ? std::optional(least)
                                                                        : std::nullopt;
}

[[noreturn]] void refuse_count(const FlatSettings& settings, const std::string& name,
                               const std::string& why) {
  settings.fail(name, why + ", so that the number of GPUs is not known; give --gpus");
}

bool is_count_of_others(const std::string& value) {
  for (const char* word : {"auto", "gpu", "cuda", "-1"})
    if (value == word) return true;
  return value.find(':') != std::string::npos || value.find_first_of("$`") == 0;
}

// Of a number, or of a list of GPUs, "[0, 1, 2]" or "0,1,2".
int64_t count_said(const FlatSettings& settings, const CountNames& names) {
  const std::string name = said_name(settings, names);
  if (const std::string doubt = settings.doubt_on(name); !doubt.empty())
    refuse_count(settings, name, doubt);
  const auto value = settings.find_any(names);
  if (!value) return 1;
  if (const auto same = both_ends(*value)) return settings.whole(name, *same, 1, most_gpus);
  if (is_count_of_others(*value)) refuse_count(settings, name, "is " + value->substr(0, 60));
  const bool is_list = value->starts_with("[") || value->find(',') != std::string::npos;
  if (!is_list) return settings.whole(name, *value, 1, most_gpus);
  const std::size_t gpus = settings.list(name).value_or(CountNames{}).size();
  return settings.whole(name, std::to_string(gpus), 1, most_gpus);
}

// Nothing where no node is said to have any.
std::optional<int64_t> gpus_of_launcher(const FlatSettings& settings) {
  std::vector<std::pair<CountNames, CountNames>> all = {
      {{"nnodes", "num-nodes"}, {"nproc-per-node", "num-gpus"}},
      {{"actor-num-nodes"}, {"actor-num-gpus-per-node"}}};
  if (is_swift_launch(settings.words())) all.push_back({{"NNODES"}, {"NPROC_PER_NODE"}});
  for (const auto& [nodes, per_node] : all)
    if (settings.has_any(per_node))
      return is_asked(settings, nodes) || is_asked(settings, per_node)
                 ? 0
                 : gpus_of_nodes(settings, nodes, per_node);
  const CountNames in_all = {"num-processes"};
  if (!is_accelerate(settings.words()) || !settings.has_any(in_all)) return std::nullopt;
  return is_asked(settings, in_all) ? 0 : count_said(settings, in_all);
}

// 0: not known.
int64_t count_of_job(const FlatSettings& settings, const char* name) {
  if (!settings.is_batch() || !settings.doubt_on(name).empty()) return 0;
  const int64_t number = number_of_text(settings.find(name).value_or("")).value_or(0);
  return std::clamp<int64_t>(number, 0, most_gpus);
}

SlurmCounts job_of(const FlatSettings& settings) {
  return {.nodes = count_of_job(settings, "SLURM_NNODES"),
          .tasks = count_of_job(settings, "SLURM_NTASKS"),
          .tasks_of_node = count_of_job(settings, "SLURM_NTASKS_PER_NODE")};
}

}  // namespace

int64_t gpus_of_nodes(const FlatSettings& settings, const CountNames& nodes,
                      const CountNames& per_node) {
  const int64_t nodes_said = count_said(settings, nodes);
  const int64_t of_node = count_said(settings, per_node);
  const auto gpus = product_up_to(most_gpus, {nodes_said, of_node});
  if (!gpus)
    settings.fail(said_name(settings, nodes),
                  std::to_string(nodes_said) + " nodes of " + std::to_string(of_node) +
                      " GPUs are more than the " + std::to_string(most_gpus) +
                      " GPUs that are modelled");
  return *gpus;
}

int64_t gpus_of_launch(const FlatSettings& settings) {
  if (const auto gpus = gpus_of_launcher(settings)) return *gpus;
  return processes_launched(settings.words(), job_of(settings));
}

int64_t gpus_of_job(const FlatSettings& settings) {
  const int64_t of_node = count_of_job(settings, "SLURM_GPUS_ON_NODE");
  return product_up_to(most_gpus, {job_of(settings).nodes, of_node}).value_or(0);
}

std::string gpus_unsaid(const FlatSettings& settings) {
  if (settings.kind() != FlatSettings::Kind::flags) return "the file names none";
  const std::string other = script_launched(settings.words(), job_of(settings));
  if (other.empty()) return "the script names none";
  return "each process of its launcher runs " + other +
         ", which is not given and may start several";
}

}  // namespace sgdsim
