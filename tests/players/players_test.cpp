// 10,000 random small steps through both players and both networks.
//
// The players: in dependence, collective by collective, as a step is played where it can be; and in
// time, message by message, as jobs that share a cluster are (models/step/jobs_in_time.h). The
// networks: ports, and the wires of a cluster. It is a program of its own because it needs only the
// rooms that simulate, so that it is cheap to build with sanitizers.
#include <array>
#include <doctest/doctest.h>
#include <numeric>

#include "models/collective/registry.h"
#include "models/compression/registry.h"
#include "models/step/jobs_in_time.h"
#include "sim/core/error.h"
#include "sim/net/port_resources.h"
#include "tests/step_cases.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

constexpr int experiments = 10'000;

enum class Shape : uint8_t { one_switch, racks, fat_tree };

// How messages of a step follow one another.
enum class Kind : uint8_t { in_order, pipe_sgd, local_sgd, priority, bsp_lp, anew };
constexpr std::array overlapping{Kind::pipe_sgd, Kind::local_sgd, Kind::priority, Kind::bsp_lp,
                                 Kind::anew};

struct Drawn {
  std::string text;
  StepCase step;
  Kind kind = Kind::in_order;
  Strategy strategy;
  std::optional<Synchronization> synchronization;
  const Algorithm* algorithm = nullptr;
  bool differs = false;  // one iteration sends other messages than the next
  Shape shape = Shape::one_switch;
  bool alpha_on_wire = true;
  bool equal_chunks = true;

  StepQuestion question(Fidelity fidelity) const {
    StepQuestion question = step.question(strategy, fidelity);
    if (synchronization) question.synchronization = &*synchronization;
    return question;
  }
  StepResult play(Fidelity fidelity) const { return simulate_step(question(fidelity)); }
  // At ports, a message waits for its receiver and takes its turn. Where all go in step and each
  // sends to one worker, nobody waits.
  bool nobody_waits() const {
    const std::string_view name = algorithm->name;
    const int workers = step.cluster.network.workers();
    const bool in_pairs = (workers & (workers - 1)) == 0 &&
                          (name == "recursive_doubling" || name == "halving_doubling");
    return shape == Shape::one_switch && equal_chunks && step.workers.all_alike() &&
           (name == "ring" || in_pairs);
  }
};

Cluster draw_cluster(Random& random, Shape shape, int nodes) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
  const auto link = [&] {
    return Json{{"latency", std::to_string(1 + below(4000)) + " ns"},
                {"per_byte", std::to_string(1 + below(1000)) + " ps/B"}};
  };
  Json json = {{"nodes", nodes}, {"nic", link()}};
  json["nic"]["reduce"] = std::to_string(below(2) * below(500)) + " ps/B";
  switch (shape) {
    case Shape::one_switch:
      json["shape"] = "single_switch";
      break;
    case Shape::racks:
      json["shape"] = "leaf_spine";
      json["nodes_per_leaf"] = 1 + below(4);
      json["spines"] = 1 + below(3);
      json["uplink"] = link();
      break;
    case Shape::fat_tree:
      json["shape"] = "fat_tree";
      json["k"] = 4;
      json["uplink"] = link();
      break;
  }
  return read_cluster(Value(json, "drawn", "")).cluster;
}

Trace draw_trace(Random& random) {
  Trace trace;
  const auto layers = 1 + random.below(4);
  for (uint64_t l = 0; l < layers; ++l) {
    Layer layer;
    layer.name = std::to_string(l);
    layer.parameters = static_cast<int64_t>(random.below(5'000));
    layer.gradient = Bytes(4 * layer.parameters);
    layer.forward = Duration::ns(static_cast<int64_t>(random.below(4'000)));
    layer.backward = Duration::ns(static_cast<int64_t>(random.below(8'000)));
    trace.layers.push_back(layer);
  }
  trace.update = Duration::ns(static_cast<int64_t>(random.below(2) * random.below(3'000)));
  return trace;
}

// Cycles of a few of the messages, or of many, which may begin later than gradients are ready.
Json draw_horovod(Random& random) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
  return {{"name", "horovod"},
          {"preset", below(2) == 0 ? "2018" : "0.28"},
          {"threshold", std::to_string(1 + below(40'000)) + " B"},
          {"cycle", std::to_string(1 + below(30'000'000)) + " ps"},
          {"blocking", below(2) == 0}};
}

// One that has a density, which changes up to twice. Its collective is the algorithm, which may not
// have it: then InputError.
void draw_compression(Random& random, Drawn& drawn, CollectiveJob job) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
  static const std::vector<std::string> names = {"topk", "topk2", "gtopk", "lags"};
  Json densities = Json::array();
  for (int64_t left = below(3); left >= 0; --left) {
    Json step = {{"density", static_cast<double>(1 + below(500)) / 1000}};
    if (left > 0) step["iterations"] = 1;
    densities.push_back(step);
  }
  const Json json = {{"name", names[random.below(names.size())]},
                     {"density", densities},
                     {"whole_entries", false},
                     {"selection", {{"per_byte", std::to_string(below(300)) + " ps/B"}}}};
  drawn.text += " " + json.dump();
  drawn.differs = drawn.differs || densities.size() > 1;
  drawn.step.iterations = std::max(drawn.step.iterations, 3);
  const Value value(json, "drawn", "");
  Object fields(value);
  const Compression compression =
      read_compression(fields, {drawn.step.trace, drawn.step.cluster.network.workers(), job.cost});
  job.operation = compression.operation;
  job.cost = worst_of_job(*drawn.algorithm, job);
  drawn.step.cost =
      MessageCost::compressed(MessageCost::of_algorithm(*drawn.algorithm, job), compression);
}

void draw_kind(Random& random, Drawn& drawn) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random.below(limit)); };
  const auto size = [&](int64_t least) { return std::to_string(least + below(30'000)) + " B"; };
  static const std::vector<std::string> in_order = {"naive", "wfbp", "sync_easgd", "mg_wfbp",
                                                    "optimal"};
  Json strategy = in_order[random.below(in_order.size())];
  Json synchronization;
  switch (drawn.kind) {
    case Kind::in_order:
      break;
    case Kind::pipe_sgd:
      synchronization = {{"name", "pipe_sgd"},
                         {"width", 1 + below(4)},
                         {"synchronous_iterations", below(4)},
                         {"communication", below(2) == 0 ? "layerwise" : "sequential"}};
      if (below(4) == 0) strategy = draw_horovod(random);
      if (synchronization["communication"] == "sequential") strategy = "sync_easgd";
      break;
    case Kind::local_sgd:
      strategy = "sync_easgd";
      drawn.step.iterations = 4;
      drawn.step.warm_up *= 4;
      synchronization = {{"name", "local_sgd"}, {"steps", 1 << below(3)}};
      break;
    case Kind::priority:
      strategy = {{"name", "p3"}, {"slice", size(3000)}};
      if (below(2) == 0)
        strategy = {{"name", "bytescheduler"}, {"partition", size(3000)}, {"credit", size(0)}};
      break;
    case Kind::anew:
      strategy = draw_horovod(random);
      drawn.step.iterations = 3;
      drawn.differs = true;
      break;
    case Kind::bsp_lp: {
      static const std::vector<std::string> forms = {"serial", "lockstep", "fifo"};
      strategy = {{"name", "bsp_lp"}, {"form", forms[random.below(3)]}, {"drain", below(2) == 0}};
      if (drawn.step.broadcast.is_known() && below(2) == 0)
        strategy["exchange"] = "broadcast_reduce";
      break;
    }
  }
  drawn.text += " " + strategy.dump() + " " + synchronization.dump();
  drawn.strategy = read_strategy(Value(strategy, "drawn", ""));
  if (!synchronization.is_null())
    drawn.synchronization = read_synchronization(Value(synchronization, "drawn", ""));
}

// False if the algorithm refuses. `nobody_waits`: see there.
bool draw(Random& random, Drawn& drawn, Kind kind, bool nobody_waits = false) {
  drawn.kind = kind;
  drawn.algorithm = &algorithms()[random.below(algorithms().size())];
  drawn.shape = static_cast<Shape>(nobody_waits ? 0 : random.below(3));
  const int nodes = 2 + static_cast<int>(random.below(7));
  StepCase& step = drawn.step;
  step.cluster = draw_cluster(random, drawn.shape, nodes);
  step.trace = draw_trace(random);
  step.iterations = 2;
  step.warm_up = static_cast<int>(random.below(2));
  step.seed = random.below(1'000'000);
  if (!nobody_waits && random.below(2) == 0) step.workers.slowness = {{0, 1.3}};
  if (!nobody_waits && random.below(3) == 0)
    step.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.2}};
  drawn.alpha_on_wire = random.below(2) == 0;
  CollectiveJob job;
  job.team = {.size = nodes, .stride = 1};
  drawn.equal_chunks = nobody_waits || random.below(2) == 0;
  job.share = {.total = Bytes(1), .fractional = drawn.equal_chunks, .split = {}};
  job.options.fractional_chunks = drawn.equal_chunks;
  job.options.alpha = drawn.alpha_on_wire ? AlphaRule::wire : AlphaRule::port;
  if (drawn.algorithm->takes_block)
    job.block = Bytes(500 + static_cast<int64_t>(random.below(5'000)));
  job.workers_per_node = step.cluster.workers_per_node;
  job.grid = step.cluster.grid;
  job.network = &step.cluster.network;
  drawn.text = std::string(drawn.algorithm->name) + " on shape " +
               std::to_string(static_cast<int>(drawn.shape)) + ", " + std::to_string(nodes) +
               " nodes, seed " + std::to_string(step.seed);
  if (nobody_waits && !drawn.nobody_waits()) return false;
  try {
    job.cost = worst_of_job(*drawn.algorithm, job);
    schedule_of(*drawn.algorithm, job);
    step.cost = MessageCost::of_algorithm(*drawn.algorithm, job);
    if (kind == Kind::bsp_lp && drawn.algorithm->offers(Operation::broadcast) &&
        drawn.algorithm->offers(Operation::reduce)) {
      job.operation = Operation::broadcast;
      step.broadcast = MessageCost::of_algorithm(*drawn.algorithm, job);
      job.operation = Operation::reduce;
      step.reduce = MessageCost::of_algorithm(*drawn.algorithm, job);
    }
    draw_kind(random, drawn);
    const bool may_compress = kind != Kind::bsp_lp && kind != Kind::local_sgd;
    if (may_compress && random.below(4) == 0) draw_compression(random, drawn, job);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// Message by message, over these. `carried_B`: filled in, by each resource in an iteration.
std::vector<Duration> in_time(const Drawn& drawn, Resources& shared,
                              std::vector<double>* carried_B = nullptr) {
  const StepQuestion question = drawn.question(Fidelity::flow);
  TrainingJob job{&question, {}, Time()};
  job.goes_on = true;
  for (int i = 0; i < question.cluster->network.workers(); ++i) job.places.push_back(i);
  JobsInTime jobs({.jobs = {job}, .network = &question.cluster->network, .wires = &shared});
  StepQuestion accounted = question;
  accounted.played = [&](int iteration) { return jobs.times_of(0, iteration); };
  std::vector<Duration> iterations = simulate_step(accounted).iterations;
  if (carried_B == nullptr) return iterations;
  const int asked_for = question.warm_up + question.iterations;
  const int behind = iterations_behind(question);
  for (int more = 0; more < behind; ++more) jobs.times_of(0, asked_for + more);
  *carried_B = jobs.carried_B();
  for (double& bytes : *carried_B) bytes /= asked_for + behind;
  return iterations;
}

bool are_within(const std::vector<Duration>& a, const std::vector<Duration>& b, int64_t off_ps) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::abs((a[i] - b[i]).ps()) > off_ps) return false;
  return true;
}

}  // namespace

TEST_CASE("players: random steps in dependence and in time, on ports and on wires") {
  Random random(41);
  int played = 0;
  int in_dependence = 0;  // on wires
  int on_ports = 0;
  int without_contention = 0;
  int far_off = 0;
  while (played < experiments) {
    const Kind kind =
        random.below(2) == 0 ? Kind::in_order : overlapping[random.below(overlapping.size())];
    Drawn drawn;
    if (!draw(random, drawn, kind)) continue;
    CAPTURE(drawn.text);
    StepResult ports;
    try {
      ports = drawn.play(Fidelity::message);
    } catch (const InputError&) {
      continue;  // a strategy that needs a closed form where there is none
    }
    ++played;
    const StepResult wires = drawn.play(Fidelity::flow);
    const int64_t off_ps = 2 * ports.message_count;  // one for a start, one for an end
    // Where messages share ports, a picosecond may grow from exchange to exchange; where blocks are
    // due in the same one, rounding decides which of them goes first.
    const int64_t part = drawn.algorithm->takes_block ? 100 : 1000;
    const int64_t most_off_ps = std::max(off_ps, ports.total().ps() / part);
    // What is fused depends on where an iteration before ended.
    REQUIRE((kind == Kind::anew || wires.message_count == ports.message_count));
    const auto own_wires = drawn.step.cluster.wires({});
    std::vector<double> carried_B;
    const std::vector<Duration> wires_in_time = in_time(drawn, *own_wires, &carried_B);
    far_off += are_within(wires_in_time, wires.iterations, off_ps) ? 0 : 1;
    REQUIRE(are_within(wires_in_time, wires.iterations, most_off_ps));
    REQUIRE(wires.warnings.size() == ports.warnings.size());
    // Chunks differ by a byte, and one round of a ring stands for all.
    const double off_B =
        1e-3 + (drawn.equal_chunks ? 0. : static_cast<double>(ports.message_count));
    // What was played in time takes in the warm-up, and what follows the last iteration.
    const bool are_alike = !drawn.differs;
    for (const LinkUse& link : wires.wires.busiest)
      REQUIRE((!are_alike || std::abs(carried_B[link.resource] - link.carried_B) <= off_B));
    // At one switch, every byte takes two of them.
    if (drawn.shape == Shape::one_switch && are_alike)
      REQUIRE(std::accumulate(carried_B.begin(), carried_B.end(), 0.0) / 2 ==
              doctest::Approx(wires.wire_B).epsilon(1e-9));
    in_dependence += wires.path != "events" ? 1 : 0;
    PortResources own_ports(drawn.step.cluster.network);
    const std::vector<Duration> ports_in_time = in_time(drawn, own_ports);
    // At one switch, the links of workers are their ports.
    if (drawn.shape == Shape::one_switch && drawn.alpha_on_wire) {
      far_off += are_within(ports_in_time, wires_in_time, off_ps) ? 0 : 1;
      REQUIRE(are_within(ports_in_time, wires_in_time, most_off_ps));
      ++on_ports;
    }
    if (!drawn.nobody_waits()) continue;
    REQUIRE(are_within(ports_in_time, ports.iterations, off_ps));
    REQUIRE(are_within(wires.iterations, ports.iterations, off_ps));
    ++without_contention;
  }
  CHECK(far_off <= experiments / 1000);
  CHECK(in_dependence >= experiments / 10);
  CHECK(on_ports >= experiments / 10);
  CHECK(without_contention >= experiments / 100);
}

// Collectives and iterations that overlap, where no two messages want one port.
TEST_CASE("players: random steps that overlap, without contention") {
  Random random(47);
  for (const Kind kind : overlapping)
    for (int played = 0; played < experiments / 25;) {
      Drawn drawn;
      if (!draw(random, drawn, kind, true)) continue;
      ++played;
      CAPTURE(drawn.text);
      const StepResult ports = drawn.play(Fidelity::message);
      const StepResult wires = drawn.play(Fidelity::flow);
      const int64_t off_ps = 2 * ports.message_count * (drawn.step.iterations + drawn.step.warm_up);
      REQUIRE(are_within(wires.iterations, ports.iterations, off_ps));
      const auto own_wires = drawn.step.cluster.wires({});
      REQUIRE(are_within(in_time(drawn, *own_wires), ports.iterations, off_ps));
      PortResources own_ports(drawn.step.cluster.network);
      REQUIRE(are_within(in_time(drawn, own_ports), ports.iterations, off_ps));
    }
}

// Workers that do not wait for each other, all of them at the ports of a few servers.
TEST_CASE("players: random asynchronous steps, on ports and on wires") {
  Random random(43);
  for (int played = 0; played < experiments / 10; ++played) {
    const int workers = 1 + static_cast<int>(random.below(6));
    const int servers = 1 + static_cast<int>(random.below(3));
    StepCase step;
    Cluster all = draw_cluster(random, static_cast<Shape>(random.below(3)), workers + servers);
    step.cluster = all;
    step.cluster.network = all.network.first(workers);
    step.trace = draw_trace(random);
    step.iterations = 1 + static_cast<int>(random.below(4));
    step.warm_up = static_cast<int>(random.below(2));
    if (random.below(2) == 0) step.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.3}};
    const Json json = {{"servers", servers}, {"alpha", random.below(2) == 0 ? "port" : "wire"}};
    step.cost = MessageCost::of_servers(
        read_parameter_servers(Value(json, "drawn", ""), step.cluster.network));
    const int bound = static_cast<int>(random.below(4)) - 1;  // -1: none
    const Synchronization synchronization{.name = "drawn", .rule = AsynchronousRule{bound}};
    const Strategy strategy = strategy_named("sync_easgd", "test");
    StepQuestion question = step.question(strategy, Fidelity::message);
    question.synchronization = &synchronization;
    CAPTURE(played);
    const StepResult ports = simulate_step(question);
    question.fidelity = Fidelity::flow;
    const auto wires = all.wires({});
    TrainingJob job{&question, {}, Time() + Duration::us(5)};
    for (int i = 0; i < workers + servers; ++i)
      (i < workers ? job.places : job.server_places).push_back(i);
    JobsInTime jobs({.jobs = {job}, .network = &all.network, .wires = wires.get()});
    const AsynchronousWorkers& flows = jobs.asynchronous(0);
    REQUIRE(flows.result().iterations.size() == ports.iterations.size());
    // No wire has carried more than it can, but for what times are rounded by.
    const int messages = 2 * workers * servers * (step.iterations + step.warm_up + 1);
    const auto capacities = wires->capacities();
    const auto length_ps = static_cast<double>((jobs.end() - flows.start()).ps());
    for (std::size_t way = 0; way < capacities.size(); ++way)
      CHECK(jobs.carried_B()[way] <= capacities[way] * (length_ps + messages));
  }
}
