// From a cluster to the machine that NCCL's model sees, and its table to print.
#include "study/collective/nccl_answer.h"

#include <algorithm>
#include <array>

#include "models/collective/nccl_box.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/collective/ranges.h"
#include "study/table.h"

namespace sgdsim {
namespace {

template <class Enum>
Enum value_named(const std::string& value, const std::string& where) {
  return named_in(names_of(Enum{}), "value", value, where);
}

void set_machine_option(NcclBox& box, const std::string& option) {
  NcclMachine& machine = box.machine;
  const std::string key = option_key(option);
  const std::string value = option_value(option);
  const std::string where = "--option " + key;
  if (key == "generation")
    machine.generation = value_named<GpuGeneration>(value, where);
  else if (key == "gpu_link")
    machine.link = value_named<IntraLink>(value, where);
  else if (key == "cpu")
    machine.cpu = value_named<CpuVendor>(value, where);
  else if (key == "nvls")
    box.nvls = value_named<Switched>(value, where) == Switched::on;
  else if (key == "collnet")
    machine.collnet = value_named<Switched>(value, where) == Switched::on;
  else if (key == "nics")
    box.wires.nics = static_cast<int>(parse_whole(value, 1, most_nccl_nics, where));
  else
    throw InputError("--option", unknown_name("option", key, names_of(nccl_option_keys())));
}

}  // namespace

std::string nccl_note(const Cluster& cluster, const std::vector<std::string>& options) {
  const bool is_said = std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return option_key(option) == "generation";
  });
  return is_said ? "" : nccl_note(cluster);
}

Cluster cluster_among(const Cluster& cluster, int ranks) {
  const int workers = cluster.network.workers();
  if (ranks == workers) return cluster;
  Cluster other = cluster;
  if (ranks > workers) {
    const int more = ranks - workers;
    const int per_node = cluster.workers_per_node;
    other = cluster.with_more((more + per_node - 1) / per_node);
    other.nccl = cluster.nccl;
    other.notes.push_back(cluster.name + " has " + std::to_string(workers) + " workers; " +
                          std::to_string(ranks) +
                          " are taken to be on more nodes of the same kind");
  }
  other.network = other.network.first(ranks);
  other.grid.clear();
  return other;
}

NcclMachine nccl_machine_of(const Cluster& cluster, const std::vector<std::string>& options) {
  NcclBox box = nccl_box_of(cluster);
  for (const std::string& option : options) set_machine_option(box, option);
  return nccl_communicator(box, cluster.network.workers(), box.per_node);
}

namespace {

void check_messages(const Cluster& cluster, const std::vector<Bytes>& messages) {
  if (std::any_of(messages.begin(), messages.end(),
                  [](Bytes message) { return message.count() == 0; }))
    throw InputError("--bytes", "NCCL's model needs a message of 1 B or more");
  if (cluster.network.workers() == 1)
    throw InputError("--ranks", "NCCL's model needs two ranks or more");
}

NcclTable table_of(const CollectiveArguments& arguments, const Cluster& cluster, Bytes message) {
  std::vector<std::string> options = arguments.options;
  if (is_nccl_simulated(arguments))
    std::erase_if(options, [](const std::string& option) { return !is_nccl_option(option); });
  return nccl_tuning(nccl_machine_of(cluster, options),
                     operation_named(arguments.operation, "--op"), message);
}

void check_no_choices(const CollectiveArguments& arguments) {
  refuse_idle({{"--block", !arguments.block.empty()},
               {"--root", !arguments.root.empty()},
               {"--path", !arguments.path.empty()},
               {"--start", !arguments.starts.empty()},
               {"--jitter", !arguments.jitter.empty()},
               {"--seed", !arguments.seed.empty()},
               {"--max-events", !arguments.limits.events.empty()},
               {"--max-sim-time", !arguments.limits.sim_time.empty()},
               {"--transport", !arguments.transport.empty()},
               {"--traffic", !arguments.traffic.empty()}},
              "on NCCL's model, a formula; say --fidelity message, flow or packet");
}

// What a reader of a time at fitted constants must know.
std::vector<std::string> warnings_about(const CollectiveArguments& arguments,
                                        const Cluster& cluster,
                                        const std::vector<Bytes>& messages) {
  std::vector<std::string> warnings;
  if (std::string note = nccl_note(cluster, arguments.options); !note.empty())
    warnings.push_back(std::move(note));
  if (!cluster.nccl) return warnings;
  warnings.insert(warnings.end(), cluster.notes.begin(), cluster.notes.end());
  const std::optional<NcclSizes>& sizes = cluster.nccl->sizes;
  const auto beyond = std::find_if(messages.begin(), messages.end(), [&](Bytes size) {
    return sizes && (size < sizes->from || size > sizes->to);
  });
  if (beyond != messages.end())
    warnings.push_back("NCCL's constants of " + cluster.name + " were fitted to messages of " +
                       to_text(sizes->from) + " to " + to_text(sizes->to) + ", and " +
                       to_text(*beyond) + " is beyond: an extrapolation");
  return warnings;
}

}  // namespace

const std::vector<OptionKey>& nccl_option_keys() {
  static const std::vector<OptionKey> keys = {
      {"generation", "volta|ampere|hopper|blackwell",
       "nccl: the GPUs; default: those of the cluster, or hopper"},
      {"gpu_link", "nvlink|pci", "nccl: what joins the GPUs of a node; default nvlink"},
      {"nvls", "off|on",
       "nccl: NVLink switches that reduce; default: on from hopper on where GPUs are at switches"},
      {"collnet", "off|on", "nccl: network switches that reduce (SHARP)"},
      {"nics", "N", "nccl: network cards per node; default: the cluster's"},
      {"cpu", "intel|amd|arm", "nccl: whose hosts; default intel"}};
  return keys;
}

bool is_nccl_option(const std::string& option) {
  const std::vector<OptionKey>& keys = nccl_option_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const OptionKey& key) { return key.name == option_key(option); });
}

NcclAnswer answer_like_nccl(const CollectiveArguments& arguments, const Cluster& cluster,
                            const std::vector<Bytes>& messages) {
  check_no_choices(arguments);
  check_messages(cluster, messages);
  const int ranks = cluster.network.workers();
  const Operation operation = operation_named(arguments.operation, "--op");
  NcclAnswer nccl;
  CollectiveAnswer& answer = nccl.answer;
  answer.algorithm = "nccl";
  double total_B = 0;
  for (const Bytes message : messages) {
    answer.time += table_of(arguments, cluster, message).choice().time;
    total_B += static_cast<double>(message.count());
  }
  nccl.table = table_of(arguments, cluster, *std::max_element(messages.begin(), messages.end()));
  answer.algbw_GBps = total_B / answer.time.s() / 1e9;
  answer.busbw_GBps = answer.algbw_GBps * bus_factor(operation, ranks);
  answer.fidelity = Fidelity::closed_form;
  answer.path = "formula";
  answer.warnings = warnings_about(arguments, cluster, messages);
  if (messages.size() > 1) return nccl;
  for (const NcclRow& row : nccl.table.rows)
    answer.candidates.push_back({pair_name(row),
                                 row.usable ? std::optional(row.time) : std::nullopt,
                                 row.usable ? "" : row.reason});
  return nccl;
}

SimulatedForNccl simulated_for_nccl(const CollectiveArguments& arguments, const Cluster& cluster,
                                    const std::vector<Bytes>& messages) {
  check_messages(cluster, messages);
  const Bytes largest = *std::max_element(messages.begin(), messages.end());
  const NcclRow choice = table_of(arguments, cluster, largest).choice();
  const Operation operation = operation_named(arguments.operation, "--op");
  const NcclStandIn one = nccl_stand_in(choice.algorithm, operation, has_rails(cluster));
  SimulatedForNccl stand_in;
  stand_in.algorithm = one.algorithm->name;
  stand_in.latency = choice.latency;
  if (one.has_trees_across) stand_in.option = trees_across;
  stand_in.warnings = warnings_about(arguments, cluster, messages);
  stand_in.warnings.push_back(
      "NCCL's model is a formula, without messages, by which " + pair_name(choice) + " takes " +
      short_duration(choice.time.us(), 4) + (messages.size() > 1 ? " for the largest" : "") + ": " +
      stand_in.algorithm + (stand_in.option.empty() ? "" : " with " + stand_in.option) +
      " is simulated");
  return stand_in;
}

std::string pair_name(const NcclRow& row) {
  return std::string(nccl_algorithm_names[static_cast<std::size_t>(row.algorithm)]) + "/" +
         std::string(nccl_protocol_names[static_cast<std::size_t>(row.protocol)]);
}

void print_nccl_table(std::ostream& out, const NcclTable& table) {
  Table rows({"pair", "latency", "bandwidth", "time", ""});
  for (const NcclRow& row : table.rows)
    rows.add({pair_name(row), row.usable ? short_duration(row.latency.us()) : "-",
              row.usable ? rounded(row.bandwidth.GBps()) + " GB/s" : "-",
              row.usable ? short_duration(row.time.us()) : "-", row.usable ? "" : row.reason});
  rows.print(out);
}

}  // namespace sgdsim
