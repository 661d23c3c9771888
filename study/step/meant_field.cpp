// One table for options and settings.
#include "study/step/meant_field.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sgdsim {

std::string field_meant_by(std::string word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 28> fields{{
      {"strategy", "strategy"},
      {"bucket", "strategy.bucket"},
      {"bucket_size", "strategy.bucket"},
      {"compression", "compression"},
      {"density", "compression.density"},
      {"synchronization", "synchronization"},
      {"collective", "collective"},
      {"algorithm", "collective"},
      {"batch", "trace.batch"},
      {"batch_size", "trace.batch"},
      {"nodes", "cluster.nodes"},
      {"workers", "cluster.nodes"},
      {"gpus_per_node", "cluster.gpus_per_node"},
      {"nics_per_node", "cluster.nics_per_node"},
      {"nic", "cluster.nic"},
      {"network", "cluster.network"},
      {"shape", "cluster.shape"},
      {"bandwidth", "cluster.nic.bandwidth"},
      {"cluster.bandwidth", "cluster.nic.bandwidth"},
      {"latency", "cluster.nic.latency"},
      {"cluster.latency", "cluster.nic.latency"},
      {"trace", "trace"},
      {"channels", "channels"},
      {"interference", "interference"},
      {"iterations", "iterations"},
      {"warm_up", "warm_up"},
      {"accumulation", "accumulation"},
      {"seed", "seed"},
  }};
  std::replace(word.begin(), word.end(), '-', '_');
  for (const auto& [name, field] : fields)
    if (name == word) return std::string(field);
  return "";
}

std::string with_meant_field(std::string sentence, const std::string& field) {
  const std::string meant = field_meant_by(field);
  const std::string unknown = "unknown field \"" + field.substr(field.rfind('.') + 1) + "\"";
  const std::size_t place = sentence.find(unknown);
  if (meant.empty() || meant == field || place == std::string::npos) return sentence;
  return sentence.insert(place + unknown.size(), " (did you mean " + meant + "?)");
}

}  // namespace sgdsim
