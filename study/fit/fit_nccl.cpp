// From logs and a cluster to constants.
#include "study/fit/fit_nccl.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "models/collective/nccl_box.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/collective/nccl_answer.h"
#include "study/fit/fit_checks.h"
#include "study/fit/fit_held_out.h"
#include "study/fit/fit_report.h"
#include "study/fit/fit_series.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/table.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_rows = 2000;

// ---- the machine

// What of the fit of links has no meaning here.
void refuse_options_of_links(const FitArguments& arguments) {
  const std::set<std::string> refused{"--gamma",  "--start",     "--segments", "--into",
                                      "--inside", "--link",      "--case",     "--crossings",
                                      "--report", "--algorithm", "--network",  "--rendezvous"};
  refuse_given(arguments, refused);
  if (arguments.cluster.empty())
    throw InputError("--from-collective",
                     "NCCL's model needs the machine that was measured: --cluster with a file or a "
                     "name of `sgdsim list clusters`, and --set for what differs, as in --cluster "
                     "dgx_a100_2 --set nics_per_node=4");
}

bool has_option(const std::vector<std::string>& options, const std::string& key) {
  return std::any_of(options.begin(), options.end(),
                     [&](const std::string& one) { return option_key(one) == key; });
}

// The options of --option, and the generation that the logs name.
std::vector<std::string> nccl_options_of(const FitArguments& arguments, const Cluster& cluster,
                                         const std::string& device, NcclLogFit& fit) {
  std::vector<std::string> options = arguments.options;
  for (const std::string& option : options)
    if (option.find('=') == std::string::npos)
      throw InputError("--option", "expected key=value, got \"" + option + "\"");
  const bool is_said = cluster.nccl && cluster.nccl->generation;
  if (has_option(options, "generation") || is_said) return options;
  if (const auto generation = generation_of(device)) {
    options.push_back("generation=" + std::string(name_in(gpu_generations, *generation)));
    return options;
  }
  fit.notes.emplace_back(
      "the logs do not say what the GPUs are; taken: generation=hopper (--option "
      "generation=volta, ampere, hopper or blackwell)");
  return options;
}

// As the cluster's file will say it.
NcclConstants constants_of(const NcclMachine& machine, const std::vector<std::string>& options,
                           const Cluster& cluster, const NcclLogFit& fit) {
  NcclConstants constants;
  constants.generation = machine.generation;
  constants.gpu_link = machine.link;
  // Where switches could: what is not said is on then.
  if (machine.nvls || machine.generation >= GpuGeneration::hopper)
    constants.nvls = machine.nvls ? Switched::on : Switched::off;
  if (machine.collnet) constants.collnet = Switched::on;
  constants.cpu = machine.cpu;
  if (cluster.nccl) constants.nics = cluster.nccl->nics;
  for (const std::string& option : options)
    if (option_key(option) == "nics") constants.nics = std::stoi(option_value(option));
  constants.pairs = fit.fit.pairs;
  constants.sizes = fit.sizes;
  return constants;
}

// ---- rows

// Why NCCL's model has nothing to say of a series; empty if it has.
std::string why_not(const Series& series, const Cluster& cluster) {
  const auto& names = operation_names();
  if (series.operation == "alltoall" ||
      std::find(names.begin(), names.end(), series.operation) == names.end())
    return "NCCL does not tune it";
  if (!series.algorithm.empty() && series.algorithm != "nccl")
    return "it is not of NCCL, but of " + series.algorithm;
  if (series.ranks < 2) return "one rank has nobody to talk to";
  const int per_node = cluster.workers_per_node;
  if (series.ranks > per_node && series.ranks % per_node != 0)
    return std::to_string(series.ranks) + " ranks do not fill nodes of " +
           std::to_string(per_node) + " GPUs, as " + cluster.name + " has";
  const int nodes = (series.ranks + per_node - 1) / per_node;
  if (series.nodes > 0 && series.nodes != nodes)
    return std::to_string(series.ranks) + " ranks were on " + std::to_string(series.nodes) +
           (series.nodes == 1 ? " node" : " nodes") + ", and fill " + std::to_string(nodes) +
           " of " + cluster.name + ", which has " + std::to_string(per_node) +
           " GPUs a node (--set gpus_per_node=N)";
  if (series.ranks > cluster.network.workers() && !cluster.with_more)
    return "more ranks than " + cluster.name +
           " has, and it cannot be made larger; name one that has as many";
  return "";
}

// What a file says that NCCL was told to take, where NCCL's model has it.
template <class Enum, std::size_t count>
std::optional<Enum> named_in_nccl(const std::array<std::string_view, count>& names,
                                  const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}
std::optional<NcclAlgorithm> algorithm_of(const NcclSetting& setting) {
  return named_in_nccl<NcclAlgorithm>(nccl_algorithm_names, setting.algorithm);
}
std::optional<NcclProtocol> protocol_of(const NcclSetting& setting) {
  return named_in_nccl<NcclProtocol>(nccl_protocol_names, setting.protocol);
}

std::string why_not(const NcclSetting& setting) {
  if (!setting.algorithm.empty() && !algorithm_of(setting))
    return "NCCL's model here has no " + setting.algorithm;
  if (!setting.protocol.empty() && !protocol_of(setting))
    return "NCCL's model here has no " + setting.protocol;
  return setting.channels > 0 ? "its channels were set, which NCCL's model chooses" : "";
}

NcclLog log_of(const Series& series, const Cluster& cluster,
               const std::vector<std::string>& options) {
  NcclLog log;
  log.series = series;
  const NcclMachine machine = nccl_machine_of(cluster_among(cluster, series.ranks), options);
  log.nodes = machine.nodes;
  for (const MeasuredPoint& point : series.points) {
    NcclFitRow row{machine,
                   operation_named(series.operation, "--operation"),
                   point.size,
                   static_cast<double>(point.time.ps()),
                   weight_of_row(point.error),
                   algorithm_of(series.nccl),
                   protocol_of(series.nccl)};
    row.machine.pairs = {};
    if (has_pair(row)) log.rows.push_back(row);
  }
  log.is_held.assign(log.rows.size(), false);
  return log;
}

void check_alike(const std::vector<NcclLog>& logs) {
  std::vector<Series> all;
  for (const NcclLog& log : logs) all.push_back(log.series);
  for (const Series& series : all) {
    if (series.group != all.front().group)
      throw InputError("--group", "several groups of ranks were measured: " + kinds_of(all));
    if (series.type != all.front().type)
      throw InputError("--type", "several data types were measured: " + kinds_of(all));
    if (placement_kind(series) != placement_kind(all.front()))
      throw InputError("--placement", "ranks were placed in several ways: " + kinds_of(all));
  }
}

std::vector<NcclLog> logs_of(const std::vector<Series>& all, const Cluster& cluster,
                             const std::vector<std::string>& options, NcclLogFit& fit) {
  std::vector<NcclLog> logs;
  std::string last;
  for (const Series& series : all) {
    last = why_not(series, cluster);
    if (last.empty()) last = why_not(series.nccl);
    if (last.empty()) {
      logs.push_back(log_of(series, cluster, options));
      if (!logs.back().rows.empty()) continue;
      logs.pop_back();
      last = "NCCL's model has no such pair there";
    }
    fit.notes.push_back("left out: " + kinds_of({series}) + ": " + last);
  }
  if (logs.empty())
    throw InputError("--from-collective",
                     "no series is left to fit: " + kinds_of({all.back()}) + ": " + last);
  check_alike(logs);
  return logs;
}

// Very long logs say no more than every k-th of their rows.
void thin(std::vector<NcclFitRow>& rows, std::vector<std::string>& notes) {
  if (rows.size() <= most_rows) return;
  const std::size_t each = (rows.size() + most_rows - 1) / most_rows;
  notes.push_back("of " + std::to_string(rows.size()) + " rows one in " + std::to_string(each) +
                  " is fitted");
  std::vector<NcclFitRow> kept;
  for (std::size_t i = 0; i < rows.size(); i += each) kept.push_back(rows[i]);
  rows = std::move(kept);
}

std::vector<NcclFitRow> rows_of(const std::vector<NcclLog>& logs, bool held) {
  std::vector<NcclFitRow> rows;
  for (const NcclLog& log : logs)
    for (std::size_t i = 0; i < log.rows.size(); ++i)
      if (log.is_held[i] == held) rows.push_back(log.rows[i]);
  return rows;
}

// ---- fits and their assessment

std::vector<double> errors_at(const NcclFit& fit, const std::vector<NcclFitRow>& rows) {
  std::vector<double> errors;
  for (const NcclFitRow& row : rows)
    errors.push_back(std::abs(static_cast<double>(fit.predict(row).time.ps()) / row.time_ps - 1));
  return errors;
}

std::vector<RanksOf> counts_in(const std::vector<NcclLog>& logs) {
  std::vector<RanksOf> ranks;
  for (const NcclLog& log : logs) ranks.push_back({log.series.ranks, log.nodes});
  return ranks;
}

void mark_held(const HeldRanks& held, const std::string& holdout, NcclLog& log) {
  const bool by_ranks = holdout.starts_with("ranks");
  for (std::size_t i = 0; i < log.is_held.size(); ++i)
    log.is_held[i] = by_ranks ? held.holds(log.series.ranks)
                              : holdout == "sizes" && i % 2 == 1 && i + 1 < log.is_held.size();
}

std::optional<NcclHeldOut> hold_out(const FitArguments& arguments, NcclLogFit& fit) {
  const HeldRanks held = held_ranks(arguments.holdout, counts_in(fit.logs), fit.notes);
  for (NcclLog& log : fit.logs) mark_held(held, arguments.holdout, log);
  std::vector<NcclFitRow> kept = rows_of(fit.logs, false);
  const std::vector<NcclFitRow> others = rows_of(fit.logs, true);
  if (others.empty() || kept.empty()) return std::nullopt;
  std::vector<std::string> silent;
  thin(kept, silent);
  NcclHeldOut out;
  out.by = arguments.holdout == "sizes" ? "sizes" : "ranks";
  out.errors = summary_of(errors_at(fit_nccl_constants(kept), others));
  if (out.by == "ranks") out.sentence = held.sentence(out.errors);
  return out;
}

void assess(NcclLogFit& fit) {
  std::vector<double> all;
  std::vector<double> own;
  for (NcclLog& log : fit.logs) {
    for (const NcclFitRow& row : log.rows) log.chosen.push_back(fit.fit.predict(row));
    const std::vector<double> errors = errors_at(fit.fit, log.rows);
    const std::vector<double> without = errors_at(NcclFit(), log.rows);
    log.errors = summary_of(errors);
    all.insert(all.end(), errors.begin(), errors.end());
    own.insert(own.end(), without.begin(), without.end());
  }
  fit.errors = summary_of(all);
  fit.own_errors = summary_of(own);
}

NcclSizes sizes_of(const std::vector<NcclLog>& logs) {
  NcclSizes sizes{logs.front().rows.front().size, logs.front().rows.front().size};
  for (const NcclLog& log : logs)
    for (const NcclFitRow& row : log.rows) {
      sizes.from = std::min(sizes.from, row.size);
      sizes.to = std::max(sizes.to, row.size);
    }
  return sizes;
}

void note_one_count(NcclLogFit& fit) {
  std::set<int> nodes;
  for (const NcclLog& log : fit.logs) nodes.insert(log.nodes);
  if (nodes.size() > 1 || *nodes.begin() == 1) return;
  fit.notes.push_back("all rows are of " + std::to_string(*nodes.begin()) +
                      " nodes: they tell sums of latencies inside and across nodes, which are "
                      "divided in NCCL's own proportion; a log within one node tells them apart");
}

// The cluster with its constants.
Json cluster_file_of(const FitArguments& arguments, Json json, const NcclConstants& constants,
                     const NcclLogFit& fit) {
  json["nccl"] = to_json(constants);
  const std::string name = json.value("name", json.value("shape", "cluster"));
  json["name"] = !arguments.name.empty()   ? arguments.name
                 : name.ends_with("_nccl") ? name
                                           : name + "_nccl";
  std::string source = "nccl: fitted by sgdsim fit to";
  for (const std::string& one : fit.sources)
    source += (&one == &fit.sources.front() ? " " : ", ") + one;
  const std::string before = json.value("source", std::string());
  json["source"] = before + (before.empty() ? "" : " ") + source;
  read_cluster(Value(json, "--cluster " + arguments.cluster, ""));
  return json;
}

}  // namespace

bool is_of_nccl(const FitArguments& arguments) { return arguments.from_collective == "nccl"; }

NcclLogFit fit_nccl_logs(const FitArguments& arguments) {
  refuse_options_of_links(arguments);
  check(arguments);
  NcclLogFit fit;
  const Json json = cluster_json(arguments.cluster, arguments.settings);
  const Cluster cluster = read_cluster(Value(json, "--cluster " + arguments.cluster, "")).cluster;
  if (cluster.network.crowding().any())
    throw InputError("--cluster", crowding_is_for("NCCL's model"));
  FitAnswer read;
  read.name = arguments.name;
  ReadSeries series = read_series(arguments, read);
  keep_sizes(series.chosen, arguments);
  fit.name = read.name;
  fit.sources = read.sources;
  fit.notes = read.notes;
  const std::vector<std::string> options = nccl_options_of(arguments, cluster, read.device, fit);
  fit.logs = logs_of(series.chosen, cluster, options, fit);
  fit.sizes = sizes_of(fit.logs);
  note_one_count(fit);
  fit.held_out = hold_out(arguments, fit);
  std::vector<NcclFitRow> rows = rows_of(fit.logs, false);
  for (const NcclFitRow& row : rows_of(fit.logs, true)) rows.push_back(row);
  thin(rows, fit.notes);
  fit.fit = fit_nccl_constants(rows);
  assess(fit);
  fit.file = cluster_file_of(arguments, json,
                             constants_of(rows.front().machine, options, cluster, fit), fit);
  return fit;
}

}  // namespace sgdsim
