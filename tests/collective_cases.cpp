// How the random collectives are drawn. Costs are coarse half of the time, so that events tie.
#include "tests/collective_cases.h"

#include <algorithm>

#include "models/collective/options.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

int draw_int(Random& random, int least, int most) {
  return least + static_cast<int>(random.below(static_cast<uint64_t>(most - least) + 1));
}

bool draw_chance(Random& random, double probability) { return random.uniform() < probability; }

std::vector<std::string> alternatives(std::string_view values) {
  std::vector<std::string> list;
  while (true) {
    const std::size_t bar = values.find('|');
    list.emplace_back(values.substr(0, bar));
    if (bar == values.npos) return list;
    values.remove_prefix(bar + 1);
  }
}

int draw_divisor(Random& random, int number) {
  std::vector<int> divisors;
  for (int d = 1; d <= number; ++d)
    if (number % d == 0) divisors.push_back(d);
  return divisors[random.below(divisors.size())];
}

std::string draw_dims(Random& random, int ranks) {
  const int first = draw_divisor(random, ranks);
  const int second = draw_divisor(random, ranks / first);
  const std::string two = std::to_string(first) + "x" + std::to_string(second);
  return two + "x" + std::to_string(ranks / first / second);
}

std::string draw_value(Random& random, const OptionKey& key, int ranks) {
  if (key.name == "lp_steps") return "exact";  // the other is a formula without a schedule
  if (key.name == "group") return std::to_string(draw_divisor(random, ranks));
  if (key.name == "dims") return draw_dims(random, ranks);
  if (key.values == "ALGORITHM") {
    const std::vector<Algorithm>& all = algorithms();
    return std::string(all[random.below(all.size())].name);
  }
  const std::vector<std::string> values = alternatives(key.values);
  return values[random.below(values.size())];
}

bool applies(const OptionKey& key, const CollectiveCase& one) {
  try {
    check_option_applies(*one.algorithm, one.options, std::string(key.name), "");
  } catch (const InputError&) {
    return false;
  }
  return true;
}

// Rounds do not know of messages that share ports or wires; shared_ports_test.cpp and flow_test.cpp
// draw those.
bool is_of_rounds(const OptionKey& key) {
  return key.name != "ports" && key.name != "direct" && key.name != "routing";
}

// Options that name the parts come first, because the others apply by the parts.
void draw_options(Random& random, CollectiveCase& one) {
  for (const bool parts : {true, false})
    for (const OptionKey& key : option_keys()) {
      const bool needed = key.name == "group" || key.name == "dims";
      if ((key.values == "ALGORITHM") != parts || !is_of_rounds(key) || !applies(key, one))
        continue;
      if (!needed && draw_chance(random, 0.4)) continue;  // keeps the default
      const std::string value = draw_value(random, key, one.ranks());
      set_option(one.options, std::string(key.name), value, "test");
      one.option_text += " --option " + std::string(key.name) + "=" + value;
    }
}

Bytes draw_block(Random& random, Bytes size) {
  const int64_t n = std::max<int64_t>(size.count(), 1);
  switch (random.below(4)) {
    case 0:
      return Bytes(n);
    case 1:
      return Bytes(1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(n))));
    case 2: {  // divides, if it can
      const int64_t parts = draw_int(random, 1, 40);
      return Bytes(std::max<int64_t>(1, n / parts));
    }
    default:
      return Bytes(std::min(n, 1 + n / draw_int(random, 1, 60)));
  }
}

Bytes draw_size(Random& random, int ranks, int64_t most) {
  auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(bound)));
  };
  const std::vector<int64_t> kinds = {
      0,          1,           ranks - 1,       ranks,          ranks * below(most / ranks + 1),
      below(100), below(3000), below(most) + 1, below(most) + 1};
  return Bytes(std::min(most, kinds[random.below(kinds.size())]));
}

PairRule draw_grid(Random& random, int ranks, int& classes) {
  GridHops grid;
  grid.per_router = draw_int(random, 1, 3);
  grid.wraps = draw_chance(random, 0.5);
  int routers = 1;
  while (routers * grid.per_router < ranks || grid.dimensions.empty()) {
    grid.dimensions.push_back(draw_int(random, 2, 9));
    routers *= grid.dimensions.back();
  }
  classes = 1;
  for (const int d : grid.dimensions) classes += d;
  return grid;
}

PairRule draw_rule(Random& random, int ranks, int& classes) {
  switch (random.below(3)) {
    case 0: {
      const int small = draw_int(random, 1, 8);
      classes = 3;
      return NestedGroups{{small, small * draw_int(random, 2, 6)}};
    }
    case 1:
      return draw_grid(random, ranks, classes);
    default: {
      PairTable table;
      table.per_point = draw_int(random, 1, 4);
      table.points = (ranks + table.per_point - 1) / table.per_point;
      classes = 12;
      const auto points = static_cast<std::size_t>(table.points);
      for (std::size_t pair = 0; pair < points * points; ++pair)
        table.classes.push_back(static_cast<uint32_t>(random.below(12)));
      return table;
    }
  }
}

}  // namespace

CollectiveJob CollectiveCase::job() const {
  CollectiveJob job;
  job.operation = operation;
  job.team = {.size = ranks(), .stride = 1};
  job.share = {.total = size, .fractional = options.fractional_chunks, .split = {}};
  job.following = following;
  job.block = block;
  job.root = root;
  job.cost = worst_in_team(network, job.team);
  job.options = options;
  job.network = &network;
  return job;
}

Played CollectiveCase::played(PathChoice path) const {
  return play(program(), network, {options.alpha, jitter, path, options.shares_ports}, starts);
}

std::string CollectiveCase::text() const {
  std::string text = std::string(algorithm->name) + " " + std::string(name_of(operation)) +
                     " P=" + std::to_string(ranks()) + " n=" + std::to_string(size.count());
  for (const Bytes more : following) text += "," + std::to_string(more.count());
  if (block) text += " block=" + std::to_string(block->count());
  if (root) text += " root=" + std::to_string(*root);
  const PairCost worst = network.worst();
  return text + option_text + (network.is_uniform() ? " uniform" : " mixed") +
         " alpha=" + std::to_string(worst.latency.ps()) +
         "ps beta=" + std::to_string(worst.per_byte.ps()) +
         " gamma=" + std::to_string(worst.reduce.ps()) + (starts.empty() ? "" : " starts") +
         (jitter.on() ? " jitter" : "");
}

bool has_pipelines(const Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(), [](const Stage& stage) {
    return std::holds_alternative<TreePipeline>(stage);
  });
}

PairCost draw_cost(Random& random) {
  const bool coarse = draw_chance(random, 0.5);
  auto draw = [&](double most) {
    if (draw_chance(random, 0.15)) return 0.;
    return coarse ? most / 4 * draw_int(random, 1, 4) : random.uniform(0, most);
  };
  return {Duration::ps(static_cast<int64_t>(draw(4'000'000))), PerByte::ps(draw(200)),
          PerByte::ps(draw(80))};
}

Network draw_network(Random& random, int ranks, const CostChange& change) {
  int classes = 1;
  PairRule rule = OneClass{};
  if (draw_chance(random, 0.75)) rule = draw_rule(random, ranks, classes);
  std::vector<PairCost> costs;
  for (int c = 0; c < classes; ++c) costs.push_back(change(draw_cost(random)));
  Network network(ranks, std::move(rule), std::move(costs));
  if (draw_chance(random, 0.4)) {
    std::vector<Port> ports;
    for (int i = 0; i < ranks; ++i) {
      const PairCost out = change(draw_cost(random));
      ports.push_back({out, change(draw_cost(random))});
    }
    network.set_ports(std::move(ports));
  }
  return network;
}

std::vector<Time> draw_starts(Random& random, int ranks) {
  const bool coarse = draw_chance(random, 0.3);
  std::vector<Time> starts;
  for (int i = 0; i < ranks; ++i)
    starts.push_back(
        Time::at(Duration::ps(coarse ? draw_int(random, 0, 3) * 1'000'000
                                     : static_cast<int64_t>(random.below(20'000'000)))));
  return starts;
}

std::optional<CollectiveCase> draw_choices(Random& random, const Algorithm& algorithm,
                                           Operation operation, const Network& network, Bytes size,
                                           const CaseLimits& limits) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    CollectiveCase one;
    one.algorithm = &algorithm;
    one.operation = operation;
    one.size = size;
    one.network = network;
    draw_options(random, one);
    if (has_root(operation) && draw_chance(random, 0.6))
      one.root = draw_int(random, 0, one.ranks() - 1);
    if (algorithm.takes_block && (!limits.automatic_blocks || draw_chance(random, 0.7)))
      one.block = draw_block(random, size);
    try {
      if (traffic_of(one.program(), one.ranks()).messages <= limits.most_messages) return one;
    } catch (const InputError&) {
      continue;  // these options do not go together
    }
  }
  return std::nullopt;
}

CollectiveCase draw_case(Random& random, const Algorithm& algorithm, Operation operation,
                         const CaseLimits& limits) {
  while (true) {
    int ranks = draw_int(random, limits.least_ranks, limits.most_ranks);
    const int power = 1 << log2_down(ranks);
    if (power >= limits.least_ranks && draw_chance(random, 0.25)) ranks = power;
    const Network network = limits.uniform_network ? Network::uniform(ranks, draw_cost(random))
                                                   : draw_network(random, ranks);
    const Bytes size = draw_size(random, ranks, limits.most_bytes);
    if (auto one = draw_choices(random, algorithm, operation, network, size, limits)) return *one;
  }
}

}  // namespace sgdsim
