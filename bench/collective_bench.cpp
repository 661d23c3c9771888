// How fast collectives are simulated, message by message, when nothing collapses: every worker has
// a port and a start time of its own.
//
// Each benchmark first compares the ends of all workers with a bare array recurrence that is
// written here, then times the simulator. The recurrence of the ring is timed too: it is what the
// simulator would cost without networks, options, chunks and teams. `messages/s` counts simulated
// messages; `resident_MB` is the peak of the process, reset before each benchmark where Linux
// permits it.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <fstream>
#include <string>

#include "models/collective/registry.h"
#include "sim/core/random.h"

namespace sgdsim {
namespace {

struct Bench {
  Network network = Network::uniform(1, {});
  std::vector<Time> starts;
  Program program;
};

std::vector<Port> random_ports(Random& random, int workers) {
  auto cost = [&] {
    return PairCost{Duration::ps(static_cast<int64_t>(random.below(2'000'000))),
                    PerByte::ps(random.uniform(40, 160)), PerByte::ps(random.uniform(5, 20))};
  };
  std::vector<Port> ports;
  for (int i = 0; i < workers; ++i) {
    const PairCost out = cost();
    ports.push_back({out, cost()});
  }
  return ports;
}

Bench bench_of(const char* name, Operation operation, int workers, Bytes size, bool alike = false) {
  Random random(static_cast<uint64_t>(workers));
  Bench bench;
  bench.network = Network::uniform(workers, {Duration::us(1), PerByte::ps(80), PerByte::ps(10)});
  if (!alike) bench.network.set_ports(random_ports(random, workers));
  for (int i = 0; i < workers && !alike; ++i)
    bench.starts.push_back(Time::at(Duration::ps(static_cast<int64_t>(random.below(50'000'000)))));
  CollectiveJob job;
  job.operation = operation;
  job.team = {.size = workers, .stride = 1};
  job.share = {.total = size, .fractional = false, .split = {}};
  job.cost = bench.network.worst();
  job.network = &bench.network;
  bench.program = schedule_of(algorithm_named(name, ""), job);
  return bench;
}

// ---- the answers, from array recurrences

// A message between two workers, alpha at the ports.
struct Hop {
  Duration busy, fold;
};

Hop hop(const Network& network, int from, int to, double size_B, bool folds) {
  const PairCost cost = network.between(from, to);
  return {cost.latency + cost.per_byte.of(size_B), folds ? cost.reduce.of(size_B) : Duration()};
}

struct RingTimes {
  std::vector<Duration> large, small, large_fold, small_fold;  // by sender
  std::size_t larger = 0;                                      // how many chunks are large
};

RingTimes ring_times(const Bench& bench, int64_t n) {
  const int P = bench.network.workers();
  RingTimes times;
  times.larger = static_cast<std::size_t>(n % P);
  for (int i = 0; i < P; ++i) {
    const auto base = static_cast<double>(n / P);
    const Hop small = hop(bench.network, i, (i + 1) % P, base, true);
    const Hop large = hop(bench.network, i, (i + 1) % P, base + (n % P > 0 ? 1 : 0), true);
    times.small.push_back(small.busy);
    times.small_fold.push_back(small.fold);
    times.large.push_back(large.busy);
    times.large_fold.push_back(large.fold);
  }
  return times;
}

// In step s worker i sends chunk i - s; the all-gather goes on where the reduce-scatter ended.
// `as_it_comes`: messages do not wait for their receivers.
std::vector<Time> bare_ring(const RingTimes& times, std::vector<Time> now,
                            bool as_it_comes = false) {
  const std::size_t P = now.size();
  std::vector<Time> next(P);
  for (std::size_t step = 0; step < 2 * (P - 1); ++step) {
    const bool folds = step < P - 1;
    std::size_t chunk = (2 * P - step) % P;  // of worker 0
    std::size_t from = P - 1;
    bool in_large = (chunk + P - 1) % P < times.larger;
    for (std::size_t i = 0; i < P; ++i) {
      const bool out_large = chunk < times.larger;
      const Time sent = now[i] + (out_large ? times.large[i] : times.small[i]);
      const Time taken = (as_it_comes ? now[from] : std::max(now[i], now[from])) +
                         (in_large ? times.large[from] : times.small[from]);
      next[i] = std::max(sent, taken);
      if (folds) next[i] += in_large ? times.large_fold[from] : times.small_fold[from];
      if (++chunk == P) chunk = 0;
      from = i;
      in_large = out_large;
    }
    now.swap(next);
  }
  return now;
}

std::vector<Time> bare_doubling(const Bench& bench, double n) {
  std::vector<Time> now = bench.starts;
  for (std::size_t mask = 1; mask < now.size(); mask *= 2) {
    const std::vector<Time> old = now;
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::size_t other = i ^ mask;
      const int me = static_cast<int>(i);
      const Hop there = hop(bench.network, me, static_cast<int>(other), n, true);
      const Hop back = hop(bench.network, static_cast<int>(other), me, n, true);
      now[i] = std::max(old[i] + there.busy, std::max(old[i], old[other]) + back.busy) + back.fold;
    }
  }
  return now;
}

std::vector<Time> bare_tree(const Bench& bench, double n) {
  std::vector<Time> now = bench.starts;
  for (std::size_t mask = now.size() / 2; mask > 0; mask /= 2)
    for (std::size_t i = 0; i + mask < now.size(); i += 2 * mask) {
      const Hop way = hop(bench.network, static_cast<int>(i), static_cast<int>(i + mask), n, false);
      now[i + mask] = std::max(now[i], now[i + mask]) + way.busy;
      now[i] += way.busy;
    }
  return now;
}

// Block by block along the chain 0, 1, ..., P-1, as its end sees it.
Time bare_chain_end(const Bench& bench, int64_t blocks, double block_B) {
  const auto P = static_cast<std::size_t>(bench.network.workers());
  std::vector<Time> out = bench.starts;
  std::vector<Time> in = bench.starts;
  Time last;
  for (int64_t block = 0; block < blocks; ++block) {
    Time there = bench.starts[0];
    for (std::size_t i = 0; i + 1 < P; ++i) {
      const Hop way =
          hop(bench.network, static_cast<int>(i), static_cast<int>(i + 1), block_B, true);
      const Time end = std::max({there, out[i], in[i + 1]}) + way.busy;
      out[i] = end;
      in[i + 1] = there = end + way.fold;
    }
    last = there;
  }
  return last;
}

// ---- timing

void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5\n"; }

double resident_MB() {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kB = 0;
  while (status >> word)
    if (word == "VmHWM:") status >> kB;
  return kB / 1e3;
}

void time_it(benchmark::State& state, const Bench& bench, const PlayOptions& options, bool right) {
  if (!right) return state.SkipWithError("the answer is wrong");
  double messages = 0;
  forget_peak();
  for (auto _ : state) {
    const Played played = play(bench.program, bench.network, options, bench.starts);
    messages += static_cast<double>(played.traffic.messages);
    benchmark::DoNotOptimize(played.ends.data());
  }
  state.counters["resident_MB"] = resident_MB();
  state.counters["messages/s"] = benchmark::Counter(messages, benchmark::Counter::kIsRate);
}

void time_it(benchmark::State& state, const Bench& bench, PathChoice path, bool right) {
  time_it(state, bench, PlayOptions{.jitter = {}, .path = path}, right);
}

std::vector<Time> ends(const Bench& bench, PathChoice path) {
  return play(bench.program, bench.network, {AlphaRule::port, {}, path}, bench.starts).ends;
}

// n is no multiple of P: chunks of two sizes.
constexpr int64_t ring_B = 100'000'007;

void ring_bare(benchmark::State& state) {
  const Bench bench =
      bench_of("ring", Operation::allreduce, static_cast<int>(state.range(0)), Bytes(ring_B));
  const RingTimes times = ring_times(bench, ring_B);
  for (auto _ : state) benchmark::DoNotOptimize(bare_ring(times, bench.starts).data());
  state.counters["messages/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * 2 * state.range(0) * (state.range(0) - 1)),
      benchmark::Counter::kIsRate);
}

void ring(benchmark::State& state, PathChoice path) {
  const Bench bench =
      bench_of("ring", Operation::allreduce, static_cast<int>(state.range(0)), Bytes(ring_B));
  const bool right = ends(bench, path) == bare_ring(ring_times(bench, ring_B), bench.starts);
  time_it(state, bench, path, right);
}
void ring_rounds(benchmark::State& state) { ring(state, PathChoice::rounds); }
void ring_events(benchmark::State& state) { ring(state, PathChoice::events); }

// Over ports that could be shared; where all are alike none are, and the answer is that of rounds.
void ring_shared(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  Bench bench = bench_of("ring", Operation::allreduce, ranks, Bytes(int64_t{100'000} * ranks));
  bench.network = Network::uniform(ranks, bench.network.between(0, 1));
  bench.starts.assign(static_cast<std::size_t>(ranks), Time());
  const PlayOptions options{.jitter = {}, .path = PathChoice::events, .shares_ports = true};
  const bool right = play(bench.program, bench.network, options, bench.starts).ends ==
                     ends(bench, PathChoice::rounds);
  time_it(state, bench, options, right);
}

// Every rank has a port of its own.
void ring_shared_unlike(benchmark::State& state) {
  const Bench bench =
      bench_of("ring", Operation::allreduce, static_cast<int>(state.range(0)), Bytes(ring_B));
  const PlayOptions options{.jitter = {}, .path = PathChoice::fastest, .shares_ports = true};
  const bool right = play(bench.program, bench.network, options, bench.starts).ends ==
                     bare_ring(ring_times(bench, ring_B), bench.starts, true);
  time_it(state, bench, options, right);
}

// Messages meet at ports: the answer is that of events.
void recursive_doubling_shared_unlike(benchmark::State& state) {
  const Bench bench = bench_of("recursive_doubling", Operation::allreduce,
                               static_cast<int>(state.range(0)), Bytes(100'000));
  PlayOptions options{.jitter = {}, .path = PathChoice::events, .shares_ports = true};
  const std::vector<Time> right = play(bench.program, bench.network, options, bench.starts).ends;
  options.path = PathChoice::fastest;
  time_it(state, bench, options,
          play(bench.program, bench.network, options, bench.starts).ends == right);
}

void recursive_doubling_rounds(benchmark::State& state) {
  const Bench bench = bench_of("recursive_doubling", Operation::allreduce,
                               static_cast<int>(state.range(0)), Bytes(100'000));
  time_it(state, bench, PathChoice::rounds,
          ends(bench, PathChoice::rounds) == bare_doubling(bench, 100'000));
}

void recursive_doubling_events(benchmark::State& state) {
  const Bench bench = bench_of("recursive_doubling", Operation::allreduce,
                               static_cast<int>(state.range(0)), Bytes(100'000));
  time_it(state, bench, PathChoice::events,
          ends(bench, PathChoice::events) == bare_doubling(bench, 100'000));
}

void mst_rounds(benchmark::State& state) {
  const Bench bench =
      bench_of("mst", Operation::broadcast, static_cast<int>(state.range(0)), Bytes(100'000));
  time_it(state, bench, PathChoice::rounds,
          ends(bench, PathChoice::rounds) == bare_tree(bench, 100'000));
}

void ring_symmetric(benchmark::State& state) {
  const Bench bench =
      bench_of("ring", Operation::allreduce, static_cast<int>(state.range(0)), Bytes(ring_B), true);
  const int64_t rounds = state.range(0) - 1;
  const int64_t chunk = ring_B / state.range(0) + 1;
  const Time expected = Time() + (2 * rounds) * Duration::ps(1'000'000 + 80 * chunk) +
                        rounds * Duration::ps(10 * chunk);
  const Played played = play(bench.program, bench.network);
  time_it(state, bench, PathChoice::fastest,
          played.path == PathTaken::symmetric && played.last_end() == expected);
}

void lp_chain(benchmark::State& state) {
  const auto workers = static_cast<int>(state.range(0));
  Bench bench = bench_of("lp", Operation::reduce, workers, Bytes(100));
  auto& pipeline = std::get<TreePipeline>(bench.program.stages.front());
  pipeline.flows.front().blocks = {{65'536, 1000}};
  const Time expected = bare_chain_end(bench, 1000, 65'536);
  time_it(state, bench, PathChoice::rounds, ends(bench, PathChoice::rounds).back() == expected);
}

BENCHMARK(ring_bare)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_rounds)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_events)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_shared)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_shared_unlike)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(recursive_doubling_shared_unlike)->Arg(1 << 16)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_symmetric)->Arg(1 << 20)->Unit(benchmark::kMillisecond);
BENCHMARK(recursive_doubling_rounds)->Arg(1 << 16)->Unit(benchmark::kMillisecond);
BENCHMARK(recursive_doubling_events)->Arg(1 << 16)->Unit(benchmark::kMillisecond);
BENCHMARK(mst_rounds)->Arg(1 << 20)->Unit(benchmark::kMillisecond);
BENCHMARK(lp_chain)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sgdsim
