// Random collectives for the property tests: one question to one algorithm on one network, drawn
// over the whole registry, so that a new algorithm, option or value is tested without a new line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "sim/core/random.h"

namespace sgdsim {

struct CollectiveCase {
  const Algorithm* algorithm = nullptr;
  Operation operation = Operation::allreduce;
  Bytes size;
  std::vector<Bytes> following;
  std::optional<Bytes> block;
  std::optional<int> root;
  CollectiveOptions options;
  std::string option_text;  // as on the command line
  Network network = Network::uniform(1, {});
  std::vector<Time> starts;
  MessageJitter jitter;

  int ranks() const { return network.workers(); }
  void set(const std::string& key, const std::string& value) {
    set_option(options, key, value, "test");
  }
  CollectiveJob job() const;
  Program program() const { return schedule_of(*algorithm, job()); }
  std::optional<Duration> closed_form() const { return closed_form_of(*algorithm, job()); }
  Played played(PathChoice path = PathChoice::fastest) const;
  Duration time() const { return played().last_end().since_start(); }
  // What doctest prints when a check of this case fails.
  std::string text() const;
};

// Whether the second of an option's two values was given; the algorithm that one names.
inline bool is_chosen(const CollectiveOptions& options, std::string_view name) {
  return options.of(FlagOption{{name, "", ""}});
}
inline std::string part_of(const CollectiveOptions& options, std::string_view name) {
  return options.of(OptionOf<std::string>{{name, "", ""}, "ring"});
}

struct CaseLimits {
  int least_ranks = 1;
  int most_ranks = 70;
  int64_t most_bytes = 1'000'000;
  int64_t most_messages = 50'000;
  bool automatic_blocks = true;
  bool uniform_network = false;
};

// Draws again what the algorithm refuses (a count of ranks that is no power of two) and what is
// longer than the limit.
CollectiveCase draw_case(Random& random, const Algorithm& algorithm, Operation operation,
                         const CaseLimits& limits);
// The same with everything given but root, block and options; empty if the algorithm refuses.
std::optional<CollectiveCase> draw_choices(Random& random, const Algorithm& algorithm,
                                           Operation operation, const Network& network, Bytes size,
                                           const CaseLimits& limits);

PairCost draw_cost(Random& random);
// Any pair rule, with or without ports of the workers' own. The same generator with another
// `change` gives the same network with every cost changed that way.
using CostChange = std::function<PairCost(PairCost)>;
Network draw_network(
    Random& random, int ranks, const CostChange& change = [](PairCost cost) { return cost; });
std::vector<Time> draw_starts(Random& random, int ranks);

bool has_pipelines(const Program& program);

// Calls f(algorithm, operation) for everything that the registry offers.
template <class F>
void for_each_offer(const F& f) {
  for (const Algorithm& algorithm : algorithms())
    for (const Operation operation : algorithm.operations) f(algorithm, operation);
}

}  // namespace sgdsim
