// `sgdsim learn` with packets that are lost: as stated, as simulated, and what is refused.
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/run_program.h"

namespace sgdsim::learn_losses {
namespace {

const std::string bert = SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json";

Json learned(std::vector<std::string> words) {
  words.insert(words.begin(), "learn");
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/learn/1", json) == std::vector<std::string>{});
  return json;
}

// So many coordinates of curvature 1 that begin at 1, without noise.
std::string bowl(int coordinates) {
  Json curvatures = Json::array();
  Json start = Json::array();
  for (int i = 0; i < coordinates; ++i) {
    curvatures.push_back(1);
    start.push_back(1);
  }
  return Json({{"name", "quadratic"}, {"curvatures", curvatures}, {"start", start}, {"noise", 0}})
      .dump();
}

double last_loss(const Json& json, std::size_t method) {
  const Json& points = json["methods"][method]["curves"][0]["points"];
  return points[points.size() - 1]["loss"].get<double>();
}

}  // namespace

// A gradient that does not come counts as zero: with R of P workers' there, w shrinks by 1 - a R /
// P, and R is binomial. The mean over coordinates, each a packet of its own, lies within four
// standard errors, which the fourth moment gives.
TEST_CASE("learn: lost packets of gradients follow the moments of binomial draws") {
  constexpr int coordinates = 2000;
  constexpr int workers = 4;
  constexpr double rate = 0.1;
  constexpr double lost = 0.3;
  constexpr int iterations = 20;
  const Json json = learned({bert, "--set", "cluster.nodes=4", "--task", bowl(coordinates),
                             "--rate", "0.1", "--iterations", "20", "--seeds", "1", "--target",
                             "loss=1", "--also", "lossy: lost.push=0.3, packet=1", "--also",
                             "by those: lost.push=0.3, packet=1, divide_by=received"});
  double second = 0;
  double fourth = 0;
  const double choose[] = {1, 4, 6, 4, 1};
  for (int r = 0; r <= workers; ++r) {
    const double chance = choose[r] * std::pow(1 - lost, r) * std::pow(lost, workers - r);
    const double shrinks = 1 - rate * r / workers;
    second += chance * std::pow(shrinks, 2);
    fourth += chance * std::pow(shrinks, 4);
  }
  const double mean = std::pow(second, iterations);
  const double error =
      std::sqrt((std::pow(fourth, iterations) - mean * mean) / coordinates) * coordinates / 2;
  CHECK(std::abs(last_loss(json, 1) - coordinates * mean / 2) < 4 * error);
  CHECK(error < 0.01 * last_loss(json, 1));
  // Without losses, and divided by who has come, w shrinks by 0.9; with no one there it stays, once
  // in 1 / 0.3^4 = 123 draws.
  CHECK(last_loss(json, 0) == doctest::Approx(coordinates * std::pow(0.9, 40) / 2));
  const double all_lost = std::pow(lost, workers);
  const double by_received = std::pow(all_lost + (1 - all_lost) * 0.81, iterations);
  CHECK(last_loss(json, 2) == doctest::Approx(coordinates * by_received / 2).epsilon(0.01));
  CHECK(json["methods"][1]["lost"] == Json({{"push", 0.3}, {"pull", 0.}}));
  CHECK_FALSE(json["methods"][0].contains("lost"));
}

// Of no weights that come, a worker keeps the first: the gradient stays 1, and w falls by the rate.
TEST_CASE("learn: a worker whose weights never come descends from the first ones") {
  const Json json = learned({bert, "--set", "cluster.nodes=3", "--task", bowl(2), "--rate", "0.05",
                             "--iterations", "10", "--seeds", "1", "--target", "loss=1", "--also",
                             "blind: lost.pull=1", "--also", "none: lost.push=0"});
  CHECK(last_loss(json, 1) == doctest::Approx(2 * std::pow(1 - 0.05 * 10, 2) / 2).epsilon(1e-12));
  CHECK(last_loss(json, 2) == last_loss(json, 0));
  CHECK(json["lessons_learned"] == 2);  // what loses nothing is dense
  CHECK(json["methods"][1]["iteration_us"] == json["methods"][0]["iteration_us"]);
}

// Two tensors' worth of places: only the coordinates at risk are late.
TEST_CASE("learn: which packets are lost, by place and by magnitude") {
  const std::string task =
      R"({"name": "quadratic", "curvatures": [1, 1, 1, 1], "start": [1, 2, 4, 8], "noise": 0})";
  struct Row {
    const char* of;
    double loss;  // the coordinate at risk keeps its value, the others shrink by 0.9
  };
  const double shrunk = 0.81;
  const Row rows[] = {{"first", (1 + shrunk * (4 + 16 + 64)) / 2},
                      {"last", (64 + shrunk * (1 + 4 + 16)) / 2},
                      {"smallest", (1 + shrunk * (4 + 16 + 64)) / 2},
                      {"largest", (64 + shrunk * (1 + 4 + 16)) / 2}};
  for (const Row& row : rows) {
    const std::string also =
        std::string("lossy: lost.push=1, packet=1, fraction=0.25, of=") + row.of;
    const Json json =
        learned({bert, "--set", "cluster.nodes=2", "--task", task, "--rate", "0.1", "--iterations",
                 "2", "--seeds", "1", "--target", "loss=1", "--also", also});
    CAPTURE(row.of);
    CHECK(json["methods"][1]["curves"][0]["points"][1]["loss"].get<double>() ==
          doctest::Approx(row.loss).epsilon(1e-12));
    CHECK(json["methods"][1]["lost"]["of"] == row.of);
  }
}

// MLT drops packets of both: the parts are those that `run` reports, by the bytes of all layers.
TEST_CASE("learn: lost packets of gradients and weights are as many as simulated") {
  const std::string servers = SGDSIM_SOURCE_DIR "/app/experiments/resnet50_servers_18.json";
  const Ran ran = call_sgdsim({"run", servers, "--transport", "mlt", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  double size[2] = {0, 0};
  double came[2] = {0, 0};
  const Json result = Json::parse(ran.out);
  for (const Json& layer : result["delivery"]) {
    const int place = layer["cargo"] == "parameters" ? 1 : 0;
    size[place] += layer["size_B"].get<double>();
    came[place] += layer["size_B"].get<double>() * layer["part"].get<double>();
  }
  const Json json = learned({servers, "--set", "transport=mlt", "--task", "logistic",
                             "--iterations", "20", "--seeds", "1"});
  const Json& lost = json["methods"][0]["lost"];
  CHECK(lost["push"].get<double>() == doctest::Approx(1 - came[0] / size[0]).epsilon(1e-9));
  CHECK(lost["pull"].get<double>() == doctest::Approx(1 - came[1] / size[1]).epsilon(1e-9));
  CHECK(lost["pull"].get<double>() > 0.01);
  // At the same place of the task as in the model.
  double passed = 0;
  std::size_t place = 0;
  for (const Json& layer : result["delivery"]) {
    if (layer["cargo"] != "parameters") continue;
    passed += layer["size_B"].get<double>();
    REQUIRE(place < lost["pull_by_place"].size());
    const Json& own = lost["pull_by_place"][place++];
    CHECK(own["until"].get<double>() == doctest::Approx(passed / size[1]).epsilon(1e-9));
    CHECK(own["part"].get<double>() ==
          doctest::Approx(1 - layer["part"].get<double>()).epsilon(1e-9));
  }
  CHECK(place == lost["pull_by_place"].size());
}

TEST_CASE("learn: lost packets that are refused") {
  const std::pair<const char*, const char*> rows[] = {
      {"a: lost.push=2", "/lost/push: expected"},
      {"a: lost.psh=0.1", "unknown field \"psh\" (did you mean \"push\"?)"},
      {"a: lost.push=0.1, of=biggest", "biggest"},
      {"a: lost.push=0.1, fraction=0.5", "say which, as in of=largest"},
      {"a: lost=5", "--also a: /lost"},
      {"a: synchronization=local_sgd, steps=4, lost.push=0.1", "where gradients are summed"},
      {"a: compression=gtopk, put_back=absence, lost.push=0.1", "where gradients are summed"},
  };
  for (const auto& [also, says] : rows) {
    const Ran ran = call_sgdsim({"learn", bert, "--set", "cluster.nodes=2", "--task", "logistic",
                                 "--iterations", "4", "--seeds", "1", "--also", also});
    const std::string expected = says;
    INFO(expected);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(expected) != std::string::npos);
  }
  // Experiments know no such field.
  const Ran sweep =
      call_sgdsim({"sweep", bert, "--method", "a: lost.push=0.1", "--axis", "cluster.nodes=2,4"});
  CHECK(sweep.exit_code != 0);
  CHECK((sweep.out + sweep.log).find("lost") != std::string::npos);
}

// Two workers with different bottoms of their bowls, curvature 1: w moves towards the mean of those
// that are there.
TEST_CASE("learn: absent workers are neither in the sum nor in what it is divided by") {
  const std::string task =
      R"({"name": "quadratic", "curvatures": [1], "start": [2], "noise": 0, "centres": [[0], [1]]})";
  const Json json = learned({bert, "--set", "cluster.nodes=2", "--task", task, "--rate", "0.1",
                             "--iterations", "12", "--seeds", "1", "--target", "loss=0.2", "--also",
                             R"(gone: absent=[{"worker": 1, "from": 3, "until": 7}])", "--also",
                             R"(dead: absent=[{"worker": 0, "from": 5}])", "--also",
                             R"(never: absent=[{"worker": 0, "from": 500}])"});
  const auto expected = [](int worker, int from, int until) {
    double w = 2;
    for (int t = 0; t < 12; ++t) {
      const bool absent = t >= from && t < until;
      const double bottom = !absent ? 0.5 : worker == 1 ? 0 : 1;
      w -= 0.1 * (w - bottom);
    }
    return (w * w + (w - 1) * (w - 1)) / 4;  // mean of both bowls
  };
  CHECK(last_loss(json, 0) == doctest::Approx(expected(0, 0, 0)).epsilon(1e-12));
  CHECK(last_loss(json, 1) == doctest::Approx(expected(1, 3, 7)).epsilon(1e-12));
  CHECK(last_loss(json, 2) == doctest::Approx(expected(0, 5, 12)).epsilon(1e-12));
  CHECK(last_loss(json, 3) == last_loss(json, 0));
  CHECK(json["methods"][1]["absent"] == Json::parse(R"([{"worker": 1, "from": 3, "until": 7}])"));
  CHECK(json["methods"][2]["absent"] == Json::parse(R"([{"worker": 0, "from": 5}])"));
  CHECK(json["methods"][1]["staleness"][0]["gradients"] == 24 - 4);
  CHECK(json["methods"][1]["log_hash"] != json["methods"][0]["log_hash"]);
}

// Of four workers two are never there: the same as two, in numbers and in times, whatever becomes
// of gradients on the way.
TEST_CASE("learn: workers that are never there are as none") {
  const std::vector<std::string> usual = {
      "--task",   "teacher_mlp", "--iterations", "12",  "--seeds",       "1",      "--samples", "4",
      "--target", "loss=0.1",    "--momentum",   "0.5", "--momentum-of", "workers"};
  std::vector<std::string> two = {bert, "--set", "cluster.nodes=2"};
  std::vector<std::string> four = {bert, "--set", "cluster.nodes=4"};
  two.insert(two.end(), usual.begin(), usual.end());
  four.insert(four.end(), usual.begin(), usual.end());
  const std::vector<std::string> methods = {
      "compression=topk, density=0.01",
      "compression=topk2, density=0.01",
      "compression=gtopk, density=0.01",
      "compression=gtopk, density=0.01, put_back=absence",
      "compression=lags, density=0.01",
      "compression=randomk, density=0.1",
      "compression=sign",
      "compression=truncate16",
      "compression=quantize8",
      "compression=qsgd",
      "compression=powersgd",
      "synchronization=local_sgd, steps=3",
      "synchronization=local_sgd, steps=2, outer_rate=0.7, outer_momentum=0.9",
      "synchronization=pipe_sgd, width=2",
      "lost.push=0.3, lost.pull=0.2",
      "compression=topk, density=0.01, lost.push=0.3, divide_by=received"};
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const std::string label = "m" + std::to_string(i) + ": ";
    two.insert(two.end(), {"--also", label + methods[i]});
    four.insert(four.end(),
                {"--also", label + methods[i] + R"(, absent=[{"worker": 2}, {"worker": 3}])"});
  }
  const Json of_two = learned(two);
  const Json of_four = learned(four);
  for (std::size_t i = 1; i <= methods.size(); ++i) {
    INFO(methods[i - 1]);
    CHECK(of_four["methods"][i]["curves"] == of_two["methods"][i]["curves"]);
    CHECK(of_four["methods"][i]["staleness"] == of_two["methods"][i]["staleness"]);
  }
}

// What a worker had not sent is lost when it goes. One entry of two travels; u = e + g.
TEST_CASE("learn: an absent worker's residual is lost") {
  const std::string task =
      R"({"name": "quadratic", "curvatures": [1, 1], "start": [2, 1], "noise": 0, "centres": [[0, 1], [1, 3]]})";
  const Json json = learned(
      {bert, "--set", "cluster.nodes=2", "--task", task, "--rate", "0.1", "--iterations", "9",
       "--seeds", "1", "--target", "loss=0.2", "--also",
       R"(gone: compression=topk, density=0.5, absent=[{"worker": 1, "from": 3, "until": 6}])"});
  const double centres[2][2] = {{0, 1}, {1, 3}};
  double w[2] = {2, 1};
  double rest[2][2] = {{0, 0}, {0, 0}};
  for (int t = 0; t < 9; ++t) {
    double sum[2] = {0, 0};
    const bool is_gone = t >= 3 && t < 6;
    for (int i = 0; i < 2; ++i) {
      if (i == 1 && is_gone) {
        rest[1][0] = rest[1][1] = 0;
        continue;
      }
      const double u[2] = {rest[i][0] + w[0] - centres[i][0], rest[i][1] + w[1] - centres[i][1]};
      const int sent = std::abs(u[0]) >= std::abs(u[1]) ? 0 : 1;
      sum[sent] += u[sent];
      rest[i][sent] = 0;
      rest[i][1 - sent] = u[1 - sent];
    }
    for (int j = 0; j < 2; ++j) w[j] -= 0.1 * sum[j] / (is_gone ? 1 : 2);
  }
  double loss = 0;
  for (const auto& centre : centres)
    for (int j = 0; j < 2; ++j) loss += (w[j] - centre[j]) * (w[j] - centre[j]) / 4;
  CHECK(last_loss(json, 1) == doctest::Approx(loss).epsilon(1e-12));
}

// Rounds of three steps: worker 1 goes in the second round, whose steps are lost, and is back in
// the fourth, because its return falls into the third.
TEST_CASE("learn: with local steps, who was away takes part after the next average") {
  const std::string task =
      R"({"name": "quadratic", "curvatures": [1], "start": [2], "noise": 0, "centres": [[0], [1]]})";
  const Json json = learned(
      {bert, "--set", "cluster.nodes=2", "--task", task, "--rate", "0.1", "--iterations", "12",
       "--seeds", "1", "--target", "loss=0.2", "--also",
       R"(gone: synchronization=local_sgd, steps=3, absent=[{"worker": 1, "from": 4, "until": 7}])"});
  double w = 2;
  const double left = 0.9 * 0.9 * 0.9;  // of the way to a worker's bottom, after three steps
  for (int round = 0; round < 4; ++round) {
    const bool alone = round == 1 || round == 2;
    w = alone ? w * left : (w * left + 1 + (w - 1) * left) / 2;
  }
  CHECK(last_loss(json, 1) == doctest::Approx((w * w + (w - 1) * (w - 1)) / 4).epsilon(1e-12));
  CHECK(json["methods"][1]["staleness"][0]["gradients"] == 24 - 5);
}

TEST_CASE("learn: iterations without some workers take the time of those that are there") {
  const auto us_of = [](const std::string& nodes) {
    const Ran ran =
        call_sgdsim({"run", bert, "--set", "cluster.nodes=" + nodes, "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"].get<double>();
  };
  const Json json = learned(
      {bert, "--set", "cluster.nodes=4", "--task", "logistic", "--iterations", "12", "--seeds", "1",
       "--target", "loss=0.1", "--also",
       R"(gone: absent=[{"worker": 1, "from": 3, "until": 7}, {"worker": 0, "from": 5, "until": 6}])"});
  CHECK(us_of("3") != us_of("4"));
  CHECK(json["methods"][1]["iteration_us"].get<double>() ==
        doctest::Approx((8 * us_of("4") + 3 * us_of("3") + us_of("2")) / 12).epsilon(1e-9));
  CHECK(json["methods"][1]["warnings"].dump().find("as if the ring were formed anew") !=
        std::string::npos);
}

TEST_CASE("learn: absent workers that are refused") {
  const std::pair<const char*, const char*> rows[] = {
      {R"(a: absent=[{"worker": 2}])", "misses worker 2 of 2"},
      {R"(a: absent=[{"worker": 0}, {"worker": 1, "from": 3}])", "no worker left in iteration 3"},
      {R"(a: absent=[{"worker": 0, "from": 5, "until": 5}])", "expected more than `from`"},
      {R"(a: absent=[{"from": 5}])", "worker"},
      {R"(a: absent=[])", "expected a list as"},
      {R"(a: absent=3)", "expected a list as"},
      {R"(a: strategy=sync_easgd, collective={"parameter_server": {"servers": 1}}, fidelity=message, synchronization=async_ps, absent=[{"worker": 0}])",
       "not with async_ps or ssp"},
      {R"(a: synchronization=local_sgd, steps=2, absent=[{"worker": 0, "until": 2}, {"worker": 1, "from": 3}, {"worker": 0, "from": 2, "until": 3}])",
       "in all of the iterations 2 to 3"},
  };
  for (const auto& [also, says] : rows) {
    const Ran ran = call_sgdsim({"learn", bert, "--set", "cluster.nodes=2", "--task", "logistic",
                                 "--iterations", "4", "--seeds", "1", "--also", also});
    const std::string expected = says;
    INFO(expected);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(expected) != std::string::npos);
  }
}

}  // namespace sgdsim::learn_losses
