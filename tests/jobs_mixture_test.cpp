// Schedules, layouts and collectives beside training jobs: alone each takes what its own command
// says, and what they take from each other on a shared wire is drawn by hand.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/jobs_cases.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// The only rank that computes is 0; 1 hears of it.
const char* const tell = R"(num_ranks 2
rank 0 {
c: calc 100000
s: send 1000000b to 1 tag 0
s requires c
}
rank 1 {
r: recv 1000000b from 0 tag 0
}
)";

Json answer_to(const Json& file, const std::vector<std::string>& more = {}) {
  const Temporary jobs(Temporary::Kind::file, file.dump());
  std::vector<std::string> words = {"jobs", jobs.name(), "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/jobs/1", file) == std::vector<std::string>{});
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/jobs-result/1", json) ==
        std::vector<std::string>{});
  return json;
}
Json file_of(const Json& cluster, const std::vector<Json>& jobs) {
  return {{"cluster", cluster}, {"jobs", jobs}};
}
double number_of(const std::vector<std::string>& words, const char* path) {
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out).at(Json::json_pointer(path)).get<double>();
}
std::string mixed_refusal_of(const Json& file) {
  const Temporary jobs(Temporary::Kind::file, file.dump());
  const Ran ran = run_sgdsim({"jobs", jobs.name()});
  CHECK(ran.exit_code == 2);
  return ran.log;
}
double us_of(const Json& json, std::size_t job, const char* field) {
  return json["jobs"][job][field].get<double>();
}

}  // namespace

TEST_CASE("jobs, mixed: a schedule alone is what replay says, as often as it is asked for") {
  const std::string goal = std::string(SGDSIM_SOURCE_DIR) + "/app/schedules/ring_4.goal";
  for (const char* fidelity : {"flow", "packet"}) {
    const double ps = number_of(
        {"replay", goal, "-c", "leaf_spine_144", "--fidelity", fidelity, "--format", "json"},
        "/makespan_ps");
    Json file = file_of("leaf_spine_144", {{{"schedule", goal}}});
    if (std::string(fidelity) == "packet") file["transport"] = "ideal";
    CHECK(us_of(answer_to(file), 0, "iteration_us") == doctest::Approx(ps / 1e6).epsilon(1e-12));
    if (std::string(fidelity) == "packet") continue;
    // All ranks end together, so the next time begins together.
    file["jobs"][0]["iterations"] = 3;
    const Json thrice = answer_to(file);
    CHECK(us_of(thrice, 0, "iteration_us") == doctest::Approx(ps / 1e6).epsilon(1e-12));
    CHECK(us_of(thrice, 0, "end_us") == doctest::Approx(3 * ps / 1e6).epsilon(1e-12));
  }
}

// On V100s both write the scores of attention.
TEST_CASE("jobs, mixed: a layout alone is what layout says") {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"dgx_h100_4", "tp4 dp2 zero1 sp"},
      {"dgx_h100_4", "tp2 pp2 dp2 ga4"},
      {"dgx_h100_4", "dp8 zero3"},
      {"dgx_h100_4", "tp2 pp2 dp2 ga4 lora=16 frozen=nf4 cuda_graphs=off"},
      {"dgx_h100_4", "pp2 dp4 ga4 mtp=1 offload=both"},
      {"aws_p3_2", "tp4 dp4 zero1 sp"},
      {"aws_p3_2", "tp4 dp4 zero1 sp attention=flash"}};
  for (const auto& [cluster, words] : all) {
    const std::string& text = words;  // a structured binding is not captured
    CAPTURE(text);
    const double us =
        number_of({"layout", "llama3.1_8b", "-c", cluster, "--layout", text, "--sequence", "512",
                   "--memory", "192 GB", "--fidelity", "flow", "--format", "json"},
                  "/layouts/0/step_us");
    const Json file = file_of(cluster, {{{"layout",
                                          {{"model", "llama3.1_8b"},
                                           {"layout", text},
                                           {"sequence", 512},
                                           {"memory", "192 GB"}}}}});
    const Json answer = answer_to(file);
    CHECK(us_of(answer, 0, "iteration_us") == doctest::Approx(us).epsilon(1e-12));
    CHECK((answer.dump().find("FlashAttention does not run") != std::string::npos) ==
          (cluster == "aws_p3_2"));
  }
}

// Rank 0 computes 100 us and sends 1 MB, which takes a millisecond, and 2 us on the way; 1 waits
// from the start.
TEST_CASE("jobs, mixed: what the time of ranks goes into") {
  const Json cluster = {{"shape", "single_switch"},
                        {"nodes", 2},
                        {"network", "nccl"},
                        {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};
  const Temporary goal(Temporary::Kind::file, tell);
  const Json job = answer_to(file_of(cluster, {{{"schedule", goal.name()}}}))["jobs"][0];
  // The sender is free when its last byte has left.
  const double whole = 100 + 1000 + 2;
  CHECK(job["iteration_us"].get<double>() == doctest::Approx(whole));
  CHECK(job["last"] == Json({{"rank", 1},
                             {"computing_us", 0.0},
                             {"overlapped_us", 0.0},
                             {"exposed_us", whole},
                             {"idle_us", 0.0}}));
  CHECK(job["time"] == Json({{"computing_us", 50.0},
                             {"overlapped_us", 0.0},
                             {"exposed_us", (1000 + whole) / 2},
                             {"idle_us", 1.0}}));
  CHECK(job["exposed_us"] == job["time"]["exposed_us"]);
  CHECK(job["reason"].get<std::string>().starts_with(
      "rank 1 ends last: 0 % of the time is computing, 100 %"));
  const Json replayed =
      json_of_run({"replay", goal.name(), "-c", cluster.dump(), "--format", "json"});
  for (const char* field : {"time", "last", "reason"}) CHECK(replayed[field] == job[field]);
}

// What is reached of the links, and the constants of these GPUs.
TEST_CASE("jobs, mixed: a layout asks NCCL's model as layout does") {
  for (const char* text : {"tp2 dp8 zero0", "tp2 dp16 zero0"}) {
    const double us =
        number_of({"layout", "vit_large", "-c", "dgx_h100_4", "--gpu", "a100", "--layout", text,
                   "--algorithm", "nccl", "--fidelity", "flow", "--format", "json"},
                  "/layouts/0/step_us");
    const Json file = file_of(
        "dgx_h100_4",
        {{{"layout",
           {{"model", "vit_large"}, {"layout", text}, {"gpu", "a100"}, {"algorithm", "nccl"}}}}});
    const Json answer = answer_to(file);
    CHECK(us_of(answer, 0, "iteration_us") == doctest::Approx(us).epsilon(1e-12));
    CHECK(answer.dump().find("exchanges by nodes stand for") != std::string::npos);
  }
}

// One network has one efficiency, and each job says what it rests on.
TEST_CASE("jobs, mixed: what a layout assumes of the links is said of every job") {
  const Json file = file_of(
      "dgx_h100_4",
      {{{"collective", {{"algorithm", "ring"}, {"bytes", "3 MB"}}}, {"workers", 16}},
       {{"layout", {{"model", "llama3.1_8b"}, {"layout", "dp16 zero1"}, {"sequence", 512}}}}});
  const Json answer = answer_to(file);
  const std::string why = "because another one is a layout";
  CHECK(answer["jobs"][0].dump().find(why) != std::string::npos);
  CHECK(answer["jobs"][1].dump().find("Exchanges are taken to reach") != std::string::npos);
  CHECK(answer["jobs"][1].dump().find(why) == std::string::npos);
}

// Adding up takes time here, as in `collective`.
TEST_CASE("jobs, mixed: a collective alone is what collective says") {
  const Json cluster = {
      {"shape", "single_switch"},
      {"nodes", 6},
      {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}, {"reduce", "1 ns/B"}}}};
  const Temporary as_file(Temporary::Kind::file, cluster.dump());
  for (const char* algorithm : {"ring", "recursive_doubling", "mst", "lp"}) {
    CAPTURE(algorithm);
    const double us = number_of({"collective", "-a", algorithm, "-n", "3 MB", "-c", as_file.name(),
                                 "--fidelity", "flow", "--format", "json"},
                                "/time_us");
    const Json file = file_of(
        cluster, {{{"collective", {{"algorithm", algorithm}, {"bytes", "3 MB"}}}, {"workers", 6}}});
    CHECK(us_of(answer_to(file), 0, "iteration_us") == doctest::Approx(us).epsilon(1e-9));
  }
}

// Rings of two over the one uplink: two rounds of 500 kB at 1 ns/B and 4 us; together at half of
// the rate.
TEST_CASE("jobs, mixed: collectives share a wire") {
  const auto ring = [](const char* places, const char* start) {
    return Json{{"collective", {{"bytes", "1 MB"}}}, {"placement", places}, {"start", start}};
  };
  const Json both = answer_to(file_of(racks, {ring("0,2", "0 us"), ring("1,3", "0 us")}));
  for (const std::size_t job : {0U, 1U}) {
    CHECK(us_of(both, job, "alone_us") == doctest::Approx(2 * (4 + 500)));
    CHECK(us_of(both, job, "iteration_us") == doctest::Approx(2 * (4 + 1000)));
    CHECK(us_of(both, job, "slowdown") == doctest::Approx(2008. / 1008));
    CHECK(both["jobs"][job]["kind"] == "collective");
  }
  // One that starts when the other has ended meets nobody.
  const Json apart = answer_to(file_of(racks, {ring("0,2", "0 us"), ring("1,3", "2 ms")}));
  CHECK(us_of(apart, 0, "iteration_us") == doctest::Approx(1008));
  CHECK(us_of(apart, 1, "iteration_us") == doctest::Approx(1008));
  CHECK(us_of(apart, 1, "end_us") == doctest::Approx(3008));
}

// The job computes for 300 us and then sends two rounds of 500 kB over the uplink. The schedule of
// the others computes for 100 us and sends 1 MB over it, from 104 to 1104 us: from 304 us on both
// have half.
//
// To 304 us the schedule has 800 kB left. Until 1304 us the round has its 500 kB (half rate), the
// schedule 500 kB of its 800. The second round pays 4 us, in which the schedule has all of the
// wire: 4 kB. From 1308 us on it has 296 kB left at half rate: it ends 592 us later, at 1900 us;
// the round has 296 kB by then, and 204 kB alone.
TEST_CASE("jobs, mixed: a schedule beside a training job") {
  const Temporary goal(Temporary::Kind::file, tell);
  Json training = job("0,2");
  training["experiment"]["iterations"] = 1;
  const Json json =
      answer_to(file_of(racks, {training, {{"schedule", goal.name()}, {"placement", "1,3"}}}));
  CHECK(us_of(json, 1, "alone_us") == doctest::Approx(100 + 4 + 1000));
  CHECK(us_of(json, 1, "end_us") == doctest::Approx(1900));
  CHECK(us_of(json, 0, "end_us") == doctest::Approx(1900 + 204));
  CHECK(json["jobs"][1]["kind"] == "schedule");
  CHECK_FALSE(json["jobs"][0].contains("kind"));
}

// Rank 0 is done when its message is there, at 1104 us, and begins again; rank 1 asks at once.
TEST_CASE("jobs, mixed: times follow one another rank by rank") {
  const Temporary goal(Temporary::Kind::file, tell);
  const Json json = answer_to(file_of(
      racks,
      {{{"schedule", goal.name()}, {"placement", "0,2"}, {"iterations", 4}, {"start", "50 us"}}}));
  CHECK(us_of(json, 0, "end_us") == doctest::Approx(50 + 4 * 1104));
  CHECK(us_of(json, 0, "iteration_us") == doctest::Approx(1104));
}

TEST_CASE("jobs, mixed: the file that ships runs at both fidelities, and nobody is faster") {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--set", "transport=ideal"}}) {
    std::vector<std::string> words = {
        "jobs", std::string(SGDSIM_SOURCE_DIR) + "/app/job_files/mixture.json", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(words);
    REQUIRE(ran.exit_code == 0);
    const Json json = Json::parse(ran.out);
    CHECK(json["jobs"].size() == 4);
    for (const Json& one : json["jobs"]) CHECK(one["slowdown"].get<double>() > 0.995);
    for (const Json& kind : json["kinds"]) CHECK(kind["utilisation_max"].get<double>() <= 1);
  }
}

TEST_CASE("jobs, mixed: a schedule that waits for ever is stuck") {
  const Temporary goal(Temporary::Kind::file,
                       "num_ranks 2\nrank 0 {\nr: recv 8b from 1 tag 0\n}\nrank 1 {\n}\n");
  const Json file = file_of(racks, {job("0,2"), {{"name", "lonely"}, {"schedule", goal.name()}}});
  const Temporary jobs(Temporary::Kind::file, file.dump());
  const Ran ran = run_sgdsim({"jobs", jobs.name()});
  CHECK(ran.exit_code == 4);
  CHECK(ran.out.empty());
  CHECK_MESSAGE(
      ran.log.find(
          "lonely is stuck: nobody sends what is waited for on rank 0 (1 operations left)") !=
          std::string::npos,
      ran.log);
  // Nor does it come through a link that is closed.
  const Temporary sends(Temporary::Kind::file, tell);
  Json closed = file_of(racks, {{{"schedule", sends.name()}, {"placement", "0,2"}}});
  closed["traffic"] = {{"changes", {{{"at", "0 us"}, {"vertex", "spine0"}, {"bandwidth", 0}}}}};
  const Temporary without_way(Temporary::Kind::file, closed.dump());
  CHECK(run_sgdsim({"jobs", without_way.name()}).exit_code == 4);
}

TEST_CASE("jobs, mixed: what is refused") {
  const Temporary goal(Temporary::Kind::file, tell);
  const Temporary circle(Temporary::Kind::file,
                         "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires "
                         "a\n}\n");
  struct Row {
    Json job;
    const char* sentence;
  };
  const auto layout = [](const char* text) {
    return Json{{"layout", {{"model", "llama3.1_8b"}, {"layout", text}}}};
  };
  const auto collective = [](Json what) {
    return Json{{"collective", std::move(what)}, {"workers", 2}};
  };
  for (const Row& row : std::vector<Row>{
           {{{"schedule", goal.name()}, {"collective", {{"bytes", "1 MB"}}}},
            "a job is one of: an experiment, a schedule, a layout, a collective"},
           {{{"schedule", goal.name()}, {"experiment", one_layer}}, "a job is one of"},
           {{{"schedule", goal.name()}, {"workers", 3}}, "it has 2 ranks, and 3 workers"},
           {{{"schedule", goal.name()}, {"iterations", 0}},
            "expected a whole number from 1 to 1000000"},
           {{{"schedule", goal.name()}, {"iterations", 1'000'000}, {"set", Json::array()}}, "set"},
           {{{"schedule", circle.name()}}, "wait for each other in a circle"},
           {{{"schedule", {{"files", goal.name()}, {"algorithm", "mst"}}}},
            "a GOAL schedule has neither"},
           {{{"schedule", Json::array()}}, "no files"},
           {layout("tp8"), "8 workers do not fit: 4 are left"},
           {layout("tp3"), "tp3"},
           {layout("dp4"), "GiB"},
           {collective({{"bytes", "0 B"}}), "expected at least 1 B"},
           {collective({{"bytes", "1 MB"}, {"algorithm", "rnig"}}), "did you mean \"ring\""},
           {collective({{"bytes", "1 MB"}, {"operation", "sum"}}), "sum"},
           {collective({{"bytes", "1 MB"}, {"options", {{"alpha", "wire"}}}}),
            "are of all that shares the network"},
           {{{"collective", {{"bytes", "1 MB"}}}}, "workers"}}) {
    const std::string log = mixed_refusal_of(file_of(racks, {row.job}));
    CHECK_MESSAGE(log.find(row.sentence) != std::string::npos, log);
    CHECK_MESSAGE(log.find("/jobs/0") != std::string::npos, log);
  }
  const Json missing = {{"schedule", "no_such.goal"}};
  CHECK(mixed_refusal_of(file_of(racks, {missing})).find("no_such.goal: cannot be read") !=
        std::string::npos);
  // 60 million operations.
  const Json many = {{"schedule", std::string(SGDSIM_SOURCE_DIR) + "/app/schedules/ring_4.goal"},
                     {"iterations", 1'000'000}};
  CHECK(mixed_refusal_of(file_of(racks, {many})).find("more than 20000000 operations") !=
        std::string::npos);
  // As many messages of a step as `layout` says, once more than 100 million hold.
  const std::vector<std::string> step = {
      "layout",     "llama3.1_8b", "-c",         "dgx_h100_4", "--layout", "dp32 zero1 mbs1 ga1",
      "--sequence", "128",         "--fidelity", "flow",       "--format", "json"};
  const double messages = number_of(step, "/layouts/0/messages");
  const Json layout_often = {
      {"layout", {{"model", "llama3.1_8b"}, {"layout", "dp32 zero1 mbs1 ga1"}, {"sequence", 128}}},
      {"iterations", static_cast<int64_t>(1e8 / messages) + 1}};
  CHECK(mixed_refusal_of(file_of("dgx_h100_4", {layout_often}))
            .find("/jobs/0: its collectives are more than 100 million messages, the most that are "
                  "simulated; fewer GPUs, micro-batches or iterations would fit") !=
        std::string::npos);
}

TEST_CASE("jobs, mixed: a collective alone takes what its own command says, on any network") {
  for (const char* network : {"nccl", "tcp", "paper"}) {
    for (const auto& [algorithm, operation] :
         {std::pair("direct", "alltoall"), std::pair("ring", "allreduce"),
          std::pair("lp", "broadcast"), std::pair("double_binary_tree", "allreduce")}) {
      for (const char* size : {"1 KiB", "3 MiB"}) {
        const std::string what = std::string(algorithm) + " " + size + " over " + network;
        CAPTURE(what);
        const Json cluster = {{"shape", "single_switch"},
                              {"nodes", 2},
                              {"gpus_per_node", 4},
                              {"network", network},
                              {"gpu_link", {{"latency", "1 us"}, {"bandwidth", "100 GBps"}}},
                              {"nic", {{"latency", "5 us"}, {"bandwidth", "100 Gbps"}}}};
        const Temporary file(Temporary::Kind::file, cluster.dump());
        const double alone =
            number_of({"collective", "-a", algorithm, "--op", operation, "-n", size, "-c",
                       file.name(), "--fidelity", "flow", "--format", "json"},
                      "/time_us");
        const Json job = {
            {"name", "a"},
            {"workers", 8},
            {"collective", {{"bytes", size}, {"algorithm", algorithm}, {"operation", operation}}}};
        const double us = us_of(answer_to(file_of(cluster, {job})), 0, "iteration_us");
        CHECK(us == doctest::Approx(alone).epsilon(1e-9));
      }
    }
  }
}

}  // namespace sgdsim
