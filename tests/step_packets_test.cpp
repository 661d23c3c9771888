// Steps as packets, what each GPU did when, and what happens to wires meanwhile: against formulas
// and what is drawn by hand.
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/training/memory.h"
#include "models/training/stage_costs.h"
#include "models/training/step_on_wires.h"
#include "models/transport/transport.h"
#include "study/layout/layout_files.h"
#include "tests/packet_cases.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

using packet_cases::fat_tree;
using packet_cases::leaf_spine;
using packet_cases::rack_of;

constexpr int64_t tokens = 2048;          // of a sequence
constexpr double per_byte_s = 8 / 100e9;  // of a link
constexpr double packet_s = 4096 * per_byte_s;

struct LayoutCase {
  Transformer model = small_model();
  Layout layout;
  Cluster cluster;
  Gpu gpu = load_gpu("h100");

  LayoutCase(const std::string& text, Cluster on)
      : layout(parse_layout(text, "")), cluster(std::move(on)) {
    model.layers = 4;
    model.kv_heads = model.heads;
    model.vocabulary = 1;
  }
  TrainingStep step() const { return {model, layout, tokens, gpu, Precision::bf16}; }
  StepOnWires on(const StepWires& how = {}, const LayoutPlay& options = {}) const {
    GroupTimes groups(cluster, layout.gpus());
    return play_on_wires(step(), cluster, groups, how, options);
  }
  double seconds(const StepWires& how = {}) const { return on(how).step.time.s(); }
  // Of the gradients of a rank, in fp32.
  double gradients_B() const { return 4 * rank_parameters(model, layout, 0).outside_experts(); }
};

StepWires packets(const std::string& transport, uint64_t seed = 1) {
  const Json json = transport_in(transport);
  const Value value(json, "test", "");
  StepWires how;
  how.carrier = carrier_of(value, {}, seed);
  how.payload = read_transport(value, {}, seed).payload();
  return how;
}

// The links of a worker at a switch.
WireChange at_worker(const Cluster& cluster, const std::string& vertex, double at_s,
                     double factor) {
  const auto wires = cluster.wires({});
  WireChange change{Time() + Duration::nearest_ps(at_s * 1e12), {}, factor, -1};
  for (uint32_t way = 0; way < wires->capacities().size(); ++way) {
    const ResourceName name = wires->name_of(way);
    if (name.from == vertex || name.to == vertex) change.resources.push_back(way);
  }
  REQUIRE(change.resources.size() == 2);
  return change;
}

double seconds_between(Time from, Time to) { return (to - from).s(); }

}  // namespace

// A message of whole packets over two links takes one packet's time more than a fluid. Activations
// are 2,048 x 1,024 x 2 bytes. Pipeline: there and back. Tensor parallelism: two all-reduces of two
// rounds a layer and pass.
TEST_CASE("steps as packets: without contention, each message stores one packet") {
  struct Row {
    const char* layout;
    int gpus;
    int messages;  // one after the other
  };
  for (const Row& row : std::vector<Row>{{"pp2", 2, 2},
                                         {"pp4", 4, 6},
                                         {"tp2", 2, 4 * 2 * 2 * 2},
                                         {"tp2 ga3", 2, 3 * 4 * 2 * 2 * 2},
                                         {"tp4 sp", 4, 4 * 4 * 2 * 3}}) {
    CAPTURE(row.layout);
    const LayoutCase step(row.layout, cluster_of(rack_of(row.gpus)));
    const double more_s = step.seconds(packets("ideal")) - step.seconds();
    // Times of packets are rounded to picoseconds, some thousand in a row.
    CHECK(more_s == doctest::Approx(row.messages * packet_s).epsilon(1e-4));
  }
}

TEST_CASE("steps as packets: the same seed gives the same picoseconds, another one does not") {
  const LayoutCase step("tp4 dp4 zero1 ga2", cluster_of(fat_tree(4)));
  const double once_s = step.seconds(packets("ideal spray=random", 7));
  CHECK(step.seconds(packets("ideal spray=random", 7)) == once_s);
  CHECK(step.seconds(packets("ideal spray=random", 8)) != once_s);
  CHECK(once_s >= step.seconds());
}

TEST_CASE("steps as packets: more packets than are played are refused") {
  const LayoutCase step("dp2", cluster_of(rack_of(2)));
  StepWires how = packets("ideal");
  how.payload = {.packet_B = 1};  // gradients are more than 50 MB
  CHECK_THROWS_WITH_AS(step.on(how), doctest::Contains("more than 100 million packets"),
                       InputError);
}

// What is computed is the step's, one thing after the other, and the last slice ends with the step.
TEST_CASE("steps on wires: slices are what was played") {
  for (const std::string text :
       {"tp2 sp ga2", "pp2 ga4 schedule=zb1p", "pp2 vp2 ga4", "dp4 zero3 ga2", "cp4 overlap=off",
        "tp2 pp2 dp2 ga4 zero1 recompute=full", "pp2 ga4 schedule=dualpipe",
        "pp2 vp2 ga3 schedule=zbv", "cp2 context=gather", "dp4 zero1 hsdp2"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    const LayoutCase asked(text, cluster_of(rack_of(static_cast<int>(layout.gpus()))));
    const StepOnWires played = asked.on({.wants_slices = true});
    CHECK(played.step.time == asked.on().step.time);
    Time end;
    Time computed_until;
    double computed_s = 0;
    int64_t gpu = -1;
    for (const GpuSlice& slice : played.slices) {
      REQUIRE(slice.gpu < layout.gpus());
      if (slice.gpu != gpu) computed_until = Time();
      gpu = slice.gpu;
      end = std::max(end, slice.end);
      const bool computes =
          slice.part.kind == GpuPart::Kind::compute || slice.part.kind == GpuPart::Kind::optimizer;
      if (computes && slice.gpu == played.last_gpu)
        computed_s += seconds_between(slice.start, slice.end);
      if (!computes || layout.schedule == PipelineSchedule::dualpipe) continue;
      CHECK(slice.start >= computed_until);
      computed_until = slice.end;
    }
    CHECK(end.since_start() == played.step.time);
    const StepParts& parts = played.step.parts;
    CHECK(computed_s ==
          doctest::Approx(parts.products + parts.attention + parts.element_wise + parts.optimizer)
              .epsilon(1e-9));
  }
}

// Two stages, one micro-batch: forward, send, forward and backward, send, backward.
TEST_CASE("steps on wires: slices of two stages by hand") {
  const LayoutCase asked("pp2", cluster_of(rack_of(2)));
  const StepOnWires played = asked.on({.wants_slices = true});
  struct Span {
    Time start = Time::last();
    Time end;
  };
  using Kind = GpuPart::Kind;
  const auto span = [&](int64_t gpu, Kind kind, Pass pass) {
    Span all;
    for (const GpuSlice& slice : played.slices)
      if (slice.gpu == gpu && slice.part.kind == kind && slice.part.pass == pass) {
        all.start = std::min(all.start, slice.start);
        all.end = std::max(all.end, slice.end);
      }
    return all;
  };
  const Span first = span(0, Kind::compute, Pass::forward);
  const Span sent = span(0, Kind::send, Pass::forward);
  const Span received = span(1, Kind::receive, Pass::forward);
  const Span second = span(1, Kind::compute, Pass::forward);
  const Span back = span(1, Kind::compute, Pass::backward);
  const Span returned = span(1, Kind::send, Pass::backward);
  const Span last = span(0, Kind::compute, Pass::backward);
  CHECK(first.start == Time());
  CHECK(sent.start == first.end);
  CHECK(received.start == Time());
  CHECK(received.end == sent.end);
  const double bytes = 2.0 * tokens * 1024;
  CHECK(seconds_between(sent.start, sent.end) ==
        doctest::Approx(2e-6 + bytes * per_byte_s).epsilon(1e-9));
  CHECK(second.start == received.end);
  CHECK(back.start == second.end);
  CHECK(returned.start == back.end);
  CHECK(last.start == returned.end);
}

// Replicas exchange after the last pass: two rounds, each with half of the gradients.
TEST_CASE("steps on wires: links that get slow or close, by hand") {
  const Cluster rack = cluster_of(rack_of(2));
  const LayoutCase asked("dp2 overlap=off", rack);
  const double exchange_s = asked.gradients_B() * per_byte_s;
  const double usual_s = asked.seconds();
  const double optimizer_s = asked.on().step.parts.optimizer;
  const double middle_s = usual_s - optimizer_s - exchange_s / 2;
  const auto with = [&](const std::vector<WireChange>& changes, StepWires how = {}) {
    how.meanwhile.changes = changes;
    return asked.seconds(how);
  };
  // At half the rate all the time, or in the second half.
  const std::vector<WireChange> slow = {at_worker(rack, "node1", 0, 0.5)};
  CHECK(with(slow) == doctest::Approx(usual_s + exchange_s).epsilon(1e-6));
  const std::vector<WireChange> later = {at_worker(rack, "node1", middle_s, 0.5)};
  CHECK(with(later) == doctest::Approx(usual_s + exchange_s / 2).epsilon(1e-4));
  // Closed for five milliseconds; a latency of 2 us may pass meanwhile.
  const std::vector<WireChange> shut = {at_worker(rack, "node1", middle_s - 1e-3, 0),
                                        at_worker(rack, "node1", middle_s + 4e-3, 1)};
  CHECK(std::abs(with(shut) - (usual_s + 5e-3)) <= 2e-6);
  // Packets that a link has lost are sent again.
  const StepWires dctcp = packets("dctcp packet=64KiB buffer=100MB least_timeout=100us");
  const double as_packets_s = with({}, dctcp);
  CHECK(with(shut, dctcp) >= as_packets_s + 4e-3);
  CHECK(with(slow, packets("ideal")) ==
        doctest::Approx(with({}, packets("ideal")) + exchange_s).epsilon(1e-4));
  // For ever.
  const std::vector<WireChange> closed = {at_worker(rack, "node1", middle_s, 0)};
  for (const StepWires& how : {StepWires(), packets("ideal"), dctcp}) {
    CHECK_THROWS_WITH_AS(with(closed, how), doctest::Contains("B from GPU 0 to GPU 1"), StuckStep);
    CHECK_THROWS_WITH_AS(with(closed, how), doctest::Contains("B from GPU 1 to GPU 0"), StuckStep);
  }
  // Of several iterations each meets the same.
  LayoutPlay dice;
  dice.workers.jitter = {{FactorDistribution::Kind::lognormal, 1e-6}};
  dice.iterations = 3;
  StepWires how;
  how.meanwhile.changes = slow;
  CHECK(asked.on(how, dice).fastest.s() == doctest::Approx(usual_s + exchange_s).epsilon(1e-4));
}

// A link that others use carries both, one byte after the other, so that the step takes as much
// longer as the others' bytes take.
TEST_CASE("steps on wires: others on the wires") {
  const Cluster rack = cluster_of(rack_of(3));
  const LayoutCase asked("dp2 overlap=off", rack);
  const double exchange_s = asked.gradients_B() * per_byte_s;
  const double usual_s = asked.seconds();
  const double begins_s = usual_s - asked.on().step.parts.optimizer - exchange_s;
  const int64_t size_B = 10'000'000;
  REQUIRE(static_cast<double>(size_B) < asked.gradients_B() / 4);
  std::vector<PlainFlow> flows = {
      {Time() + Duration::nearest_ps(begins_s * 1e12), Bytes(size_B), 2, 1}};
  StepWires how;
  how.meanwhile.flows = flows;
  CHECK(asked.seconds(how) ==
        doctest::Approx(usual_s + static_cast<double>(size_B) * per_byte_s).epsilon(1e-4));
  // What comes afterwards, or goes elsewhere, changes nothing.
  flows[0].start = Time() + Duration::nearest_ps(usual_s * 1e12);
  how.meanwhile.flows = flows;
  CHECK(asked.seconds(how) == usual_s);
  flows[0] = {Time(), Bytes(size_B), 1, 2};
  how.meanwhile.flows = flows;
  CHECK(asked.seconds(how) == usual_s);
}

TEST_CASE("sgdsim layout: wires on the command line") {
  const std::vector<std::string> words = {
      "layout",     "llama3.1_8b", "-c",       "topologies/data/dgx_h100_4.json",
      "--sequence", "1024",        "--layout", "tp8 dp2 ga2 zero1 sp"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_sgdsim(more);
  };
  const Temporary folder(Temporary::Kind::folder);
  const std::string timeline = folder.name() + "/timeline.json";
  const std::vector<std::string> transport = {"--fidelity", "packet", "--transport",
                                              "ideal packet=64KiB"};
  std::vector<std::string> asked = transport;
  asked.insert(asked.end(), {"--format", "json", "--timeline", timeline});
  const Ran ran = with(asked);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == std::vector<std::string>{});
  CHECK(json["transport"] == "ideal");
  const Json& one = json["layouts"][0];
  double end = 0;
  const Json events = Json::parse(read_text(timeline))["traceEvents"];
  for (const Json& event : events)
    if (event["ph"] == "X")
      end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
  CHECK(end == doctest::Approx(one["step_us"].get<double>()).epsilon(1e-12));
  const Ran flow = with({"--fidelity", "flow", "--gantt"});
  CHECK(flow.out.find("\nGPU 15        computing") != std::string::npos);
  CHECK(flow.out.find("G gather weights") != std::string::npos);
  // A rail that fails.
  const auto rail = [](const char* change) {
    return std::string(R"({"changes": [{"at": "10 ms", "link": ["node0/nic0", "switch"], )") +
           change + "}]}";
  };
  for (const char* fidelity : {"flow", "packet"}) {
    const Ran stuck =
        with({"--fidelity", fidelity, "--traffic", rail(R"("bandwidth": 0)"), "--format", "json"});
    CHECK(stuck.exit_code == 4);
    CHECK(stuck.out.empty());
    CHECK(stuck.log.find("the step is stuck") != std::string::npos);
    CHECK(stuck.log.find("B from GPU 8 to GPU 0") != std::string::npos);
  }
  CHECK(with({"--fidelity", "flow", "--traffic", rail(R"("bandwidth": 0.5)")}).exit_code == 0);
  const Ran lossy = with({"--fidelity", "packet", "--transport", "mlt packet=64KiB loss_bound=0.5",
                          "--traffic", rail(R"("loss": 0.2)")});
  CHECK(lossy.exit_code == 0);
  CHECK(lossy.log.find("of one message only ") != std::string::npos);
  struct Row {
    std::vector<std::string> more;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{"--fidelity", "packet", "--transport", "tpc"}, "unknown transport \"tpc\""},
           {{"--fidelity", "packet", "--routing", "split"}, "--routing: packets go as"},
           {{"--traffic", "x.json"}, "--traffic: needs messages that it can meet"},
           {{"--fidelity", "flow", "--traffic", rail(R"("loss": 0.1)")}, "lose packets"},
           {{"--fidelity", "flow", "--traffic", rail(R"("bandwidth": -1)")},
            "/changes/0/bandwidth"},
           {{"--fidelity", "flow", "--seed", "1"}, "--seed: has no effect"}}) {
    const Ran refused = with(row.more);
    CHECK(refused.exit_code == 2);
    CAPTURE(refused.log);
    CHECK(refused.log.find(row.sentence) != std::string::npos);
  }
}

TEST_CASE("sgdsim layout: a search on wires plays what is best by passes") {
  const std::vector<std::string> words = {"layout",
                                          "llama3.1_8b",
                                          "-c",
                                          "topologies/data/dgx_h100_4.json",
                                          "--gpus",
                                          "8",
                                          "--sequence",
                                          "1024",
                                          "--fidelity",
                                          "flow",
                                          "--global-batch",
                                          "8",
                                          "--format",
                                          "json"};
  std::vector<std::string> five = words;
  five.insert(five.end(), {"--lines", "5"});
  const Ran ran = run_sgdsim(five);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == std::vector<std::string>{});
  CHECK(json["played"] == 5);
  double before = 0;
  for (const Json& one : json["layouts"]) {
    CHECK(one["step_us"].get<double>() >= before);
    before = one["step_us"].get<double>();
  }
}

}  // namespace sgdsim
