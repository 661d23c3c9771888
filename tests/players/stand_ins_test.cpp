// One worker stands for all that are alike, and every worker is played: the same picoseconds.
#include "sim/play/stand_ins.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <optional>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/net/port_resources.h"
#include "sim/play/play_in_time.h"
#include "tests/cluster_cases.h"

using namespace sgdsim;

namespace {

constexpr int experiments = 3'000;

struct Drawn {
  std::string text;
  Cluster cluster;
  std::unique_ptr<Resources> wires;  // null: ports
  std::vector<Program> programs;     // of each size
  std::vector<Call> calls;
  SharingOptions options;
};

// Groups of workers and all alike, or some slower.
Json draw_shape(Random& random) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
  const auto link = [&] {
    return Json{{"latency", std::to_string(below(4000)) + " ns"},
                {"per_byte", std::to_string(1 + below(300)) + " ps/B"}};
  };
  Json json = {{"nodes", int64_t{1} << (1 + below(4))}, {"nic", link()}};
  if (below(3) == 0) json["nodes"] = 2 + below(14);
  switch (below(4)) {
    case 0:
      json["shape"] = "single_switch";
      break;
    case 1:
      json["shape"] = "leaf_spine";
      json["nodes_per_leaf"] = 1 + below(4);
      json["spines"] = 1 + below(3);
      json["uplink"] = link();
      break;
    case 2:
      json["shape"] = "fat_tree";
      json["nodes"] = 2 + below(15);
      json["k"] = 4;
      json["uplink"] = link();
      break;
    default:
      json["shape"] = "nvlink_box";
      json["nodes"] = 1 + below(5);
      json["gpus_per_node"] = 4;
      json["nics_per_node"] = 1 << below(3);
      json["gpu_link"] = link();
  }
  return json;
}

// False if the algorithm refuses.
bool draw(Random& random, Drawn& drawn) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
  const Json shape = draw_shape(random);
  drawn.cluster = cluster_of(shape);
  const int workers = drawn.cluster.network.workers();
  const Algorithm& algorithm = algorithms()[random.below(algorithms().size())];
  if (algorithm.takes_block || algorithm.name == "double_binary_tree") return false;  // no rounds
  CollectiveJob job;
  job.operation = algorithm.operations[random.below(algorithm.operations.size())];
  job.team = {.size = workers, .stride = 1};
  job.workers_per_node = drawn.cluster.workers_per_node;
  job.grid = drawn.cluster.grid;
  job.network = &drawn.cluster.network;
  job.options.alpha = below(2) == 0 ? AlphaRule::wire : AlphaRule::port;
  const bool is_even = below(4) != 0;
  const Routing routing = static_cast<Routing>(below(3));
  const bool on_wires = below(2) == 0;
  drawn.text = shape.dump() + " " + std::string(algorithm.name) + " " +
               std::string(name_of(job.operation)) + (on_wires ? " on wires " : " on ports ") +
               std::string(name_of(routing));
  const auto calls = static_cast<std::size_t>(1 + below(4));
  const Bytes usual(workers * (1 + below(100'000)));
  try {
    for (std::size_t i = 0; i < calls; ++i) {
      job.share.total = i > 0 && below(2) == 0 ? Bytes(workers * below(100'000)) : usual;
      if (!is_even) job.share.total = Bytes(1 + below(1'000'000));
      drawn.text += " " + std::to_string(job.share.total.count()) + " B";
      job.cost = worst_of_job(algorithm, job);
      drawn.programs.push_back(schedule_of(algorithm, job));
    }
  } catch (const InputError&) {
    return false;
  }
  if (on_wires) drawn.wires = drawn.cluster.wires({routing, 7});
  drawn.options = {.alpha = job.options.alpha,
                   .resources = drawn.wires.get(),
                   .at_once = static_cast<int>(1 + below(3))};
  const int64_t slow =
      below(3) == 0 ? below(static_cast<uint64_t>(workers)) : -1;  // every so many-th
  for (const Program& program : drawn.programs) {
    Call& call = drawn.calls.emplace_back();
    call = {&program, &drawn.cluster.network, {}, Duration::ns(below(2) * 300)};
    const Time ready = Time() + Duration::ns(below(100'000));
    for (int i = 0; i < workers; ++i)
      call.ready.push_back(slow > 0 && i % slow == 0 ? ready + Duration::ns(777) : ready);
  }
  return true;
}

std::optional<StandIns> stand_ins_of(Drawn& drawn) {
  PortResources ports(drawn.cluster.network);
  Resources& shared = drawn.wires ? *drawn.wires : ports;
  std::vector<PlayedProgram> programs;
  std::vector<uint64_t> first(static_cast<std::size_t>(drawn.cluster.network.workers()));
  for (const Call& call : drawn.calls) {
    programs.push_back({call.program, call.network});
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = mixed(first[i], static_cast<uint64_t>(call.ready[i].since_start().ps()));
  }
  return find_stand_ins(programs, first, &shared,
                        shared.are_routes() ? AlphaRule::wire : drawn.options.alpha);
}

// Workers that are alike end all calls together.
bool are_together(const StandIns& stand_ins, const std::vector<CallTimes>& all) {
  return std::all_of(all.begin(), all.end(), [&](const CallTimes& one) {
    for (std::size_t w = 0; w < one.ends.size(); ++w) {
      const int played = stand_ins.workers[stand_ins.number_of[w]];
      if (one.ends[w] != one.ends[static_cast<std::size_t>(played)]) return false;
    }
    return true;
  });
}

}  // namespace

// Where the players differ, it is because sums of rates are rounded in another order: then workers
// that are alike do not end together where all are played either, by a few picoseconds.
TEST_CASE("stand-ins: random collectives in flight end as where every worker is played") {
  Random random(35);
  int exact = 0;
  int several_classes = 0;
  int shared = 0;
  int off = 0;
  for (int played = 0; played < experiments;) {
    Drawn drawn;
    if (!draw(random, drawn)) continue;
    ++played;
    CAPTURE(drawn.text);
    const std::optional<StandIns> found = stand_ins_of(drawn);
    drawn.options.reduction = Reduction::never;
    const std::vector<CallTimes> all = play_in_time(drawn.calls, drawn.options);
    drawn.options.reduction = Reduction::always;
    const std::vector<CallTimes> some = play_in_time(drawn.calls, drawn.options);
    REQUIRE(all.size() == some.size());
    int64_t off_ps = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t w = 0; w < all[i].ends.size(); ++w)
        off_ps = std::max({off_ps, std::abs((all[i].ends[w] - some[i].ends[w]).ps()),
                           std::abs((all[i].starts[w] - some[i].starts[w]).ps())});
    const bool is_exact = !found || found->is_exact;
    CAPTURE(off_ps);
    if (is_exact) REQUIRE(off_ps == 0);
    // Picoseconds may grow where many share a wire: then those that are alike are not together.
    if (found && are_together(*found, all))
      REQUIRE(off_ps <= all.back().ends.front().since_start().ps() / 1'000'000);
    off += off_ps > 0 ? 1 : 0;
    if (!found) continue;
    exact += is_exact ? 1 : 0;
    shared += is_exact ? 0 : 1;
    several_classes += found->workers.size() > 1 ? 1 : 0;
  }
  CHECK(off <= experiments / 50);
  CHECK(exact > experiments / 50);
  CHECK(shared > experiments / 20);
  CHECK(several_classes > experiments / 20);
}

// A byte of a thousand.
TEST_CASE("stand-ins: chunks as large as the largest hardly change when all has ended") {
  Random random(351);
  int unlike = 0;
  int large = 0;
  for (int played = 0; played < 300; ++played) {
    const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
    const int workers = static_cast<int>(3 + below(30));
    const int64_t per_byte_ps = 1 + below(300);
    const Json shape = {{"shape", "single_switch"},
                        {"nodes", workers},
                        {"nic",
                         {{"latency", std::to_string(below(4000)) + " ns"},
                          {"per_byte", std::to_string(per_byte_ps) + " ps/B"}}}};
    const Cluster cluster = cluster_of(shape);
    CollectiveJob job;
    job.operation = Operation::allreduce;
    job.team = {.size = workers, .stride = 1};
    job.workers_per_node = cluster.workers_per_node;
    job.network = &cluster.network;
    const Algorithm& ring = *std::find_if(algorithms().begin(), algorithms().end(),
                                          [](const Algorithm& one) { return one.name == "ring"; });
    std::vector<Program> programs;
    const bool is_small = below(3) == 0;
    for (int64_t calls = 1 + below(5); calls > 0; --calls) {
      job.share.total =
          Bytes(is_small ? 1 + below(1000) : int64_t{1000} * workers + below(1'000'000));
      job.cost = worst_of_job(ring, job);
      programs.push_back(schedule_of(ring, job));
    }
    std::vector<Call> calls;
    for (const Program& program : programs)
      calls.push_back({&program, &cluster.network,
                       std::vector<Time>(static_cast<std::size_t>(workers),
                                         Time() + Duration::ns(below(100'000))),
                       Duration()});
    SharingOptions options{.at_once = static_cast<int>(1 + below(3))};
    CAPTURE(shape.dump());
    options.reduction = Reduction::never;
    const std::vector<CallTimes> exact = play_in_time(calls, options);
    options.reduction = Reduction::fitting;
    bool pads = false;
    options.padded_chunks_from = 0;
    options.pads_chunks = &pads;
    const std::vector<CallTimes> padded = play_in_time(calls, options);
    const bool is_even = std::all_of(programs.begin(), programs.end(), [&](const Program& one) {
      return bytes_of(one) / 2 % workers == 0;  // of both phases
    });
    CHECK(pads == !is_even);
    unlike += pads ? 1 : 0;
    const Time last = *std::max_element(exact.back().ends.begin(), exact.back().ends.end());
    const double off = std::abs(static_cast<double>((padded.back().ends.front() - last).ps()));
    const bool are_large = std::all_of(programs.begin(), programs.end(), [&](const Program& one) {
      return bytes_of(one) / 2 >= int64_t{1000} * workers;
    });
    // Chunks of few bytes may change who comes first; of none, whether a port is used at all.
    if (are_large) CHECK(off <= 1e-4 * static_cast<double>((last - Time()).ps()));
    large += are_large ? 1 : 0;
  }
  CHECK(large > 50);
  CHECK(unlike > 200);
}

// Collectives of shifts over wires: classes follow from turns of the workers' numbers.
TEST_CASE("stand-ins: what is turned ends as where every worker is played") {
  Random random(352);
  int found_any = 0;
  int found_exact = 0;
  for (int played = 0; played < 400;) {
    const Json shape = draw_shape(random);
    const Cluster cluster = cluster_of(shape);
    const int workers = cluster.network.workers();
    if (workers < 3) continue;
    ++played;
    CollectiveJob job;
    job.team = {.size = workers, .stride = 1};
    job.workers_per_node = cluster.workers_per_node;
    job.grid = cluster.grid;
    job.network = &cluster.network;
    job.on_wires = true;
    job.options.alpha = AlphaRule::wire;
    job.operation = random.below(3) == 0 ? Operation::allreduce : Operation::alltoall;
    const std::string name =
        random.below(4) == 0 && job.operation == Operation::allreduce ? "ring" : "direct";
    const Algorithm& algorithm =
        *std::find_if(algorithms().begin(), algorithms().end(),
                      [&](const Algorithm& one) { return one.name == name; });
    job.share.total = Bytes(workers * static_cast<int64_t>(1 + random.below(100'000)));
    job.cost = worst_of_job(algorithm, job);
    const Program program = schedule_of(algorithm, job);
    const Call call{&program, &cluster.network,
                    std::vector<Time>(static_cast<std::size_t>(workers)), Duration()};
    const auto wires =
        cluster.wires({random.below(2) == 0 ? Routing::split : Routing::by_destination, 7});
    CAPTURE(shape.dump());
    CAPTURE(name);
    CAPTURE(std::string(name_of(job.operation)));
    const PlayedProgram one{&program, &cluster.network};
    const std::optional<StandIns> found =
        find_turned({&one, 1}, std::vector<uint64_t>(static_cast<std::size_t>(workers)), *wires);
    SharingOptions options{.alpha = AlphaRule::wire, .resources = wires.get()};
    std::vector<double> carried_B;
    options.carried_B = &carried_B;
    options.reduction = Reduction::never;
    const Time all = play_in_time({&call, 1}, options).front().ends.front();
    const std::vector<double> of_all = carried_B;
    options.reduction = Reduction::fitting;
    options.reduced_from = 0;
    options.asks_carried = false;
    carried_B.clear();
    const Time some = play_in_time({&call, 1}, options).front().ends.front();
    const int64_t off_ps = std::abs((all - some).ps());
    if (!found) continue;
    ++found_any;
    found_exact += found->is_exact ? 1 : 0;
    CHECK(std::accumulate(found->sizes.begin(), found->sizes.end(), 0U) ==
          static_cast<uint32_t>(workers));
    CHECK(off_ps <= (all - Time()).ps() / 1'000'000);
    REQUIRE(carried_B.size() == of_all.size());
    for (std::size_t way = 0; way < of_all.size(); ++way)
      CHECK(carried_B[way] == doctest::Approx(of_all[way]).epsilon(1e-6));
  }
  CHECK(found_any > 200);
  CHECK(found_exact > 10);
}
