// Played steps: where nothing is unlike they are the closed form, and slow GPUs slow what waits for
// them.
#include "models/training/played_step.h"

#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/training/memory.h"
#include "models/training/step_on_wires.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/layout/layout_files.h"
#include "tests/rounds.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

const std::string box = "topologies/data/dgx_h100_4.json";

// Rounding of some thousand passes to picoseconds.
void check_near(Duration a, Duration b) { CHECK(std::abs((a - b).ps()) <= 20'000); }

}  // namespace

// No head to speak of, so that all stages are equal; nothing costs anything to send. Weights'
// gradients are no third of a pass, so that ZB1P and DualPipe are not here: their bubbles stand in
// pipeline_play_test.cpp.
TEST_CASE("played steps: equal stages and free links are the closed form") {
  Transformer model = small_model();
  model.vocabulary = 1;
  const Gpu gpu = load_gpu("h100");
  for (const int64_t p : {1, 2, 4, 8})
    for (const int64_t v : {1, 2, 3})
      for (const int64_t m : {8, 16, 40})
        for (const PipelineSchedule schedule :
             {PipelineSchedule::one_f_one_b, PipelineSchedule::gpipe}) {
          Layout layout;
          layout.pipeline = p;
          layout.chunks = v;
          layout.micro_batches = m;
          layout.schedule = schedule;
          if (!misfit_of(model, layout, 2048).empty()) continue;
          const Cluster cluster = free_cluster(static_cast<int>(p));
          GroupTimes groups(cluster, p);
          const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
          const PlayedStep played = play_step(step, groups);
          const HybridStep closed = hybrid_step(step, groups);
          // First and last stage have the embedding, of one row, and a norm more.
          CHECK(played.step.time.s() == doctest::Approx(closed.time.s()).epsilon(2e-3));
          CHECK(played.step.parts.all() == doctest::Approx(played.step.time.s()).epsilon(1e-9));
        }
}

// Passes are whole picoseconds, and random GPUs may be faster than they are: no part is less than
// nothing, and they add up to the step.
TEST_CASE("played steps: no part of a layout at random is below zero") {
  Random random(71);
  const Gpu gpu = load_gpu("h100");
  const ClusterFile file = load_cluster(SGDSIM_SOURCE_DIR "/" + box, 64);
  Transformer experts = small_model();
  experts.experts = Experts{.count = 8, .per_token = 2, .width = 1024};
  const std::vector<std::string> workers = {
      R"({})", R"({"jitter": {"distribution": "lognormal", "sigma": 0.3}})",
      R"({"slow": [{"worker": 0, "factor": 0.5}]})"};
  int checked = 0;
  while (checked < rounds(400)) {
    Layout layout;
    const auto power = [&](int most) {
      return int64_t{1} << random.below(static_cast<uint64_t>(most));
    };
    layout.tensor = power(4);
    layout.pipeline = power(4);
    layout.context = power(2);
    layout.replicas = power(4);
    layout.micro_batches = power(6);
    layout.micro_batch = power(3);
    layout.chunks = power(3);
    layout.zero = static_cast<int>(random.below(4));
    const bool has_experts = random.below(2) == 0;
    if (has_experts) layout.expert = power(4);
    layout.schedule = static_cast<PipelineSchedule>(random.below(5));
    layout.overlaps = random.below(4) > 0;
    const Transformer& model = has_experts ? experts : small_model();
    if (layout.gpus() > 64 || !misfit_of(model, layout, 2048).empty()) continue;
    ++checked;
    const ClusterFile cluster = load_cluster(SGDSIM_SOURCE_DIR "/" + box, layout.gpus());
    GroupTimes groups(cluster.cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    CAPTURE(to_text(layout));
    const auto check = [](const HybridStep& one) {
      for (const NamedPart& part : step_parts()) {
        CAPTURE(part.key);
        CHECK(one.parts.*part.member >= 0);
      }
      CHECK(one.parts.all() == doctest::Approx(one.time.s()).epsilon(1e-6));
    };
    check(hybrid_step(step, groups));
    LayoutPlay options;
    const Json json = Json::parse(workers[random.below(workers.size())]);
    options.workers = read_workers(Value(json, "test", ""));
    options.iterations = options.workers.is_random() ? 3 : 1;
    check(play_step(step, groups, options).step);
    if (layout.gpus() > 16 || layout.micro_batches > 4) continue;
    try {
      check(play_on_wires(step, cluster.cluster, groups, {}, options).step);
    } catch (const InputError&) {
      continue;  // schedules that wires do not play
    }
  }
}

TEST_CASE("sgdsim layout: random workers have the seed 1, as everywhere") {
  const std::vector<std::string> asked = {
      "layout",     "llama3.1_8b",
      "-c",         "topologies/data/dgx_h100_4.json",
      "--layout",   "tp8 dp4",
      "--fidelity", "message",
      "--workers",  R"({"jitter": {"distribution": "lognormal", "sigma": 0.2}})",
      "--format",   "json"};
  const auto with_seed = [&](const std::string& seed) {
    std::vector<std::string> words = asked;
    words.insert(words.end(), {"--seed", seed});
    return run_sgdsim(words).out;
  };
  const Ran usual = run_sgdsim(asked);
  REQUIRE(usual.exit_code == 0);
  CHECK(usual.out == with_seed("1"));
  CHECK(usual.out != with_seed("0"));
}

// One stage: what is exposed of an exchange in pieces is the same maximum in both.
TEST_CASE("played steps: replicas of one stage are the closed form") {
  const Gpu gpu = undisturbed("h100");
  const ClusterFile file = load_cluster(SGDSIM_SOURCE_DIR "/" + box, 64);
  for (const char* text :
       {"dp64 ga4", "dp64 ga4 zero1", "dp64 zero2", "tp8 dp8 sp ga2 zero1", "tp2 cp4 dp8 zero1",
        "dp64 ga4 zero1 overlap=off", "cp8 dp8 ga3", "dp64 ga4 zero0 overlap=off"})
    for (const char* name : {"llama3.1_8b", "gpt3_175b"}) {
      CAPTURE(text);
      const Transformer model = load_model(name);
      const Layout layout = parse_layout(text, "");
      if (!misfit_of(model, layout, 2048).empty()) continue;
      GroupTimes groups(file.cluster, 64);
      const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
      check_near(play_step(step, groups).step.time, hybrid_step(step, groups).time);
    }
}

// What exchanges under passes slow down is a mean over the step here, and longer passes hide more
// of them: it costs something, and never more than the closed form has it.
TEST_CASE("played steps: exchanges under passes slow them as in the closed form") {
  Gpu gpu = load_gpu("h100");
  const ClusterFile file = load_cluster(SGDSIM_SOURCE_DIR "/" + box, 64);
  const Transformer model = load_model("llama3.1_8b");
  for (const char* text : {"dp64 ga4", "dp64 ga4 zero1", "tp8 dp8 sp ga2 zero1"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    GroupTimes groups(file.cluster, 64);
    gpu.interference = {};
    const Duration alone = play_step({model, layout, 2048, gpu, Precision::bf16}, groups).step.time;
    gpu.interference = {{Beside::nccl, 1.25, 1.25}};
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const double closed_s = hybrid_step(step, groups).time.s();
    const double played_s = play_step(step, groups).step.time.s();
    REQUIRE(closed_s > 1.01 * alone.s());
    CHECK(played_s <= closed_s + 20e-9);
    CHECK(played_s - alone.s() > 0.4 * (closed_s - alone.s()));
  }
}

TEST_CASE("played steps: parts and ranks add up, for layouts at random") {
  const Gpu gpu = load_gpu("h100");
  Random random(11);
  const Cluster cluster = load_cluster(SGDSIM_SOURCE_DIR "/" + box, 64).cluster;
  int seen = 0;
  for (int round = 0; round < 60'000 && seen < 1'000; ++round) {
    Transformer model = small_model();
    const bool has_experts = random.below(2) == 0;
    if (has_experts) model.experts = Experts{.count = 16, .per_token = 2, .width = 512};
    Layout layout;
    auto power = [&](int most) { return int64_t{1} << random.below(static_cast<uint64_t>(most)); };
    layout.tensor = power(3);
    layout.context = power(2);
    layout.pipeline = power(4);
    layout.replicas = power(4);
    layout.chunks = power(3);
    layout.expert = has_experts ? power(4) : 1;
    layout.micro_batches = power(6);
    layout.zero = static_cast<int>(random.below(4));
    layout.sequence_parallel = layout.tensor > 1 && random.below(2) == 0;
    layout.schedule = pipeline_schedules[random.below(4)].second;
    if (layout.gpus() > 64 || !misfit_of(model, layout, 2048).empty()) continue;
    ++seen;
    CAPTURE(to_text(layout));
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const PlayedStep played = play_step(step, groups);
    for (const RankPlayed& rank : played.pipeline.ranks)
      REQUIRE(rank.busy + rank.waiting + rank.exchange + rank.optimizer == played.step.time);
    REQUIRE(played.step.parts.all() == doctest::Approx(played.step.time.s()).epsilon(1e-9));
    // Jitter of none: every replica is played, and none is unlike.
    LayoutPlay all;
    all.workers.jitter = {{FactorDistribution::Kind::lognormal, 0}};
    const PlayedStep whole = play_step(step, groups, all);
    REQUIRE(whole.replicas == layout.replicas);
    REQUIRE(whole.step.time == played.step.time);
    // A slow GPU breaks one class, and which of its replicas it is in makes no difference.
    LayoutPlay one;
    one.workers.slowness = {{0, 1.7}};
    const PlayedStep slow = play_step(step, groups, one);
    const int64_t alike = layout.tensor * layout.context;
    one.workers.slowness = {{static_cast<int>((layout.replicas - 1) * alike), 1.7}};
    REQUIRE(play_step(step, groups, one).step.time == slow.step.time);
    REQUIRE(slow.step.time > played.step.time);
    one.workers.jitter = all.workers.jitter;
    REQUIRE(play_step(step, groups, one).step.time == slow.step.time);
  }
  CHECK(seen == 1'000);
}

TEST_CASE("played steps: a slow GPU slows by what it computes") {
  const Transformer model = load_model("llama3.1_8b");
  const Gpu gpu = load_gpu("h100");
  const Cluster cluster = load_cluster(SGDSIM_SOURCE_DIR "/" + box, 32).cluster;
  const Layout layout = parse_layout("tp2 dp16 ga8 zero1", "");
  GroupTimes groups(cluster, 32);
  const TrainingStep step{model, layout, 8192, gpu, Precision::bf16};
  const PlayedStep even = play_step(step, groups);
  LayoutPlay options;
  options.workers.slowness = {{5, 1.5}};
  const PlayedStep slow = play_step(step, groups, options);
  CHECK(slow.replicas == 2);
  const StepParts& parts = even.step.parts;
  const double compute = parts.products + parts.attention + parts.element_wise;
  // All of its computing, but for the last pass, under which more of the exchange is hidden.
  CHECK(slow.step.time.s() - even.step.time.s() <= 0.5 * compute + 1e-6);
  CHECK(slow.step.time.s() - even.step.time.s() >= 0.5 * compute * 7 / 8);
  CHECK_THROWS_WITH_AS(check_workers({.slowness = {{32, 2}}, .jitter = {}}, layout, "--workers"),
                       doctest::Contains("worker 32 is none of the 32 GPUs"), InputError);
}

TEST_CASE("sgdsim layout: a played layout, its JSON, timeline and picture") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string timeline = folder.name() + "/timeline.json";
  const std::vector<std::string> words = {
      "layout",     "llama3.1_70b", "-c", box, "--layout", "tp8 pp4 vp2 dp2 ga8 zero1 sp",
      "--fidelity", "message"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_sgdsim(more);
  };
  const Ran ran = with({"--format", "json", "--timeline", timeline});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == std::vector<std::string>{});
  const Json& one = json["layouts"][0];
  CHECK(one["passes"] == 4 * 2 * 8 * 2);
  CHECK(one["ranks"].size() == 4);
  double parts = 0;
  for (const auto& [name, part] : one["parts"].items()) parts += part.get<double>();
  CHECK(parts == doctest::Approx(one["step_us"].get<double>()));
  // The timeline ends with the step, and every rank is as long in passes as it says.
  const Json events = Json::parse(read_text(timeline))["traceEvents"];
  double end = 0;
  std::vector<double> busy(4);
  for (const Json& event : events) {
    if (event["ph"] != "X") continue;
    const double duration = event["dur"].get<double>();
    end = std::max(end, event["ts"].get<double>() + duration);
    if (event["tid"] == 1 && event["cat"] != "update")
      busy[event["pid"].get<std::size_t>()] += duration;
  }
  CHECK(end == doctest::Approx(one["step_us"].get<double>()).epsilon(1e-12));
  for (std::size_t r = 0; r < 4; ++r)
    CHECK(busy[r] >= one["ranks"][r]["busy_us"].get<double>() * (1 - 1e-9));
  const Ran picture = with({"--gantt"});
  CHECK(picture.exit_code == 0);
  CHECK(picture.out.find("\nrank 3        passes") != std::string::npos);
  CHECK(picture.out.find("waiting for other ranks") != std::string::npos);
  // Random GPUs: a mean between the fastest and the slowest step; the same seed, the same answer.
  const std::string jitter = R"({"jitter": {"distribution": "lognormal", "sigma": 0.1}})";
  const Ran random = with({"--workers", jitter, "--format", "json", "--iterations", "5"});
  REQUIRE(random.exit_code == 0);
  const Json mean = Json::parse(random.out)["layouts"][0];
  CHECK(mean["replicas_played"] == 2);
  CHECK(mean["fastest_us"].get<double>() < mean["step_us"].get<double>());
  CHECK(mean["step_us"].get<double>() < mean["slowest_us"].get<double>());
  CHECK(with({"--workers", jitter, "--format", "json", "--iterations", "5"}).out == random.out);
  CHECK(with({"--workers", jitter, "--format", "json", "--iterations", "5", "--seed", "2"}).out !=
        random.out);
}

TEST_CASE("sgdsim layout: played, the search ranks by what was played") {
  const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--global-batch", "64",
                              "--fidelity", "message", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["played"].get<int>() >= 100);  // and the best of each family
  CHECK(json["played"].get<int>() <= 111);
  double before = 0;
  for (const Json& one : json["layouts"]) {
    CHECK(one["step_us"].get<double>() >= before);
    before = one["step_us"].get<double>();
    const Ran alone =
        run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--fidelity", "message", "--layout",
                    one["layout"].get<std::string>(), "--format", "json"});
    REQUIRE(alone.exit_code == 0);
    CHECK(Json::parse(alone.out)["layouts"][0] == one);
  }
}

TEST_CASE("sgdsim layout: what playing refuses") {
  const std::vector<std::string> given = {"layout", "llama3.1_8b", "-c", box, "--layout", "tp8 sp"};
  const auto log_of = [&](std::vector<std::string> more, bool is_played) {
    if (is_played) more.insert(more.begin(), {"--fidelity", "message"});
    more.insert(more.begin(), given.begin(), given.end());
    const Ran ran = run_sgdsim(more);
    CHECK(ran.exit_code == 2);
    return ran.log;
  };
  const std::string slow = R"({"slow": [{"worker": 32, "factor": 2}]})";
  CHECK(log_of({"--gantt"}, false).find("--gantt: has no effect without") != std::string::npos);
  CHECK(log_of({"--workers", slow}, false).find("--workers: has no effect") != std::string::npos);
  CHECK(log_of({"--seed", "1"}, true).find("--seed: has no effect") != std::string::npos);
  CHECK(log_of({"--seed", "1"}, false).find("--seed: has no effect") != std::string::npos);
  CHECK(log_of({"--workers", slow}, true).find("none of the 32 GPUs") != std::string::npos);
  CHECK(log_of({"--iterations", "3"}, true).find("without random --workers") != std::string::npos);
  CHECK(log_of({"--gantt", "--format", "json"}, true).find("is for people") != std::string::npos);
  CHECK(log_of({"--workers", "{"}, true).starts_with("sgdsim: --workers"));
  CHECK(log_of({"--timeline", box}, true).find("is an input") != std::string::npos);
  CHECK(log_of({"--timeline", "README.md"}, true).find("README.md") != std::string::npos);
}

}  // namespace sgdsim
