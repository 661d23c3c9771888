// From text to a checked question.
#include "study/collective/collective_options.h"

#include <algorithm>
#include <limits>
#include <set>

#include "models/collective/algorithm_choice.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/beside.h"
#include "study/collective/nccl_answer.h"
#include "study/collective/ranges.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/transport_choice.h"
#include "study/wire_words.h"
#include "topologies/cluster_file.h"
#include "topologies/routed_wires.h"

namespace sgdsim {
namespace {

uint64_t seed_of(const CollectiveArguments& arguments) {
  if (arguments.seed.empty()) return 1;
  return static_cast<uint64_t>(
      parse_whole(arguments.seed, 0, std::numeric_limits<int64_t>::max(), "--seed"));
}

constexpr int most_ranks = 1 << 24;

PathChoice path_named(const std::string& name) {
  if (name.empty() || name == "fastest") return PathChoice::fastest;
  if (name == "rounds") return PathChoice::rounds;
  if (name == "events") return PathChoice::events;
  throw InputError("--path", unknown_name("path", name, {"fastest", "rounds", "events"}));
}

Cluster uniform_cluster(const CollectiveArguments& arguments, int ranks) {
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
  Cluster cluster{"alpha-beta", Network::uniform(ranks, cost), 1, {}, {}};
  cluster.wires = [ranks, cost](const RouteChoice&) { return wires_at_one_switch(ranks, cost); };
  return cluster;
}

// auto and nccl are choices of the command line, not algorithms of the registry.
const Algorithm& known_algorithm(const std::string& name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.emplace_back(algorithm.name);
  }
  names.insert(names.end(), {"auto", "nccl"});
  throw InputError("--algorithm", unknown_name("algorithm", name, names));
}

bool knows(const std::vector<OptionKey>& keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return key.name == name; });
}

// What start times, jitter and paths mean to a formula: nothing.
void check_message_only(const CollectiveArguments& arguments) {
  const auto is_hashed = [](const std::string& option) { return option == "routing=hashed"; };
  const bool draws = !arguments.jitter.empty() || arguments.fidelity == "packet" ||
                     std::any_of(arguments.options.begin(), arguments.options.end(), is_hashed);
  if (!arguments.seed.empty() && !draws)
    throw no_effect("--seed", "without --jitter, --fidelity packet or --option routing=hashed");
  const bool is_formula = arguments.fidelity == "closed_form";
  refuse_idle({{"--path", is_formula && !arguments.path.empty()},
               {arguments.limits.given(), is_formula && arguments.limits.any()}},
              "at closed_form fidelity");
}

}  // namespace

namespace {

// Empty messages, and others: of one question an empty one counts for all.
std::set<bool> kinds_of_sizes(const CollectiveArguments& arguments) {
  std::set<bool> are_empty;
  for (const std::string& words : arguments.bytes)
    for (const Bytes size : arguments.sweep ? parse_sizes(words, "--bytes")
                                            : std::vector{parse_bytes(words, "--bytes")})
      are_empty.insert(size.count() == 0);
  if (!arguments.sweep && are_empty.contains(true)) return {true};
  return are_empty;
}

// Of a formula nobody can ask these.
bool wants_messages_by_words(const CollectiveArguments& arguments) {
  const std::vector<const std::string*> words = {
      &arguments.block,     &arguments.root,   &arguments.path,          &arguments.starts,
      &arguments.seed,      &arguments.jitter, &arguments.limits.events, &arguments.limits.sim_time,
      &arguments.transport, &arguments.traffic};
  return std::any_of(words.begin(), words.end(),
                     [](const std::string* text) { return !text->empty(); }) ||
         !std::all_of(arguments.options.begin(), arguments.options.end(), is_nccl_option);
}

}  // namespace

std::string usual_at(const CollectiveArguments& arguments, int ranks, bool is_empty) {
  const Operation operation = operation_named(arguments.operation, "--op");
  // NCCL's model answers for messages of a byte or more among two ranks or more.
  if (!arguments.cluster_read || ranks < 2 || is_empty) return AlgorithmChoice().name_of(operation);
  return usual_algorithms(*arguments.cluster_read, ranks).name_of(operation);
}

void choose_algorithm(CollectiveArguments& arguments, bool wants_messages) {
  if (!arguments.algorithm.empty()) return;
  arguments.is_usual = true;
  std::set<std::string> names;
  for (const int ranks : ranks_of(arguments))
    for (const bool are_empty : kinds_of_sizes(arguments))
      names.insert(usual_at(arguments, ranks, are_empty));
  for (const std::string& name : names)
    arguments.algorithm += (arguments.algorithm.empty() ? "" : ",") + name;
  if (names.contains("nccl") && arguments.fidelity.empty() &&
      (wants_messages || wants_messages_by_words(arguments)))
    arguments.fidelity = name_of(Fidelity::message);
}

bool is_nccl_simulated(const CollectiveArguments& arguments) {
  return !arguments.fidelity.empty() && arguments.fidelity != "closed_form";
}

Fields collective_fields(CollectiveArguments& arguments) {
  return Fields{
             Field("file", arguments.file,
                   "a file with these questions (`sgdsim schema collective-question`); options win "
                   "over its fields")
                 .option("FILE"),
             Field(
                 "algorithm", arguments.algorithm,
                 "one of `sgdsim list algorithms`, auto (the cheapest), or nccl (NCCL's own model "
                 "and choice); default: nccl where several GPUs of a node have several cards or "
                 "are "
                 "all there is, else ring, direct for alltoall, mst for broadcast and reduce")
                 .option("-a,--algorithm"),
             {"op", arguments.operation, "one of `sgdsim list operations`; default allreduce"},
             Field("ranks", arguments.ranks,
                   "number of ranks (default: all workers of the cluster)")
                 .option("-p,--ranks"),
             Field("bytes", arguments.bytes,
                   "message size with a unit, as \"64 MiB\"; repeat it for several messages one "
                   "after the other")
                 .option("-n,--bytes"),
             {"block", arguments.block, "block size of a pipeline (default: the best one)"},
             {"root", arguments.root,
              "rank that holds or gets the result; default 0 (lp: the end of the chain)"},
             Field("cluster", arguments.cluster, "a cluster file").option("-c,--cluster"),
             {"set", arguments.settings,
              "change a field of the cluster: nodes=64, nic.bandwidth=25Gbps"},
             {"alpha", arguments.alpha, "instead of a cluster: start-up, as \"10 us\""},
             {"beta", arguments.beta, "time per byte, as \"0.8 ns/B\", or a bandwidth"},
             {"gamma", arguments.gamma, "reduction per byte, as \"0.1 ns/B\"; default 0"},
             {"option", arguments.options, "key=value, one of `sgdsim list options`"},
             {"fidelity", arguments.fidelity, "closed_form, message (default), flow or packet"},
             transport_field(arguments.transport),
             traffic_beside_field(arguments.traffic),
             {"path", arguments.path,
              "engine of message fidelity: fastest (default), rounds or events; all give the same "
              "answer"},
             {"start", arguments.starts,
              "when each rank starts, one time per rank: \"0 us,5 us,2 us\""},
             {"jitter", arguments.jitter, "sigma of a lognormal factor of mean 1 on every message"},
             {"seed", arguments.seed,
              "seed of what is drawn: --jitter, ways of packets, routing=hashed (default: 1)"},
             {"sweep", arguments.sweep,
              "--ranks, --bytes and --algorithm are lists or ranges (2..64 doubles; all: every "
              "algorithm)"},
         } +
         limit_fields(arguments.limits);
}

void read_inputs(CollectiveArguments& arguments) {
  if (arguments.cluster.empty()) return;
  const Json json = cluster_json(arguments.cluster, arguments.settings);
  arguments.cluster_read = std::make_shared<const Cluster>(
      read_cluster(Value(json, place_of(arguments.cluster), "")).cluster);
}

std::vector<int> ranks_of(const CollectiveArguments& arguments) {
  if (arguments.ranks.empty()) {
    if (arguments.cluster.empty())
      throw InputError("--ranks", "expected how many ranks take part, or a --cluster");
    return {arguments.cluster_read->network.workers()};
  }
  const std::vector<int64_t> counts = parse_counts(arguments.ranks, "--ranks");
  if (!arguments.sweep && counts.size() > 1) throw needs("--ranks", "--sweep", "a list");
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
  if (arguments.cluster.empty()) return uniform_cluster(arguments, ranks);
  if (!arguments.alpha.empty() || !arguments.beta.empty() || !arguments.gamma.empty())
    throw InputError("--alpha", "a cluster has its own costs; give --cluster or --alpha, not both");
  Cluster cluster = *arguments.cluster_read;
  const int workers = cluster.network.workers();
  // A formula that was fitted to these machines holds for any number of them.
  if (arguments.algorithm == "nccl" && cluster.nccl && cluster.with_more)
    return cluster_among(cluster, ranks);
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

void check_known_options(const CollectiveArguments& arguments,
                         const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (name != "auto" && name != "nccl") known_algorithm(name);
  std::vector<OptionKey> known;
  const bool asks_nccl = std::find(names.begin(), names.end(), "nccl") != names.end();
  if (!asks_nccl || names.size() > 1 || is_nccl_simulated(arguments)) known = option_keys();
  if (asks_nccl) known.insert(known.end(), nccl_option_keys().begin(), nccl_option_keys().end());
  std::set<std::string> given;
  for (const std::string& option : arguments.options) {
    const std::string key = option_key(option);
    if (option.find('=') == std::string::npos)
      throw InputError("--option", "expected key=value, got \"" + option + "\"");
    if (!knows(known, key))
      throw InputError("--option", unknown_name("option", key, names_of(known)));
    if (!given.insert(key).second) throw InputError("--option", key + " is given twice");
  }
}

namespace {

// Those of algorithms.
CollectiveOptions options_given(const CollectiveArguments& arguments) {
  CollectiveOptions options;
  for (const std::string& option : arguments.options)
    if (knows(option_keys(), option_key(option)))
      set_option(options, option_key(option), option_value(option), "--option");
  return options;
}

}  // namespace

bool has_effect(const CollectiveArguments& arguments, const std::string& algorithm,
                const std::string& key) {
  if (algorithm == "nccl") return is_nccl_simulated(arguments) || knows(nccl_option_keys(), key);
  if (knows(nccl_option_keys(), key)) return false;
  const CollectiveOptions options = options_given(arguments);
  const Operation operation = operation_named(arguments.operation, "--op");
  auto applies = [&](const Algorithm& one) {
    if (!reads_option(one, key, operation)) return false;
    try {
      check_option_applies(one, options, key, "");
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  if (algorithm != "auto") return applies(known_algorithm(algorithm));
  return std::any_of(algorithms().begin(), algorithms().end(),
                     [&](const Algorithm& one) { return one.offers(operation) && applies(one); });
}

bool takes_block(const std::string& algorithm) {
  if (algorithm == "nccl") return false;
  return algorithm == "auto" || known_algorithm(algorithm).takes_block;
}

bool takes_root(const CollectiveArguments& arguments, const std::string& algorithm) {
  if (algorithm == "nccl") return false;
  if (algorithm == "auto" || operation_named(arguments.operation, "--op") != Operation::allreduce)
    return true;
  const Algorithm& one = known_algorithm(algorithm);
  return one.needs_no_root == nullptr || !one.needs_no_root(options_given(arguments));
}

CollectiveQuestion question_of(const CollectiveArguments& arguments, const std::string& algorithm,
                               const std::vector<Bytes>& messages) {
  check_message_only(arguments);
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation_named(arguments.operation, "--op");
  question.messages = messages;
  if (!arguments.block.empty()) question.block = parse_bytes(arguments.block, "--block");
  if (!arguments.root.empty()) {
    question.root = static_cast<int>(parse_whole(arguments.root, 0, most_ranks - 1, "--root"));
    if (!takes_root(arguments, algorithm))
      throw no_effect("--root", "on " + algorithm + " for " + arguments.operation);
  }
  for (const std::string& option : arguments.options) {
    const std::string key = option_key(option);
    set_option(question.options, key, option_value(option), "--option");
    if (!has_effect(arguments, algorithm, key)) {
      const bool is_auto = algorithm == "auto";
      const std::string who = is_auto ? "any algorithm" : algorithm;
      if (is_auto || !reads_option(known_algorithm(algorithm), key, question.operation))
        throw InputError("--option",
                         idle_word("option " + key, "on " + who + " for " + arguments.operation));
      check_option_applies(known_algorithm(algorithm), question.options, key, "--option");
    }
  }
  if (!arguments.fidelity.empty())
    question.fidelity = fidelity_named(arguments.fidelity, "--fidelity");
  check_routes(std::string(name_of(question.fidelity)), "", arguments.transport);
  if (const Json asked = transport_in(arguments.transport); !asked.is_null())
    check_transport(Value(asked, "--transport", ""));
  check_traffic_option(arguments.traffic, question.fidelity != Fidelity::closed_form);
  question.path = path_named(arguments.path);
  if (!arguments.jitter.empty())
    question.jitter.sigma = parse_number(arguments.jitter, 0, most_jitter, "--jitter");
  if (!arguments.seed.empty()) question.jitter.seed = seed_of(arguments);
  if (!arguments.starts.empty())
    for (const std::string& start : split_list(arguments.starts))
      question.starts.push_back(Time() + parse_duration(start, "--start"));
  return question;
}

TrafficFile put_on(const Cluster& cluster, const CollectiveArguments& arguments,
                   CollectiveQuestion& question) {
  Sent sent = sent_on(cluster, question.fidelity, {question.options.routing, seed_of(arguments)},
                      transport_in(arguments.transport));
  question.carrier = std::move(sent.carrier);
  question.transport = std::move(sent.transport);
  if (arguments.traffic.empty()) return {};
  const auto read_on = [&](const Cluster& whose) {
    return read_meanwhile(
        arguments.traffic, "--traffic", whose,
        *shared_at(question.fidelity, whose, {question.options.routing, question.jitter.seed}));
  };
  try {
    return read_on(cluster);
  } catch (const InputError& error) {
    const auto& all = arguments.cluster_read;
    const int ranks = cluster.network.workers();
    if (!all || all->network.workers() <= ranks) throw;
    read_on(*all);  // or what it says is of the traffic
    throw InputError("",
                     std::string(error.what()) + "; with --ranks " + std::to_string(ranks) +
                         " these are all there are: in a file of `sgdsim jobs` a collective has "
                         "a \"placement\" among all workers and their traffic");
  }
}

}  // namespace sgdsim
