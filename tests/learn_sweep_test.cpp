// `sgdsim learn --axis`: every point is what the command says of it alone, and what points learn
// alike is learned once.
#include <cmath>
#include <doctest/doctest.h>
#include <set>

#include "app/schema_check.h"
#include "study/answer.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim::learn_sweep {
namespace {

const std::string bert = SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json";

std::vector<std::string> short_lessons(std::vector<std::string> more) {
  std::vector<std::string> words = {"learn", bert, "--task", "logistic", "--iterations", "40"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Ran with(std::vector<std::string> more) { return call_sgdsim(short_lessons(std::move(more))); }

std::vector<Json> points_of(const Ran& ran) {
  std::vector<Json> lines;
  for (const std::string& line : house::split(ran.out, '\n')) {
    if (line.empty()) continue;
    lines.push_back(Json::parse(line));
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/learn-point/1", lines.back()) ==
          std::vector<std::string>{});
  }
  return lines;
}

const std::vector<std::string> methods = {"--also", "topk: compression=topk, density=0.1",
                                          "--also", "late: synchronization=pipe_sgd, width=2",
                                          "--also", "wfbp: strategy=wfbp"};

std::vector<std::string> plus(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("learn sweep: every point is the answer to its question alone, on any threads") {
  const std::vector<std::string> asked =
      plus(methods, {"--seeds", "3", "--target", "loss=0.45", "--axis", "cluster.nodes=2,4",
                     "--axis", "cluster.nic.bandwidth=1 Gbps,100 Gbps"});
  const Ran ran = with(plus(asked, {"--format", "json", "--jobs", "1"}));
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(with(plus(asked, {"--format", "json", "--jobs", "3"})).out == ran.out);
  const std::vector<Json> points = points_of(ran);
  REQUIRE(points.size() == 4);
  std::size_t place = 0;
  int64_t learned = 0;
  for (const char* nodes : {"2", "4"})
    for (const char* bandwidth : {"1 Gbps", "100 Gbps"}) {
      const Json& point = points[place++];
      CHECK(point["axes"] ==
            Json({{"cluster.nodes", Json::parse(nodes)}, {"cluster.nic.bandwidth", bandwidth}}));
      const Ran alone =
          with(plus(methods, {"--seeds", "3", "--target", "loss=0.45", "--format", "json", "--set",
                              std::string("cluster.nodes=") + nodes, "--set",
                              std::string("cluster.nic.bandwidth=") + bandwidth}));
      REQUIRE(alone.exit_code == 0);
      const Json whole = Json::parse(alone.out);
      const Json& answer = point["answer"];
      for (const char* field :
           {"target", "workers", "samples", "iterations", "seeds", "task", "lessons_asked"}) {
        INFO(field);
        CHECK(answer[field] == whole[field]);
      }
      REQUIRE(answer["methods"].size() == 4);
      double least = HUGE_VAL;
      for (const Json& method : whole["methods"]) {
        const Json& own = answer["methods"][method["method"].get<std::string>()];
        for (const char* field : {"iteration_us", "rate", "iterations_to_target",
                                  "time_to_target_us", "against_dense", "log_hash"}) {
          INFO(field);
          CHECK(own[field] == method[field]);
        }
        if (!own["time_to_target_us"]["median"].is_null())
          least = std::min(least, own["time_to_target_us"]["median"].get<double>());
      }
      // The winner has the least median, and the seeds that it won are counted one by one.
      REQUIRE(answer["fastest"].size() == 1);
      const std::string winner = answer["fastest"][0];
      CHECK(answer["methods"][winner]["time_to_target_us"]["median"] == least);
      // Strategies change no sums, and bandwidths none either: 3 of 4 methods at every number of
      // workers.
      CHECK(answer["lessons_asked"] == 12);
      CHECK(answer["lessons_learned"] == (bandwidth == std::string("1 Gbps") ? 9 : 0));
      learned += answer["lessons_learned"].get<int64_t>();
    }
  CHECK(learned == 18);
  // The same lines in a file and as one answer, and a table for people.
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/points.jsonl";
  const Ran table = with(plus(asked, {"--out", out}));
  CHECK(table.exit_code == 0);
  CHECK(read_text(out) == ran.out);
  for (const char* word : {"cluster.nodes", "100 Gbps", "fastest", "topk", "loss 0.4500",
                           "4 points with 4 methods: 18 lessons learned of 48 asked"}) {
    INFO(word);
    INFO(table.out);
    CHECK(table.out.find(word) != std::string::npos);
  }
  CHECK(with(plus(asked, {"--out", out})).exit_code ==
        0);  // its own file is replaced, no other one
  CHECK(with(plus(asked, {"--out", SGDSIM_SOURCE_DIR "/README.md"})).exit_code == 2);
  const Answer answered =
      answer({{"ask", "learn"},
              {"experiment", bert},
              {"task", "logistic"},
              {"iterations", 40},
              {"seeds", 3},
              {"target", "loss=0.45"},
              {"also", {methods[1], methods[3], methods[5]}},
              {"axis", {"cluster.nodes=2,4", "cluster.nic.bandwidth=1 Gbps,100 Gbps"}}});
  CHECK(answered.json == Json(points));
}

// Without noise, from 1, with curvature 1: dense is at (1 - rate)^t, twice as late sums obey
// w[t] = w[t-1] - rate w[t-2]. Loss w^2 / 2 = 0.005 at w = 0.1.
TEST_CASE("learn sweep: who wins follows from the recursions and the times of iterations") {
  const std::string bowl = R"({"name": "quadratic", "curvatures": [1], "start": [1], "noise": 0})";
  const Ran ran = call_sgdsim({"learn",        bert,
                               "--task",       bowl,
                               "--rate",       "0.1",
                               "--iterations", "48",
                               "--seeds",      "2",
                               "--target",     "loss=0.005",
                               "--axis",       "cluster.nodes=2,16",
                               "--axis",       "cluster.nic.bandwidth=1Gbps,100Gbps",
                               "--also",       "late: synchronization=pipe_sgd",
                               "--format",     "json"});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const auto reached = [](bool late) {
    double before = 1;
    double w = 1;
    int64_t first = 0;
    for (int64_t t = 1; t <= 48; ++t) {
      const double of = late ? (t == 1 ? 0 : before) : w;
      before = w;
      w -= 0.1 * of;
      if (w * w / 2 > 0.005) first = t + 1;
    }
    return first;
  };
  for (const Json& point : points_of(ran)) {
    const Json& answer = point["answer"];
    const Json& found = answer["methods"];
    const double dense =
        static_cast<double>(reached(false)) * found["dense"]["iteration_us"].get<double>();
    const double late =
        static_cast<double>(reached(true)) * found["late"]["iteration_us"].get<double>();
    CHECK(found["dense"]["time_to_target_us"]["median"].get<double>() == doctest::Approx(dense));
    CHECK(found["late"]["time_to_target_us"]["median"].get<double>() == doctest::Approx(late));
    CHECK(answer["fastest"] == Json::array({late < dense ? "late" : "dense"}));
    CHECK(answer["seeds_won"] == 2);
  }
}

TEST_CASE("learn sweep: one target for all, and what is reached by none or diverges") {
  // Nobody asked for a target: it is the one of the first point alone.
  const Ran ran = with({"--seeds", "2", "--axis", "cluster.nodes=4,2", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const std::vector<Json> points = points_of(ran);
  const Json alone =
      Json::parse(with({"--seeds", "2", "--set", "cluster.nodes=4", "--format", "json"}).out);
  for (const Json& point : points) {
    CHECK(point["answer"]["target"] == alone["target"]);
    CHECK(point["answer"]["target_was_asked_for"] == false);
  }
  // Late by 7 the bowl is left at this rate; nobody is at 0 with noise.
  const Ran none =
      call_sgdsim({"learn", bert, "--task", "quadratic", "--rate", "1.9", "--iterations", "2000",
                   "--seeds", "1", "--target", "loss=1e-9", "--axis", "cluster.nodes=2,4", "--also",
                   "late: synchronization=pipe_sgd, width=8"});
  INFO(none.out);
  CHECK(none.exit_code == 0);
  for (const char* word : {"diverged", "not reached", "none"})
    CHECK(none.out.find(word) != std::string::npos);
  CHECK(none.out.find("late, ") == std::string::npos);
}

// Pushes come in another order with other jitter, and only then there is another lesson.
TEST_CASE("learn sweep: asynchronous lessons are as many as there are orders") {
  const Ran ran = with({"--set",    R"(collective={"parameter_server": {"servers": 2}})",
                        "--set",    "strategy=sync_easgd",
                        "--set",    "fidelity=message",
                        "--set",    "cluster.nodes=3",
                        "--set",    R"(workers.jitter={"distribution": "lognormal", "sigma": 0.2})",
                        "--axis",   "seed=1,2",
                        "--axis",   "cluster.nic.bandwidth=1 Gbps,100 Gbps,101 Gbps",
                        "--also",   "free: synchronization=async_ps",
                        "--seeds",  "2",
                        "--format", "json"});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  std::set<Json> logs;
  std::size_t learned = 0;
  for (const Json& point : points_of(ran)) {
    for (const char* method : {"dense", "free"})
      logs.insert(point["answer"]["methods"][method]["log_hash"]);
    learned += point["answer"]["lessons_learned"].get<std::size_t>();
  }
  CHECK(logs.size() > 2);
  CHECK(learned == 2 * logs.size());
}

TEST_CASE("learn sweep: what is refused, and points that cannot be learned") {
  const std::vector<std::pair<std::vector<std::string>, const char*>> rows = {
      {{"--axis", "cluster.nodez=4"},
       "--axis cluster.nodez: unknown field \"nodez\" (did you mean"},
      {{"--axis", "cluster.nodes=0,-1"}, "no point can be learned; the first one"},
      {{"--axis", "cluster.nodes=2000"}, "2000 workers: a lesson has at most 1024"},
      {{"--axis", "cluster.nodes"}, "expected FIELD=VALUES"},
      {{"--axis", "cluster.nodes=4,4"}, "this value occurs twice"},
      {{"--axis", "cluster.nodes=4", "--axis", "cluster.nodes=8"}, "this axis occurs twice"},
      {{"--axis", "cluster.nodes=1..1000:1", "--axis", "seed=1..1000:1"},
       "more than 100000 points"},
      {{"--axis", "seed=1..1000000:1"}, "more than 100000 points"},
      {{"--axis", "method=a,b"}, "methods have labels"},
      {{"--axis", "cluster.nodes=4", "--noise-scale"}, "it does not go with --axis"},
      {{"--axis", "cluster.nodes=4", "--svg", "x.svg"}, "it does not go with --axis"},
      {{"--axis", "cluster.nodes=4", "--convergence", "x.json"}, "it does not go with --axis"},
      {{"--axis", "cluster.nodes=4", "--also", "dense: strategy=wfbp"}, "already there"},
      {{"--axis", "cluster.nodes=4", "--also", "compression=nix"}, "unknown compression"},
      {{"--axis", "strategy=wfbp", "--also", "a: strategy=sync_easgd"}, "sets strategy, too"},
      {{"--axis", "compression.density=0.1", "--also", "topk"}, "sets compression, too"},
      {{"--axis", "cluster.nodes=4", "--target", "accuracy=2"}, "--target"},
  };
  for (const auto& [words, says] : rows) {
    const Ran ran = with(plus({"--seeds", "1"}, words));
    const std::string expected = says;
    INFO(expected);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(expected) != std::string::npos);
    CHECK(ran.out.empty());
  }
  const Ran steep =
      call_sgdsim({"learn", bert, "--task", "quadratic", "--rate", "1e6", "--iterations", "100",
                   "--seeds", "1", "--axis", "cluster.nodes=2,4"});
  CHECK(steep.exit_code == 2);
  CHECK(steep.log.find("so it sets no target: choose a smaller --rate") != std::string::npos);
  // Beside others, such a point has its reason.
  const Ran some = with({"--seeds", "1", "--axis", "cluster.nodes=0,2,2000", "--format", "json"});
  CHECK(some.exit_code == 1);
  CHECK(some.log.find("2 of 3 points failed") != std::string::npos);
  const std::vector<Json> points = points_of(some);
  REQUIRE(points.size() == 3);
  CHECK(
      points[0]["error"].get<std::string>().starts_with("--axis cluster.nodes: expected a whole"));
  CHECK(points[1]["answer"]["workers"] == 2);
  CHECK(points[2]["error"].get<std::string>().find("at most 1024") != std::string::npos);
}

}  // namespace sgdsim::learn_sweep
