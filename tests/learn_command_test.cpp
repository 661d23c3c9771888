// `sgdsim learn`: times from the simulator, losses from lessons, both in one table.
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "study/learn/learning_band.h"
#include "study/learn/lessons.h"
#include "tests/refused_words.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string small_task =
    R"({"name": "teacher_mlp", "width": 16, "training_samples": 1000, "held_out_samples": 200})";

Json learned_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"learn", SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json"});
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  const std::vector<std::string> faults = faults_of_value(embedded_shelf(), "sgdsim/learn/1", json);
  INFO((faults.empty() ? "" : faults.front()));
  CHECK(faults.empty());
  return json;
}

std::vector<std::string> quickly(std::vector<std::string> more) {
  std::vector<std::string> words = {"--task",  small_task, "--iterations", "60",
                                    "--seeds", "3",        "--set",        "cluster.nodes=4"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("learn: times are those of `sgdsim run`, and equal logs are learned once") {
  const Json json = learned_of(
      quickly({"--also", "wfbp: strategy=wfbp", "--also", "one: synchronization=local_sgd, steps=1",
               "--also", "late: synchronization=pipe_sgd, width=3"}));
  const Json& methods = json["methods"];
  REQUIRE(methods.size() == 4);
  CHECK(methods[0]["method"] == "dense");
  const Json run = Json::parse(
      call_sgdsim({"run", SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json", "--set",
                   "cluster.nodes=4", "--set", "strategy=wfbp", "--format", "json"})
          .out);
  CHECK(methods[1]["iteration_us"].get<double>() ==
        doctest::Approx(run["metrics"]["iteration_us"]["mean"].get<double>()).epsilon(1e-9));
  // A strategy and an average after every step change no sums.
  CHECK(methods[1]["log_hash"] == methods[0]["log_hash"]);
  CHECK(methods[2]["log_hash"] == methods[0]["log_hash"]);
  CHECK(methods[3]["log_hash"] != methods[0]["log_hash"]);
  CHECK(json["lessons_asked"] == 12);
  CHECK(json["lessons_learned"] == 6);
  for (std::size_t i = 0; i < methods[0]["curves"][0]["points"].size(); ++i) {
    const Json& a = methods[0]["curves"][0]["points"][i];
    const Json& b = methods[1]["curves"][0]["points"][i];
    CHECK(a["loss"] == b["loss"]);
    CHECK(b["time_us"].get<double>() ==
          doctest::Approx(b["iteration"].get<double>() * methods[1]["iteration_us"].get<double>()));
  }
  // Of four workers: one iteration of K = 3 misses nothing, the next one 1, all others 2.
  const Json late = Json::parse(R"([{"updates": 0, "gradients": 4}, {"updates": 1, "gradients": 4},
                                    {"updates": 2, "gradients": 232}])");
  CHECK(methods[3]["staleness"] == late);
  // Time to target is the time of the iterations to it.
  const Json& dense = methods[0];
  CHECK(dense["time_to_target_us"]["median"].get<double>() ==
        doctest::Approx(dense["iterations_to_target"]["median"].get<double>() *
                        dense["iteration_us"].get<double>()));
  CHECK(dense["against_dense"]["median"] == 1);
}

TEST_CASE("learn: threads change no bit") {
  const auto words = [&](const std::string& threads) {
    return quickly({"--also", "gtopk", "--jobs", threads});
  };
  CHECK(learned_of(words("1")) == learned_of(words("3")));
}

// A step of sync_easgd is computing and one exchange; of four local steps the last one is that, and
// the others only compute.
TEST_CASE("learn: iterations of several kinds take their own times") {
  const Json json = learned_of(
      quickly({"--set", "strategy=sync_easgd", "--also", "late: synchronization=pipe_sgd, width=2",
               "--also", "half: synchronization=pipe_sgd, width=2, synchronous_iterations=30",
               "--also", "all: synchronization=pipe_sgd, width=2, synchronous_iterations=1000",
               "--also", "local: synchronization=local_sgd, steps=4"}));
  const auto time_us = [&](std::size_t method, std::size_t iteration) {
    const Json& point = json["methods"][method]["curves"][0]["points"][iteration];
    CHECK(point["iteration"] == iteration);
    return point["time_us"].get<double>();
  };
  const double dense_us = time_us(0, 1);
  const double late_us = time_us(1, 1);
  CHECK(late_us < 0.9 * dense_us);
  CHECK(time_us(2, 30) == doctest::Approx(30 * dense_us));
  CHECK(time_us(2, 60) == doctest::Approx(30 * dense_us + 30 * late_us));
  CHECK(time_us(3, 60) == doctest::Approx(60 * dense_us));
  const double local_us = time_us(4, 1);
  CHECK(local_us < 0.9 * dense_us);
  CHECK(time_us(4, 3) == doctest::Approx(3 * local_us));
  CHECK(time_us(4, 4) == doctest::Approx(3 * local_us + dense_us));
  CHECK(time_us(4, 60) == doctest::Approx(45 * local_us + 15 * dense_us));
}

// With a staleness of 0 every gradient of an iteration is of the same weights: at a rate of 1.9 a
// curvature of 1 takes the weight to -0.9 of itself. A gradient that is one update late would take
// it further and further away.
TEST_CASE("learn: a bound of 0 is synchronous") {
  const Json json = learned_of(
      {"--task",
       R"({"name": "quadratic", "curvatures": [1], "noise": 0})",
       "--rate",
       "1.9",
       "--seeds",
       "1",
       "--iterations",
       "20",
       "--target",
       "loss=0.01",
       "--set",
       "cluster.nodes=4",
       "--set",
       "fidelity=message",
       "--set",
       "strategy=sync_easgd",
       "--set",
       R"(workers.jitter={"distribution": "lognormal", "sigma": 0.2})",
       "--also",
       R"(one: synchronization=ssp, staleness=0, collective={"parameter_server": {"servers": 1}})",
       "--also",
       R"(three: synchronization=ssp, staleness=0, collective={"parameter_server": {"servers": 3}})"});
  for (const std::size_t method : {1U, 2U})
    for (std::size_t i = 0; i <= 20; ++i)
      CHECK(json["methods"][method]["curves"][0]["points"][i]["loss"].get<double>() ==
            doctest::Approx(0.5 * std::pow(0.81, i)).epsilon(1e-9));
}

TEST_CASE("learn: asynchronous pushes are those that the simulator played") {
  const std::vector<std::string> server = {
      "--set", R"(collective={"parameter_server": {"servers": 2}})",
      "--set", "strategy=sync_easgd",
      "--set", "fidelity=message",
      "--set", R"(workers.jitter={"distribution": "lognormal", "sigma": 0.2})"};
  std::vector<std::string> words = quickly({"--also", "free: synchronization=async_ps", "--also",
                                            "bound: synchronization=ssp, staleness=1000"});
  words.insert(words.end(), server.begin(), server.end());
  const Json json = learned_of(words);
  const Json& free = json["methods"][1];
  // A bound that is never met is none.
  CHECK(json["methods"][2]["log_hash"] == free["log_hash"]);
  double gradients = 0;
  double sum = 0;
  double most = 0;
  for (const Json& one : free["staleness"]) {
    gradients += one["gradients"].get<double>();
    sum += one["updates"].get<double>() * one["gradients"].get<double>();
    most = std::max(most, one["updates"].get<double>());
  }
  // Of two servers' 60 iterations of four workers half are the first one's, but for those that have
  // pushed to one of them only. The simulator goes on for two iterations, whose gradients may be as
  // late as any.
  std::vector<std::string> run = {
      "run",      SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json",
      "--set",    "cluster.nodes=4",
      "--set",    "synchronization=async_ps",
      "--set",    "iterations=62",
      "--set",    "warm_up=0",
      "--format", "json"};
  run.insert(run.end(), server.begin(), server.end());
  const Ran ran = call_sgdsim(run);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json quality = Json::parse(ran.out)["quality"];
  CHECK(std::abs(gradients - 4 * 60) <= 4);
  const double played = 4 * 62;
  const double played_sum = played * quality["staleness_mean"].get<double>();
  const double latest = quality["staleness_max"].get<double>();
  CHECK(sum <= played_sum);
  CHECK(sum >= played_sum - (played - gradients) * latest);
  CHECK(most <= latest);
}

TEST_CASE("learn: phases of density take the times of their densities") {
  const Json json = learned_of(quickly({"--also",
                                        "warm: compression=gtopk, density=[{\"density\": 0.5, "
                                        "\"iterations\": 20}, {\"density\": 0.01}]",
                                        "--also", "half: compression=gtopk, density=0.5", "--also",
                                        "little: compression=gtopk, density=0.01"}));
  const Json& methods = json["methods"];
  CHECK(methods[1]["iteration_us"].get<double>() ==
        doctest::Approx((methods[2]["iteration_us"].get<double>() * 20 +
                         methods[3]["iteration_us"].get<double>() * 40) /
                        60));
}

TEST_CASE("learn: what diverges or is not reached is said, not shown as a number") {
  const Ran ran =
      call_sgdsim({"learn", SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json", "--task",
                   "quadratic", "--rate", "1.9", "--iterations", "2000", "--seeds", "1", "--target",
                   "loss=0.001", "--also", "late: synchronization=pipe_sgd, width=8"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("late: diverged: at iteration ") != std::string::npos);
  CHECK(ran.out.find("not within 2000") != std::string::npos);
  CHECK(ran.out.find("nan") == std::string::npos);
}

TEST_CASE("learn: the best of a ladder of rates, and its edge") {
  const Json json = learned_of(quickly({"--rate", "best"}));
  const Json& dense = json["methods"][0];
  REQUIRE(dense["ladder"].size() == 5);
  double best = HUGE_VAL;
  for (const Json& rung : dense["ladder"])
    if (!rung["iterations_to_target"].is_null())
      best = std::min(best, rung["iterations_to_target"].get<double>());
  CHECK(dense["iterations_to_target"]["median"] == best);
  CHECK(dense["best_rate_is_at_edge"] == (dense["rate"] == dense["ladder"][0]["rate"] ||
                                          dense["rate"] == dense["ladder"][4]["rate"]));
}

// A gradient of length 2 in four coordinates, noise of variance 25 in each: 100 / 4 samples. A rate
// of nearly nothing leaves the weights where they are. Standard errors of 60,000 draws: 0.04 and
// 0.25.
TEST_CASE("learn: the noise scale is the trace of the covariance over the squared gradient") {
  const std::vector<std::string> words = {
      "--set",
      "cluster.nodes=4",
      "--task",
      R"({"name": "quadratic", "curvatures": [1, 1, 1, 1], "start": [1, 1, 1, 1], "noise": 5})",
      "--rate",
      "1e-12",
      "--iterations",
      "20000",
      "--seeds",
      "3",
      "--samples",
      "4",
      "--target",
      "loss=10",
      "--noise-scale"};
  const Json noise = learned_of(words)["noise"];
  CHECK(noise["windows"].size() == 8);
  CHECK(noise["whole"]["gradient_squared"].get<double>() == doctest::Approx(4).epsilon(0.04));
  CHECK(noise["whole"]["covariance_trace"].get<double>() == doctest::Approx(100).epsilon(0.01));
  CHECK(noise["whole"]["noise_scale"]["median"].get<double>() == doctest::Approx(25).epsilon(0.06));
  CHECK(noise["windows"][0]["from"] == 0);
  CHECK(noise["windows"][7]["to"] == 20000);
}

TEST_CASE("learn: momentum of workers, of the outer step, of AdamW") {
  const auto last_loss = [](const Json& json, std::size_t method) {
    return json["methods"][method]["curves"][0]["points"].back()["loss"].get<double>();
  };
  // Where all is sent, nothing is forgotten: the sum of momenta is the momentum of the sum.
  const Json of_sum = learned_of(quickly({"--momentum", "0.9", "--rate", "0.02"}));
  const Json of_workers =
      learned_of(quickly({"--momentum", "0.9", "--rate", "0.02", "--momentum-of", "workers"}));
  CHECK(last_loss(of_workers, 0) == doctest::Approx(last_loss(of_sum, 0)).epsilon(1e-3));
  CHECK(of_workers["momentum_of"] == "workers");
  // One coordinate, no noise, h = 1, rate 0.1, from 1: two steps by itself leave 0.81 w. The outer
  // step: d = 0.19 w, v = 0.5 v + d, w = w - 0.8 (d + 0.5 v).
  const Json outer = learned_of(
      {"--set", "cluster.nodes=2", "--task",
       R"({"name": "quadratic", "curvatures": [1], "start": [1], "noise": 0})", "--rate", "0.1",
       "--iterations", "4", "--seeds", "1", "--target", "loss=0.1", "--also",
       R"(diloco: synchronization=local_sgd, steps=2, outer_rate=0.8, outer_momentum=0.5)"});
  double w = 1;
  double v = 0;
  for (int round = 0; round < 2; ++round) {
    const double d = 0.19 * w;
    v = 0.5 * v + d;
    w -= 0.8 * (d + 0.5 * v);
  }
  CHECK(last_loss(outer, 1) == doctest::Approx(w * w / 2).epsilon(1e-12));
  // AdamW's first step is the sign of the gradient, and the decay: 1 - 0.001 (1 + 0.01).
  const Json adam = learned_of(
      {"--set", "cluster.nodes=2", "--task",
       R"({"name": "quadratic", "curvatures": [1], "start": [1], "noise": 0})", "--optimizer",
       "adamw", "--iterations", "2", "--seeds", "1", "--target", "loss=0.1"});
  CHECK(adam["methods"][0]["rate"] == 0.001);
  const double first = 1 - 0.001 * 1.01;
  CHECK(adam["methods"][0]["curves"][0]["points"][1]["loss"].get<double>() ==
        doctest::Approx(first * first / 2).epsilon(1e-9));
}

TEST_CASE("learn: curves that experiments read are the ratios of iterations") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string file = folder.name() + "/convergence.json";
  const std::string experiment = SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json";
  std::vector<std::string> words = quickly(
      {"--convergence", file, "--target", "loss=2.2", "--also", "late: synchronization=pipe_sgd",
       "--also", "later: synchronization=pipe_sgd, width=4", "--also",
       "half: compression=topk, density=0.5", "--also", "wfbp: strategy=wfbp"});
  words.insert(words.begin(), {"learn", experiment, "--format", "json"});
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.log.find("\"wfbp\" is not in the curves") != std::string::npos);
  const Json learned = Json::parse(ran.out);
  const auto needed = [&](std::size_t method) {
    return learned["methods"][method]["iterations_to_target"]["median"].get<double>();
  };
  const Json curves = Json::parse(read_text(file));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/convergence/1", curves).empty());
  CHECK(curves["iterations"] == needed(0));
  const Json staleness = {{{"at", 0.}, {"factor", 1.}},
                          {{"at", 1.}, {"factor", needed(1) / needed(0)}},
                          {{"at", 3.}, {"factor", needed(2) / needed(0)}}};
  CHECK(curves["staleness"] == staleness);
  const Json density = {{{"at", 0.5}, {"factor", needed(3) / needed(0)}},
                        {{"at", 1.}, {"factor", 1.}}};
  CHECK(curves["density"] == density);
  // An experiment reads it, as a path and in place.
  for (const std::string& given : {file, curves.dump()}) {
    const Ran run =
        call_sgdsim({"run", experiment, "--set", "cluster.nodes=4", "--set", "strategy=sync_easgd",
                     "--set", "synchronization={\"name\": \"pipe_sgd\", \"width\": 4}", "--set",
                     "convergence=" + given, "--format", "json"});
    INFO(run.log);
    REQUIRE(run.exit_code == 0);
    CHECK(Json::parse(run.out)["convergence"]["iterations"].get<double>() ==
          doctest::Approx(needed(2)));
  }
  // What cannot be written is refused, and no file is left.
  const std::vector<RefusedWords> rows = {
      {{}, "no method differs"},
      {{"--also", "a: synchronization=pipe_sgd", "--also",
        "b: synchronization=pipe_sgd, communication=layerwise"},
       "have the same mean staleness"},
      {{"--also", "late: synchronization=pipe_sgd, width=16", "--rate", "2", "--target",
        "loss=0.01"},
       "did not reach the target"},
  };
  const std::string other = folder.name() + "/other.json";
  std::vector<std::string> asked = quickly({"--convergence", other});
  asked.insert(asked.begin(), {"learn", experiment});
  check_refused(asked, rows);
  CHECK_FALSE(std::filesystem::exists(other));
}

// What is learned depends on rules and numbers, not on names and times.
TEST_CASE("learn: which changes alter learning") {
  const auto rules = [](const std::vector<std::string>& settings) {
    LearnMethod method;
    take_rules(read_experiment(resolve_experiment(
                   SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json", settings, "")),
               method);
    method.log_hash = hash_of(method.log);
    return method;
  };
  const std::string sparse = R"(compression={"name": "topk", "density": 0.01})";
  const std::string local = R"(synchronization={"name": "local_sgd", "steps": 4})";
  const LearnMethod dense = rules({"strategy=ddp"});
  CHECK(learn_alike(dense, rules({"strategy=wfbp", "cluster.nic.bandwidth=1 Gbps"})));
  CHECK(!learn_alike(dense, rules({sparse})));
  CHECK(!learn_alike(rules({sparse}), rules({sparse, "compression.density=0.001"})));
  CHECK(!learn_alike(rules({sparse}), rules({sparse, "compression.feedback=false"})));
  CHECK(!learn_alike(dense, rules({"strategy=sync_easgd", local})));
  CHECK(!learn_alike(rules({"strategy=sync_easgd", local}),
                     rules({"strategy=sync_easgd", local, "synchronization.outer_rate=0.7"})));
}

#ifndef SGDSIM_SANITIZED  // a hundred lessons
// Where everything is sent, to the last bit, a change needs the iterations that it needed before.
TEST_CASE("learn: the band of what changes nothing is one") {
  const auto experiment = [](const std::string& setting) {
    return read_experiment(resolve_experiment(SGDSIM_SOURCE_DIR
                                              "/app/experiments/bert_base_10gbe.json",
                                              {"cluster.nodes=2", setting}, ""));
  };
  const std::vector<LearningBand> bands =
      learning_bands(experiment("strategy=ddp"),
                     {experiment(R"(compression={"name": "topk", "density": 1})"),
                      experiment(R"(compression={"name": "randomk", "density": 0.02})")},
                     {});
  REQUIRE(bands.size() == 2);
  CHECK(bands[0].least == 1);
  CHECK(bands[0].most == 1);
  // Feedback of 2 % of the elements is a delay of fifty iterations.
  CHECK(bands[1].most > 1.2);
  CHECK(learning_bands(experiment("strategy=ddp"), {}, {}).empty());
}
#endif

TEST_CASE("learn: a picture and a file") {
  const Temporary folder(Temporary::Kind::folder);
  std::vector<std::string> words =
      quickly({"--svg", folder.name() + "/loss.svg", "--out", folder.name() + "/learn.json"});
  words.insert(words.begin(), {"learn", SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json"});
  const Ran ran = call_sgdsim(words);
  CHECK(ran.exit_code == 0);
  CHECK(read_text(folder.name() + "/loss.svg").find("simulated time (s)") != std::string::npos);
  const Json json = Json::parse(read_text(folder.name() + "/learn.json"));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/learn/1", json).empty());
}

TEST_CASE("learn: what cannot be learned is refused with what to write") {
  const std::vector<RefusedWords> rows = {
      {{"--target", "0.66"}, "accuracy=0.66"},
      {{"--target", "accuracy=2"}, "--target"},
      {{"--target", "accuracy=nan"}, "--target"},
      {{"--target", "accuracy=101%"}, "--target"},
      {{"--target", "loss=50%"}, "--target"},
      {{"--task", "quadratic", "--target", "accuracy=0.5"}, "has no accuracy"},
      {{"--task", "imagenet"}, "unknown task"},
      {{"--rate", "fast"}, "base, best or a number"},
      {{"--rate", "0"}, "--rate"},
      {{"--rate", "1e300"}, "--rate"},
      {{"--momentum", "1"}, "--momentum"},
      {{"--momentum-of", "workers"}, "add --momentum 0.9"},
      {{"--momentum-of", "all", "--momentum", "0.9"}, "sum or workers"},
      {{"--optimizer", "adam"}, "sgd or adamw"},
      {{"--optimizer", "adamw", "--momentum", "0.9"}, "moments of its own"},
      {{"--noise-scale", "--set", "cluster.nodes=1"}, "one worker"},
      {{"--seeds", "0"}, "--seeds"},
      {{"--seeds", "1000000"}, "--seeds"},
      {{"--iterations", "1"}, "--iterations"},
      {{"--iterations", "1e9"}, "--iterations"},
      {{"--samples", "-1"}, "--samples"},
      {{"--jobs", "0"}, "--jobs"},
      {{"--set", "cluster.nodes=100000"}, "at most 1024"},
      {{"--also", "dense: compression=topk"}, "choose another label"},
      {{"--also", "x: cluster.nodes=2"}, "changes the number of workers"},
      {{"--also", "x"}, "--also x"},
      {{"--task", "quadratic", "--rate", "1000"}, "dense training diverges"},
      // (1 - 2.1)^2 = 1.21 times the loss in each iteration, so that it ends finite, and far above.
      {{"--task", R"({"name": "quadratic", "curvatures": [1], "noise": 0})", "--rate", "2.1",
        "--iterations", "20"},
       "diverges at the rate 2.1: after half of its iterations the loss is above that at the "
       "start"},
      {{"--task", R"({"name": "quadratic", "curvatures": [1], "centres": [[0], [1], [2]]})",
        "--set", "cluster.nodes=4"},
       "--task: /centres: expected 1 list, or one for each of the 4 workers, got 3"},
      {{"--task", R"({"name": "quadratic", "curvatures": [[1], [2], [3]]})", "--set",
        "cluster.nodes=2"},
       "--task: /curvatures: expected 1 list, or one for each of the 2 workers, got 3"},
      {{"--task", R"({"name": "quadratic", "dimensions": 10000000})"}, "more than 4 GB"},
  };
  check_refused({"learn", SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json", "--seed", "1"},
                rows);
}

}  // namespace
}  // namespace sgdsim
