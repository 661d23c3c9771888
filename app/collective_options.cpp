// From text to a checked question.
#include "app/collective_options.h"

#include <charconv>

#include "app/override.h"
#include "app/ranges.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr int most_ranks = 1 << 24;

PathChoice path_named(const std::string& name) {
  if (name == "fastest") return PathChoice::fastest;
  if (name == "rounds") return PathChoice::rounds;
  if (name == "events") return PathChoice::events;
  throw InputError("--path", unknown_name("path", name, {"fastest", "rounds", "events"}));
}

ClusterFile cluster_file_of(const CollectiveArguments& arguments) {
  Json json = Document::read(arguments.cluster).root().json();
  apply_settings(json, arguments.settings);
  return read_cluster(Value(json, arguments.cluster, ""));
}

}  // namespace

void add_options(CLI::App& command, CollectiveArguments& arguments) {
  auto list = [](CLI::Option* option) { option->allow_extra_args(false)->take_all(); };
  command.add_option("-a,--algorithm", arguments.algorithm,
                     "one of `sgdsim list algorithms`, auto (the cheapest), or nccl (NCCL's own "
                     "model and choice); default ring");
  command.add_option("--op", arguments.operation,
                     "one of `sgdsim list operations`; default allreduce");
  command.add_option("-p,--ranks", arguments.ranks,
                     "how many take part; default: all workers of the cluster");
  list(command
           .add_option("-n,--bytes", arguments.bytes,
                       "message size with a unit, as \"64 MiB\"; repeat it for several messages "
                       "one after the other")
           ->required());
  command.add_option("--block", arguments.block, "block size of a pipeline; default: the best");
  command.add_option("--root", arguments.root,
                     "rank that holds or gets the result; default 0 "
                     "(lp: the end of the chain)");
  command.add_option("-c,--cluster", arguments.cluster, "a cluster file");
  list(command.add_option("--set", arguments.settings,
                          "change a field of the cluster: nodes=64, nic.bandwidth=25Gbps"));
  command.add_option("--alpha", arguments.alpha, "instead of a cluster: start-up, as \"10 us\"");
  command.add_option("--beta", arguments.beta, "time per byte, as \"0.8 ns/B\", or a bandwidth");
  command.add_option("--gamma", arguments.gamma, "reduction per byte, as \"0.1 ns/B\"; default 0");
  list(
      command.add_option("--option", arguments.options, "key=value, one of `sgdsim list options`"));
  command.add_option("--fidelity", arguments.fidelity, "closed_form or message (default)");
  command.add_option("--path", arguments.path,
                     "how message fidelity is played: fastest (default), rounds or events; the "
                     "answer is the same");
  command.add_option("--start", arguments.starts,
                     "when each rank starts, one time per rank: \"0 us,5 us,2 us\"");
  command
      .add_option("--jitter", arguments.jitter,
                  "sigma of a lognormal factor of mean 1 on every message")
      ->check(CLI::Range(0., 10.));
  command.add_option("--seed", arguments.seed, "of the jitter; default 1");
  command.add_flag("--sweep", arguments.sweep,
                   "--ranks, --bytes and --algorithm are lists or ranges (2..64 doubles; all: "
                   "every algorithm)");
  command.add_option("--format", arguments.format, "table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
}

std::vector<int> ranks_of(const CollectiveArguments& arguments) {
  if (arguments.ranks.empty()) {
    if (arguments.cluster.empty())
      throw InputError("--ranks", "expected how many ranks take part, or a --cluster");
    return {cluster_file_of(arguments).cluster.network.workers()};
  }
  const std::vector<int64_t> counts = parse_counts(arguments.ranks, "--ranks");
  if (!arguments.sweep && counts.size() > 1) throw InputError("--ranks", "a list needs --sweep");
  std::vector<int> ranks;
  for (const int64_t count : counts) {
    if (count < 1 || count > most_ranks)
      throw InputError("--ranks", "expected from 1 to " + std::to_string(most_ranks) +
                                      " ranks, got " + std::to_string(count));
    ranks.push_back(static_cast<int>(count));
  }
  return ranks;
}

Cluster cluster_of(const CollectiveArguments& arguments, int ranks) {
  const bool by_cost =
      !arguments.alpha.empty() || !arguments.beta.empty() || !arguments.gamma.empty();
  if (arguments.cluster.empty()) {
    if (arguments.alpha.empty() || arguments.beta.empty())
      throw InputError("--cluster", "expected a cluster file, or --alpha and --beta");
    if (!arguments.settings.empty())
      throw InputError("--set", "changes a field of the cluster, but there is no --cluster");
    PairCost cost;
    cost.latency = parse_duration(arguments.alpha, "--alpha");
    const bool is_bandwidth = arguments.beta.ends_with("ps") || arguments.beta.ends_with("/s");
    cost.per_byte = is_bandwidth ? parse_bandwidth(arguments.beta, "--beta").per_byte()
                                 : parse_per_byte(arguments.beta, "--beta");
    if (!arguments.gamma.empty()) cost.reduce = parse_per_byte(arguments.gamma, "--gamma");
    return {"alpha-beta", Network::uniform(ranks, cost), 1, {}, {}};
  }
  if (by_cost)
    throw InputError("--alpha", "a cluster has its own costs; give --cluster or --alpha, not both");
  Cluster cluster = cluster_file_of(arguments).cluster;
  const int workers = cluster.network.workers();
  if (ranks > workers)
    throw InputError("--ranks", std::to_string(ranks) + " ranks do not fit on " +
                                    arguments.cluster + ", which has " + std::to_string(workers) +
                                    " workers; --set nodes=N makes it larger");
  if (ranks < workers) {
    cluster.network = cluster.network.first(ranks);
    cluster.grid.clear();  // part of a torus is no torus
  }
  return cluster;
}

CollectiveQuestion question_of(const CollectiveArguments& arguments, const std::string& algorithm,
                               const std::vector<Bytes>& messages) {
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation_named(arguments.operation, "--op");
  question.messages = messages;
  if (!arguments.block.empty()) question.block = parse_bytes(arguments.block, "--block");
  if (!arguments.root.empty()) {
    const std::vector<int64_t> root = parse_counts(arguments.root, "--root");
    if (root.size() != 1 || root[0] < 0 || root[0] >= most_ranks)
      throw InputError("--root", "expected the number of a rank, got \"" + arguments.root + "\"");
    question.root = static_cast<int>(root[0]);
  }
  for (const std::string& option : arguments.options) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos)
      throw InputError("--option", "expected key=value, got \"" + option + "\"");
    set_option(question.options, option.substr(0, equals), option.substr(equals + 1), "--option");
  }
  question.fidelity = fidelity_named(arguments.fidelity, "--fidelity");
  question.path = path_named(arguments.path);
  question.jitter = {arguments.jitter, arguments.seed};
  if (!arguments.starts.empty())
    for (const std::string& start : split_list(arguments.starts))
      question.starts.push_back(Time() + parse_duration(start, "--start"));
  if (algorithm != "auto")
    for (const std::string& option : arguments.options)
      check_option_applies(algorithm_named(algorithm, "--algorithm"), question.options,
                           option.substr(0, option.find('=')), "--option");
  return question;
}

}  // namespace sgdsim
