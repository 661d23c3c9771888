// Trainings at several sites: what they exchange by published counts, how much of it a step waits
// for against steps and exchanges played one by one, and what sites change of every answer.
#include "models/training/sites.h"

#include <cmath>
#include <deque>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/training/hybrid_step.h"
#include "study/layout/layout_files.h"
#include "tests/json_lines.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

constexpr double llama_8b_parameters = 8'030'261'248;  // as published

struct SiteCase {
  Transformer model = load_model("llama3.1_8b");
  Layout layout = parse_layout("dp8 ga4 zero1", "test");
  Gpu gpu = load_gpu("h100");
  Sites sites = {};
  TrainingStep step() const { return {model, layout, 8192, gpu, Precision::bf16, nullptr, &sites}; }
};

// A step after another; after every `apart` of them an exchange begins, on a way that carries one
// at a time, and `overlap` steps later it must have ended. Seconds of a step in the long run.
double played_step_s(double step_s, double bytes_s, double all_s, int64_t apart, int64_t overlap) {
  constexpr int64_t steps = 40'000;
  double now = 0;
  double free_at = 0;
  std::deque<std::pair<int64_t, double>> waited;  // before which step, and until when
  double at_half = 0;
  for (int64_t i = 0; i < steps; ++i) {
    if (i == steps / 2) at_half = now;
    const auto wait = [&] {
      for (; !waited.empty() && waited.front().first <= i; waited.pop_front())
        now = std::max(now, waited.front().second);
    };
    wait();
    if (i % apart == 0) {
      free_at = std::max(now, free_at) + bytes_s;
      waited.emplace_back(i + overlap, free_at + all_s - bytes_s);
      wait();
    }
    now += step_s;
  }
  return (now - at_half) / (steps - steps / 2.0);
}

using SiteWords = std::vector<std::string>;

Ran ran_at_sites(const std::string& sites, const SiteWords& further = {}) {
  SiteWords words = {"layout", "llama3.1_8b",    "-c",  "dgx_h100_4", "--gpus",
                     "64",     "--global-batch", "128", "--format",   "json"};
  if (!sites.empty()) words.insert(words.end(), {"--sites", sites});
  words.insert(words.end(), further.begin(), further.end());
  return run_sgdsim(words);
}

Json answered_at_sites(const std::string& sites, const SiteWords& further = {}) {
  const Ran ran = ran_at_sites(sites, further);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == SiteWords{});
  return json;
}

}  // namespace

// (2 N / W) (1 - 1 / M) + latencies: what "Communication-Efficient Language Model Training Scales
// Reliably and Robustly" (arXiv 2503.09799, appendix A) counts for an exchange.
TEST_CASE("sites: an exchange is that of the published count of parameters") {
  SiteCase c;
  for (const int64_t sites : {2, 3, 8}) {
    c.sites = {.sites = sites,
               .bandwidth = Bandwidth::Gbps(100),
               .latency = Duration::ms(30),
               .every = 100};
    const SiteExchange one = exchange_of(c.step());
    const double bytes = 2 * (1 - 1.0 / static_cast<double>(sites)) * 4 * llama_8b_parameters;
    CHECK(one.sent_B == doctest::Approx(bytes).epsilon(1e-12));
    CHECK(one.bytes_s == doctest::Approx(bytes * 8 / 100e9).epsilon(1e-12));
    CHECK(one.all_s - one.bytes_s == doctest::Approx(0.06));
    c.sites.fragments = 10;
    c.sites.bits = 4;
    CHECK(exchange_of(c.step()).sent_B == doctest::Approx(bytes / 8 / 10).epsilon(1e-12));
    CHECK(outer_states_B(c.step()) == doctest::Approx(8 * llama_8b_parameters).epsilon(1e-12));
  }
}

TEST_CASE(
    "sites: whatever the layout, all parameters are sent once, and adapters alone with lora") {
  SiteCase c;
  c.sites = {.sites = 2, .bandwidth = Bandwidth::Gbps(100), .latency = {}, .every = 10};
  for (const char* text : {"pp4 dp2 ga8", "tp2 pp2 dp4 zero3 ga8", "pp8 schedule=dualpipe ga16",
                           "cp2 dp4 zero1", "pp4 vp4 dp2 ga8 hsdp2 zero3"}) {
    CAPTURE(text);
    c.layout = parse_layout(text, "test");
    // Norms stand on every tensor-parallel rank: 65 of 4,096.
    const double norms = 65 * 4096 * static_cast<double>(c.layout.tensor - 1);
    CHECK(exchange_of(c.step()).sent_B ==
          doctest::Approx(4 * (llama_8b_parameters + norms)).epsilon(1e-12));
  }
  // Of rank 16 on all products of 32 layers: q and o 8,192 a rank, k and v 5,120, MLP 18,432 each.
  c.layout = parse_layout("dp8 lora=16", "test");
  CHECK(exchange_of(c.step()).sent_B ==
        doctest::Approx(4.0 * 32 * 16 * (2 * 8192 + 2 * 5120 + 3 * 18432)));
}

TEST_CASE("sites: a step waits as steps and exchanges do that are played one by one") {
  SiteCase c;
  for (const int64_t every : {1, 2, 6, 12, 60})
    for (const int64_t fragments : {1, 2, 3, 6})
      for (const int64_t overlap : {0, 1, 2, 3, 5, 12})
        for (const double gbps : {2.0, 20.0, 60.0, 150.0, 2000.0})
          for (const int64_t latency_ms : {0, 400, 9000}) {
            if (every % fragments != 0 || overlap > every || every == 1) continue;
            c.sites = {
                2, Bandwidth::Gbps(gbps), Duration::ms(latency_ms), every, fragments, overlap, {}};
            HybridStep step;
            step.time = Duration::ms(1500);
            add_sites(c.step(), 0, step);
            const SiteExchange one = exchange_of(c.step());
            CAPTURE(every);
            CAPTURE(fragments);
            CAPTURE(overlap);
            CAPTURE(gbps);
            CAPTURE(latency_ms);
            const double played =
                played_step_s(1.5, one.bytes_s, one.all_s, every / fragments, overlap);
            CHECK(step.time.s() == doctest::Approx(played).epsilon(0.002));
            CHECK(step.parts.sites == doctest::Approx(step.time.s() - 1.5).epsilon(1e-9));
            CHECK(step.parts.sites + step.hidden.sites >= one.all_s * c.sites.passes() - 1e-9);
          }
}

// 32 layers of equal gradients, the first of which is there after 1/32 of the last backward pass.
TEST_CASE("sites: gradients of a step are exchanged layer by layer under its last backward pass") {
  SiteCase c;
  c.sites = {.sites = 2, .bandwidth = Bandwidth::Gbps(100), .latency = Duration::ms(10)};
  const double bytes_s = 4 * llama_8b_parameters * 8 / 100e9;
  for (const double backward_s : {0.0, 0.5, 2.0, 2.57, 5.0}) {
    CAPTURE(backward_s);
    double sent_until = 0;
    for (int layer = 1; layer <= 32; ++layer)
      sent_until = std::max(sent_until, backward_s * layer / 32) + bytes_s / 32;
    HybridStep step;
    step.time = Duration::s(8);
    add_sites(c.step(), backward_s, step);
    CHECK(step.parts.sites == doctest::Approx(sent_until - backward_s + 0.02).epsilon(1e-9));
  }
  c.layout.overlaps = false;
  HybridStep step;
  step.time = Duration::s(8);
  add_sites(c.step(), 5, step);
  CHECK(step.parts.sites == doctest::Approx(bytes_s + 0.02).epsilon(1e-9));
}

TEST_CASE("sites: each is half of the machine, and without a wait the step is that of one") {
  const Json one = [] {
    const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "32",
                                "--global-batch", "64", "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out);
  }();
  const Json two = answered_at_sites(
      R"({"sites": 2, "bandwidth": "100 Tbps", "latency": "0 s", "every": 100, "overlap": 1})");
  CHECK(two["gpus"] == 64);
  CHECK(two["global_batch"] == 128);
  CHECK(two["sites"]["gpus"] == 32);
  CHECK_FALSE(one.contains("sites"));
  REQUIRE(one["layouts"].size() == two["layouts"].size());
  for (std::size_t i = 0; i < one["layouts"].size(); ++i)
    for (const char* same : {"layout", "step_ps", "mfu", "memory_GiB", "tokens_per_s_per_gpu"})
      CHECK(one["layouts"][i][same] == two["layouts"][i][same]);
}

TEST_CASE("sites: the same wait at every fidelity, days of all GPUs, and what breaks") {
  const std::string sites =
      R"({"sites": 2, "bandwidth": "100 Gbps", "latency": "20 ms", "every": 10})";
  const double bytes_us = 4 * (llama_8b_parameters + 65 * 4096) * 8 / 100e9 / 10 * 1e6;
  const double waits_us = bytes_us + 0.04 / 10 * 1e6;
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(fidelity);
    const Json answer = answered_at_sites(
        sites, {"--layout", "tp2 dp16 zero1 sp", "--tokens", "1T", "--fidelity", fidelity});
    const Json& line = answer["layouts"][0];
    CHECK(line["parts"]["sites_us"].get<double>() == doctest::Approx(waits_us).epsilon(1e-9));
    const double days =
        std::ceil(1e12 / (128 * 8192)) * line["step_us"].get<double>() / 1e6 / 86400;
    CHECK(line["days"].get<double>() == doctest::Approx(days));
    CHECK(line["gpu_hours"].get<double>() == doctest::Approx(days * 24 * 64));
  }
  const Json broken = answered_at_sites(sites, {"--layout", "tp2 dp16 zero1 sp", "--breaks"});
  const double step_us = broken["layouts"][0]["step_us"].get<double>();
  bool is_told = false;
  for (const Json& part : broken["breaks"]["parts"]) {
    if (part["part"] != "sites") continue;
    is_told = true;
    CHECK(part["step_us"].get<double>() - step_us == doctest::Approx(bytes_us).epsilon(1e-6));
    CHECK(part["grew"] == "sites");
  }
  CHECK(is_told);
}

TEST_CASE("sites: a field of them on an axis, and what a target needs of it") {
  const std::string sites = R"({"sites": 2, "bandwidth": "100 Gbps", "latency": "0 s"})";
  const Ran swept = ran_at_sites(
      sites, {"--layout", "tp2 dp16 zero1 sp overlap=off", "--axis", "sites.every=1,2,8"});
  REQUIRE(swept.exit_code == 0);
  std::vector<double> waits;
  for (const Json& point : json_lines(swept.out))
    waits.push_back(point["answer"]["layouts"][0]["parts"]["sites_us"].get<double>());
  REQUIRE(waits.size() == 3);
  CHECK(waits[1] == doctest::Approx(waits[0] / 2));
  CHECK(waits[2] == doctest::Approx(waits[0] / 8));
}

TEST_CASE("sites: what cannot be is refused with what to say") {
  const auto refuses = [](const std::string& sites, const std::string& with,
                          const SiteWords& further = {}) {
    CAPTURE(sites);
    const Ran ran = ran_at_sites(sites, further);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(with) != std::string::npos);
  };
  const std::string way = R"("bandwidth": "100 Gbps", "latency": "20 ms")";
  refuses(R"({"sites": 3, )" + way + "}", "--gpus: expected a multiple of the 3 sites");
  refuses(R"({"sites": 1, )" + way + "}", "from 2 to 1024");
  refuses(R"({"sites": 2, "every": 4, "fragments": 5, )" + way + "}",
          "/fragments: expected at most one in each of the 4 steps");
  refuses(R"({"sites": 2, "every": 4, "overlap": 5, )" + way + "}",
          "/overlap: expected at most the 4 steps");
  refuses(R"({"sites": 2, "latency": "1 ms"})", "\"bandwidth\" is missing");
  refuses(R"({"sites": 2, )" + way + "}",
          "tp x pp x cp x dp is 64, but --gpus is 32 at each of 2 sites",
          {"--layout", "tp2 dp32 zero1 sp"});
  refuses(R"({"sites": 2, "bandwidth": "1 Bps", "latency": "20 ms"})", "beyond 106 days");
}

}  // namespace sgdsim
