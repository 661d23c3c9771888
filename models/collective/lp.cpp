// LP: the linear pipeline of Wang et al. (arXiv 1611.04255).
//
// The message is cut into m blocks; members form a chain, and each passes block j on while it
// receives block j + 1. The chain ends at the root: the last GPU, as in the one drawing of the
// paper that was read, unless told otherwise. All-reduce is a reduction to the root whose finished
// blocks are broadcast back along the same chain, overlapped with the reduction or after it.
//
// Long messages cost n beta for any P. Short ones cost (P - 1) alpha, and blocks below alpha/beta
// waste their time on start-ups: with alpha = 10 us and beta = 0.1 ns/B that is 100 KB.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/collective/registry.h"

namespace sgdsim::collective::lp {
namespace {

constexpr FlagOption sequential{{"lp_allreduce", "overlapped|sequential",
                                 "finished blocks are sent back at once, or after", "allreduce"}};
constexpr FlagOption broadcast_first{{"lp_arbitration", "reduce-first|broadcast-first",
                                      "who wins a port (duplex=port)", "allreduce"}};
constexpr FlagOption root_first{{"lp_root", "last|first", "the chain's end that holds the result"}};
constexpr FlagOption streams{
    {"lp_drain", "on|off", "the chain empties between messages, or they stream"}};

int root_of(const CollectiveJob& job) {
  return job.root.value_or(job.options.of(root_first) ? 0 : job.size() - 1);
}

// Never more than a million blocks: the rest of the gain is below (P - 2) / 2^20 of the time.
constexpr double most_blocks = 1 << 20;

// The time of m blocks of b bytes is m (startups + rate b) + filled_startups + filled_rate b. Where
// folds have an engine of their own it is the larger of that and the same with m (fold_startups +
// fold_rate b), on the same way through the chain.
struct BlockCost {
  double startups = 0;  // of each block
  double rate = 0;
  double filled_startups = 0;  // once, until the pipeline is full
  double filled_rate = 0;
  double alone_startups = 0;  // more, of a single block
  double alone_rate = 0;
  bool are_folds_beside = false;
  double fold_startups = 0;
  double fold_rate = 0;

  BlockCost(const CollectiveJob& job, const PairCost& cost)
      : startups(static_cast<double>((job.wire() ? cost.agreement() : cost.start_up()).ps())),
        rate(cost.per_byte.ps()) {
    put_all_in_series(job, cost);
    if (job.options.of(folds_beside) && job.operation != Operation::broadcast)
      put_folds_beside(job, cost);
  }
  // Two members use each port for one flow only, as if every link were a resource of its own.
  static bool has_ports_for_both(const CollectiveJob& job) {
    return !job.options.of(sequential) && (job.options.of(duplex_of_links) || job.size() == 2);
  }
  double best_B(double n) const {
    const auto best = [n](double each, double filled) {
      return filled > 0 ? std::sqrt(n * each / filled) : n;
    };
    const double sent_B = best(startups, filled_rate);
    if (!are_folds_beside || fold_rate <= rate || startups <= fold_startups) return sent_B;
    // Larger blocks take as long as their folds.
    const double as_long_B = (startups - fold_startups) / (fold_rate - rate);
    const double folded_B = best(fold_startups, filled_rate + rate - fold_rate);
    return sent_B <= as_long_B ? sent_B : std::max(as_long_B, folded_B);
  }
  // Whole blocks; the last one may be shorter.
  double time_ps(double n, double block_B) const {
    const double alone = block_B >= n ? alone_startups + alone_rate * block_B : 0;
    const double count = std::ceil(n / block_B);
    const double sent = count * startups + n * rate;
    const double filled = filled_startups + filled_rate * block_B;
    if (!are_folds_beside) return sent + filled + alone;
    const double one = startups + rate * block_B;
    const double longer = std::max(one, fold_startups + fold_rate * block_B) - one;
    return std::max(sent, count * fold_startups + n * fold_rate) + filled - longer + alone;
  }

 private:
  void put_all_in_series(const CollectiveJob& job, const PairCost& cost) {
    const double beta = rate;
    const double gamma = cost.reduce.ps();
    const double hops = job.size() - 1;
    const bool all = job.operation == Operation::allreduce;
    if (job.operation != Operation::broadcast) rate += gamma;
    if (all && has_ports_for_both(job)) {  // (P-1)(tau_r + tau_c) + (m-1) tau_r
      filled_startups = (2 * hops - 1) * startups;
      filled_rate = hops * (rate + beta) - rate;
      return;
    }
    const double alpha = startups;
    if (all) {  // one port for both ways, or one way after the other
      startups *= 2;
      rate += beta;
    }
    const double filled = job.options.of(paper_steps) ? hops : hops - 1;
    filled_startups = filled * startups;
    filled_rate = filled * rate;
    if (!all || job.options.of(sequential)) return;
    // The first sum comes back while the second block is on its way: 2 (P + m - 2) - 1 transfers,
    // but 2 (P - 1) of a block that is alone.
    alone_startups = alpha;
    alone_rate = beta;
    filled_startups -= alpha;
    filled_rate -= beta;
  }
  // The way of the first block stays as long; each one behind it comes when it is sent, or folded.
  void put_folds_beside(const CollectiveJob& job, const PairCost& cost) {
    // Of a port that sends both sums and results some folds are in the way: about as simulated.
    constexpr double part_in_the_way = 0.2;
    const double gamma = cost.reduce.ps();
    const bool all = job.operation == Operation::allreduce;
    are_folds_beside = true;
    fold_rate = gamma;
    if (all && job.options.of(sequential)) {
      fold_startups = startups / 2;
      fold_rate += (rate - gamma) / 2;
    }
    const bool shares_ports = all && !job.options.of(sequential) && !has_ports_for_both(job);
    const double beside = shares_ports ? (1 - part_in_the_way) * gamma : gamma;
    rate -= beside;
    filled_rate += beside;
  }
};

// On links with segments the best block of each segment that is the best of all. It is the
// formula's, but where equal blocks, or a single one, are faster by a thousandth or more: the
// formula's last block may be short, and costs a start-up all the same.
double best_block_B(const CollectiveJob& job, double n) {
  const double largest = std::max(1., n);
  const bool are_free = job.starts_free(1);
  const double fewest = std::max(1., std::ceil(n / most_blocks));
  const double least =
      are_free ? std::max(fewest, job.least_free_block_B(largest, job.size() - 1)) : fewest;
  double best_B = 0;
  double best_ps = std::numeric_limits<double>::infinity();
  const auto consider = [&](const PairCost& cost, double from_B, double to_B) {
    const BlockCost blocks(job, cost);
    const double high = std::min(largest, std::ceil(to_B) - 1);
    // Up to where messages wait, blocks may be smaller than what fills a chain in a 64th.
    const double wanted =
        are_free && high >= CollectiveJob::least_packet_B ? std::min(least, high) : least;
    const double low = std::max({wanted, fewest, std::ceil(from_B)});
    if (low > high) return;
    const auto try_block = [&](double block_B, double ahead) {
      const double time_ps = blocks.time_ps(n, block_B);
      if (time_ps * ahead >= best_ps) return;
      best_ps = time_ps;
      best_B = block_B;
    };
    const double ideal_B = std::clamp(std::round(blocks.best_B(n)), low, high);
    try_block(ideal_B, 1);
    const double fewer = std::floor(largest / ideal_B);
    for (const double count : {1., fewer, fewer + 1})
      try_block(std::clamp(std::ceil(largest / count), low, high), 1.001);
  };
  const auto& bands = job.cost.from;
  const double beyond = largest + 1;
  consider(job.cost.smallest, 0, bands.empty() ? beyond : bands.front().first);
  for (std::size_t i = 0; i < bands.size(); ++i)
    consider(bands[i].second, bands[i].first, i + 1 < bands.size() ? bands[i + 1].first : beyond);
  return best_B > 0 ? best_B : least;
}

// The blocks of the message and, if layers stream (lp_drain=off), of those that follow it.
std::vector<BlockRun> blocks_of(const CollectiveJob& job) {
  std::vector<BlockRun> runs;
  auto cut = [&](double n) {
    const double block_B =
        job.block ? static_cast<double>(job.block->count()) : best_block_B(job, n);
    const double full = std::floor(n / block_B);
    if (full > 0) runs.push_back({block_B, static_cast<int64_t>(full)});
    if (n > full * block_B) runs.push_back({n - full * block_B, 1});
  };
  cut(job.bytes());
  if (job.options.of(streams))
    for (const Bytes size : job.following) cut(static_cast<double>(size.count()));
  return runs;
}

// The chain in relative members: towards 0 from 1, 2, ..., P-1 (the root last: P-1 is the root's
// neighbour) or from P-1, ..., 2, 1 (the root first).
TreeFlow chain(const CollectiveJob& job, bool to_root) {
  TreeFlow flow;
  const int size = job.size();
  flow.parents.assign(static_cast<std::size_t>(size), -1);
  const bool is_first = job.options.of(root_first);
  for (int v = 1; v < size; ++v)
    flow.parents[static_cast<std::size_t>(v)] = is_first ? v - 1 : (v + 1) % size;
  flow.to_root = to_root;
  flow.blocks = blocks_of(job);
  return flow;
}

TreePipeline pipeline(const CollectiveJob& job) {
  TreePipeline line;
  line.team = job.team;
  line.team.root = root_of(job);
  line.reduces = true;
  line.reduce_overlaps = job.options.of(folds_beside);
  line.link_duplex = job.options.of(duplex_of_links);
  return line;
}

Program schedule(const CollectiveJob& job) {
  TreePipeline reduce = pipeline(job);
  reduce.flows = {chain(job, true)};
  TreePipeline broadcast = pipeline(job);
  broadcast.flows = {chain(job, false)};
  // Programs that wait for answers do one thing after the other.
  const std::vector<BlockRun>& blocks = reduce.flows[0].blocks;
  reduce.members_wait = broadcast.members_wait =
      std::any_of(blocks.begin(), blocks.end(),
                  [&](const BlockRun& run) { return job.cost.at(run.size_B).rendezvous; });
  if (job.operation == Operation::reduce) return Program().then(reduce);
  if (job.operation == Operation::broadcast) return Program().then(broadcast);
  if (job.options.of(sequential)) return Program().then(reduce).then(broadcast);
  TreePipeline both = pipeline(job);
  both.flows = {chain(job, true), chain(job, false)};
  both.flows[0].priority_class = job.options.of(broadcast_first) ? 1 : 0;
  both.flows[1].priority_class = job.options.of(broadcast_first) ? 0 : 1;
  both.flows[1].released_by = 0;
  return Program().then(both);
}

// What a block costs a hop: its transfer, its fold, both in series. With alpha in flight it is paid
// once per hop of the whole pipeline, not per block.
struct Stages {
  std::vector<BlockRun> runs;
  const CollectiveJob& job;
  Duration transfer(double size_B) const {
    const bool goes_both_ways = job.size() > 2;
    if (!job.wire()) return goes_both_ways ? job.exchange(size_B) : job.message(size_B);
    return goes_both_ways ? job.exchanged(size_B) : job.transfer(size_B);
  }
  Duration both(double size_B) const { return transfer(size_B) + job.fold(size_B); }
  Duration flights() const {
    return job.wire() ? job.latency(block_B()) * (job.size() - 1) : Duration();
  }
  int64_t count() const {
    int64_t sum = 0;
    for (const BlockRun& run : runs) sum += run.count;
    return sum;
  }
  bool equal() const { return runs.size() == 1; }
  double block_B() const { return runs.front().size_B; }
};

// Any block list: the sum over all blocks and P - 2 times the longest one.
template <class Cost>
Duration filled(const Stages& stages, const Cost& cost) {
  Duration sum;
  Duration longest;
  for (const BlockRun& run : stages.runs) {
    sum += cost(run.size_B) * run.count;
    longest = std::max(longest, cost(run.size_B));
  }
  return sum + longest * (stages.job.size() - 2) + stages.flights();
}

// The forms that are remembered as the paper's count n/b steps, whole or not, and one step more
// than the schedule needs.
Duration paper_form(const Stages& stages, const CollectiveJob& job) {
  const double n = job.bytes();
  const double b = stages.block_B();
  const double steps = job.size() - 1 + n / b;
  const PairCost& cost = job.cost.at(b);
  const double alpha = static_cast<double>(cost.latency.ps());
  const double beta = cost.per_byte.ps();
  const double gamma = cost.reduce.ps();
  double ps = 0;
  switch (job.operation) {
    case Operation::broadcast:
      ps = steps * (alpha + b * beta);
      break;
    case Operation::reduce:
      ps = steps * (alpha + b * (beta + gamma));
      break;
    default:
      ps = 2 * steps * alpha + (b * job.size() - b + n) * (2 * beta + gamma);
      break;
  }
  return Duration::nearest_ps(ps);
}

std::optional<Duration> reduce_form(const Stages& stages, const CollectiveJob& job) {
  if (!job.options.of(folds_beside))
    return filled(stages, [&](double b) { return stages.both(b); });
  if (!stages.equal()) return std::nullopt;
  const double b = stages.block_B();
  return stages.both(b) * (job.size() - 1) +
         std::max(stages.transfer(b), job.fold(b)) * (stages.count() - 1) + stages.flights();
}

std::optional<Duration> overlapped_form(const Stages& stages, const CollectiveJob& job) {
  if (!stages.equal()) return std::nullopt;
  const double b = stages.block_B();
  const int64_t hops = job.size() - 1;
  const Duration transfer = stages.transfer(b);
  const Duration way = (stages.both(b) + transfer) * hops + 2 * stages.flights();
  if (BlockCost::has_ports_for_both(job)) {
    const Duration step =
        job.options.of(folds_beside) ? std::max(transfer, job.fold(b)) : stages.both(b);
    return way + step * (stages.count() - 1);
  }
  const bool known = job.fold(b) == Duration() && !job.options.of(broadcast_first) && !job.wire() &&
                     stages.count() >= 2;
  if (!known) return std::nullopt;
  return transfer * (2 * (job.size() + stages.count() - 2) - 1);
}

std::optional<Duration> closed_form(const CollectiveJob& job) {
  const Stages stages{blocks_of(job), job};
  if (job.options.of(paper_steps)) {  // for one message; streams of several have the other form
    if (job.wire() || !job.following.empty() ||
        (job.operation != Operation::broadcast && job.options.of(folds_beside)))
      return std::nullopt;
    return paper_form(stages, job);
  }
  const auto broadcast = filled(stages, [&](double b) { return stages.transfer(b); });
  if (job.operation == Operation::broadcast) return broadcast;
  if (job.operation == Operation::allreduce && !job.options.of(sequential))
    return overlapped_form(stages, job);
  const auto reduce = reduce_form(stages, job);
  if (job.operation == Operation::reduce || !reduce) return reduce;
  return *reduce + broadcast;
}

}  // namespace

Algorithm describe() {
  return {.name = "lp",
          .summary = "linear pipeline of blocks along a chain; cost independent of P when long",
          .operations = {Operation::broadcast, Operation::reduce, Operation::allreduce},
          .options = {duplex_of_links, folds_beside, paper_steps, sequential, broadcast_first,
                      root_first, streams},
          .schedule = schedule,
          .closed_form = closed_form,
          .takes_block = true,
          .streams = [](const CollectiveOptions& options) { return options.of(streams); }};
}

}  // namespace sgdsim::collective::lp
