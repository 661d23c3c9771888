// From a cluster to the machine that NCCL's model sees, and its table to print.
#include "app/nccl_answer.h"

#include <array>

#include "app/table.h"
#include "models/collective/nccl_graph.h"
#include "models/collective/nccl_tuning.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr std::array<std::string_view, 5> algorithm_names = {"Tree", "Ring", "NVLS", "NVLSTree",
                                                             "PAT"};
constexpr std::array<std::string_view, 3> protocol_names = {"LL", "LL128", "Simple"};

template <class Enum>
Enum one_of(const std::string& value, const std::vector<std::string>& names,
            const std::string& where) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == value) return static_cast<Enum>(i);
  throw InputError(where, unknown_name("value", value, names));
}

// The rate of one pair, in bytes per second; a free link counts as very fast.
Bandwidth rate_of(const PairCost& cost) {
  return Bandwidth::Bps(1e12 / std::max(cost.per_byte.ps(), 1e-3));
}

NcclMachine machine_of(const CollectiveArguments& arguments, const Cluster& cluster) {
  NcclMachine machine;
  const int workers = cluster.network.workers();
  const int per_node = std::min(cluster.workers_per_node, workers);
  machine.ranks = workers;
  machine.nodes = (workers + per_node - 1) / per_node;
  int nics = per_node;
  for (const std::string& option : arguments.options) {
    const std::size_t equals = option.find('=');
    const std::string key = option.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
    const std::string where = "--option " + key;
    if (key == "generation")
      machine.generation =
          one_of<GpuGeneration>(value, {"volta", "ampere", "hopper", "blackwell"}, where);
    else if (key == "gpu_link")
      machine.link = one_of<IntraLink>(value, {"nvlink", "pci"}, where);
    else if (key == "cpu")
      machine.cpu = one_of<CpuVendor>(value, {"intel", "amd", "arm"}, where);
    else if (key == "nvls")
      machine.nvls = one_of<int>(value, {"off", "on"}, where) == 1;
    else if (key == "nics")
      nics = one_of<int>(value, {"0", "1", "2", "3", "4", "5", "6", "7", "8"}, where);
    else
      throw InputError("--option", unknown_name("option", key,
                                                {"generation", "gpu_link", "cpu", "nvls", "nics"}));
  }
  NcclWires wires;
  wires.nics = nics;
  if (per_node > 1) wires.gpu = rate_of(cluster.network.between(0, 1));
  if (workers > per_node) wires.nic = rate_of(cluster.network.between(0, per_node));
  return nccl_guess_graphs(machine, wires);
}

}  // namespace

void answer_like_nccl(const CollectiveArguments& arguments, const Cluster& cluster,
                      const std::vector<Bytes>& messages, Streams streams) {
  if (messages.size() != 1)
    throw InputError("--bytes", "NCCL's model answers for one message at a time");
  if (cluster.network.workers() == 1)
    throw InputError("--ranks", "NCCL's model needs two ranks or more");
  const Operation operation = operation_named(arguments.operation, "--op");
  const NcclTable table = nccl_tuning(machine_of(arguments, cluster), operation, messages.front());
  const NcclRow& choice = table.choice();
  auto name = [](const NcclRow& row) {
    return std::string(algorithm_names[static_cast<std::size_t>(row.algorithm)]) + "/" +
           std::string(protocol_names[static_cast<std::size_t>(row.protocol)]);
  };
  const double algbw_GBps = static_cast<double>(messages.front().count()) / choice.time.s() / 1e9;
  if (arguments.format == "json") {
    Json json = {{"schema", "sgdsim/collective/1"},
                 {"algorithm", "nccl"},
                 {"operation", arguments.operation},
                 {"ranks", cluster.network.workers()},
                 {"size_B", messages.front().count()},
                 {"time_ps", choice.time.ps()},
                 {"time_us", choice.time.us()},
                 {"algbw_GBps", algbw_GBps},
                 {"busbw_GBps", algbw_GBps * bus_factor(operation, cluster.network.workers())},
                 {"fidelity", "closed_form"},
                 {"path", "formula"},
                 {"nccl_choice", name(choice)},
                 {"candidates", Json::array()}};
    for (const NcclRow& row : table.rows) {
      Json line = {{"algorithm", name(row)}};
      if (row.usable)
        line["time_us"] = row.time.us();
      else
        line["why_not"] = row.reason;
      json["candidates"].push_back(line);
    }
    streams.out << json.dump(2) << '\n';
    return;
  }
  streams.out << "NCCL's tuning model chooses " << name(choice) << " for " << arguments.operation
              << " of " << to_text(messages.front()) << " among " << cluster.network.workers()
              << " ranks: " << short_duration(choice.time.us()) << ", " << rounded(algbw_GBps)
              << " GB/s\n\n";
  Table rows({"pair", "latency", "bandwidth", "time", ""});
  for (const NcclRow& row : table.rows)
    rows.add({name(row), row.usable ? short_duration(row.latency.us()) : "-",
              row.usable ? rounded(row.bandwidth.GBps()) + " GB/s" : "-",
              row.usable ? short_duration(row.time.us()) : "-", row.usable ? "" : row.reason});
  rows.print(streams.out);
}

}  // namespace sgdsim
