// `sgdsim learn --batches`: iterations over samples, and the law that is fitted to them.
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "study/learn/batch_law.h"
#include "tests/refused_words.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string batch_experiment = SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json";

Json batches_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"learn", batch_experiment, "--set", "cluster.nodes=4"});
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  const std::vector<std::string> faults =
      faults_of_value(embedded_shelf(), "sgdsim/learn-batches/1", json);
  INFO((faults.empty() ? "" : faults.front()));
  CHECK(faults.empty());
  return json;
}

// McCandlish and others: (S / S_min - 1) (E / E_min - 1) = 1.
TEST_CASE("batches: iterations and samples of a law") {
  const BatchLaw law{1000, 1000};
  CHECK(law.iterations(64) == 16625);
  CHECK(law.samples(64) == 1.064e6);
  CHECK(law.iterations(1000) == 2000);
  CHECK(law.samples(1000) == 2e6);
  CHECK(law.least_samples() == 1e6);
  for (const double batch : {1., 64., 1e5})
    CHECK((law.iterations(batch) / 1000 - 1) * (law.samples(batch) / 1e6 - 1) ==
          doctest::Approx(1));
}

TEST_CASE("batches: a fit finds the law that rows follow, and knows it well") {
  const BatchLaw law{79, 470};
  std::vector<BatchRow> rows;
  for (const double samples : {8., 16., 64., 512.})
    rows.push_back({samples, law.iterations(samples)});
  const BatchFit fit = fit_batch_law(rows);
  REQUIRE(fit.law);
  CHECK(fit.law->least_iterations == doctest::Approx(79));
  CHECK(fit.law->critical_batch == doctest::Approx(470));
  CHECK(fit.least_iterations.low == doctest::Approx(79));
  CHECK(fit.critical_batch.low == doctest::Approx(470));
  REQUIRE(fit.critical_batch.high);
  CHECK(*fit.critical_batch.high == doctest::Approx(470));
}

// Iterations of 8 to 256 samples to two accuracies. Ends by the textbook's formulas: the line's
// standard error times Student's t (2.776 and 4.303), and the roots of Fieller's quadratic. To the
// higher accuracy S_min might be nothing, so nothing bounds the critical batch from above.
TEST_CASE("batches: intervals of a fit") {
  const BatchFit near =
      fit_batch_law({{8, 520}, {16, 340}, {32, 220}, {64, 140}, {128, 80}, {256, 80}});
  REQUIRE(near.law);
  CHECK(near.law->least_iterations == doctest::Approx(78.507463));
  CHECK(near.law->critical_batch == doctest::Approx(47.046895));
  CHECK(near.least_iterations.low == doctest::Approx(78.507463 - 42.922943));
  CHECK(near.least_iterations.high.value_or(0) == doctest::Approx(78.507463 + 42.922943));
  CHECK(near.critical_batch.low == doctest::Approx(25.555981));
  CHECK(near.critical_batch.high.value_or(0) == doctest::Approx(118.732465));
  const BatchFit far = fit_batch_law({{32, 900}, {64, 440}, {128, 300}, {256, 160}});
  REQUIRE(far.law);
  CHECK(far.law->critical_batch == doctest::Approx(422.4));
  CHECK(far.least_iterations.low == 0);
  CHECK(far.critical_batch.low == doctest::Approx(106.299952));
  CHECK(!far.critical_batch.high);
}

TEST_CASE("batches: no law where rows show none") {
  struct Row {
    std::vector<BatchRow> rows;
    std::string says;
  };
  const std::vector<Row> rows = {
      {{}, "a law needs 3"},
      {{{8, 100}}, "1 number of samples"},
      {{{8, 100}, {16, 60}}, "2 numbers of samples"},
      {{{8, 100}, {16, 100}, {32, 100}}, "add smaller ones"},
      {{{8, 100}, {16, 110}, {32, 120}}, "add smaller ones"},
      {{{8, 800}, {16, 390}, {32, 180}}, "add larger ones"},
  };
  for (const Row& row : rows) {
    INFO(row.says);
    const BatchFit fit = fit_batch_law(row.rows);
    CHECK(!fit.law);
    CHECK(fit.why_not.find(row.says) != std::string::npos);
  }
}

// Without noise, loss w^2 / 2 from 1 is (1 - rate)^(2 t) / 2, whatever the samples; between two
// evaluations the line between them counts.
TEST_CASE("batches: rates follow the samples, iterations are interpolated") {
  const std::string task = R"({"name": "quadratic", "curvatures": [1], "start": [1], "noise": 0})";
  struct Row {
    std::string how;
    double power;
  };
  for (const Row& row : {Row{"fixed", 0}, Row{"sqrt", 0.5}, Row{"linear", 1}}) {
    INFO(row.how);
    const Json json = batches_of({"--task", task, "--iterations", "100", "--seeds", "1", "--target",
                                  "loss=0.06", "--batches", "64,16,128", "--batch-rate", row.how});
    CHECK(json["batch_rate"] == row.how);
    const Json& lessons = json["targets"][0]["lessons"];
    REQUIRE(lessons.size() == 3);
    CHECK(lessons[0]["samples"] == 16);
    CHECK(lessons[2]["samples"] == 128);
    for (const Json& lesson : lessons) {
      const double rate = 0.1 * std::pow(lesson["samples"].get<double>() / 64, row.power);
      CHECK(lesson["rate"].get<double>() == doctest::Approx(rate));
      const auto loss = [&](int t) { return std::pow(1 - rate, 2 * t) / 2; };
      int reached = 0;
      while (loss(reached) > 0.06) ++reached;
      const double before = loss(reached - 1);
      CHECK(lesson["iterations"].get<double>() ==
            doctest::Approx(reached - 1 + (before - 0.06) / (before - loss(reached))));
      CHECK(lesson["samples_in_all"].get<double>() ==
            doctest::Approx(lesson["samples"].get<double>() * lesson["iterations"].get<double>()));
    }
    // Samples change nothing by themselves.
    if (row.power == 0)
      CHECK(json["targets"][0]["why_no_fit"].get<std::string>().find("save no iterations") !=
            std::string::npos);
  }
}

TEST_CASE("batches: several targets; what is not reached is left out by name") {
  const std::vector<std::string> words = {
      "--task",    "logistic", "--iterations", "100",    "--seeds",  "2",
      "--batches", "8..64",    "--batch-rate", "linear", "--target", "accuracy=60%,0.999"};
  const Json json = batches_of(words);
  REQUIRE(json["targets"].size() == 2);
  CHECK(json["target_was_asked_for"] == true);
  CHECK(json["targets"][0]["accuracy"] == 0.6);
  // No rule is right so often.
  const Json& none = json["targets"][1];
  CHECK(none["why_no_fit"].get<std::string>().find("0 numbers of samples") == 0);
  for (const Json& lesson : none["lessons"]) {
    CHECK(lesson["iterations"].is_null());
    CHECK(lesson["seeds_that_reached_it"] == 0);
  }
  std::vector<std::string> shown = words;
  shown.insert(shown.begin(), {"learn", batch_experiment, "--set", "cluster.nodes=4"});
  const Ran ran = call_sgdsim(shown);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("was not reached with 8, 16, 32, 64 samples") != std::string::npos);
  CHECK(ran.out.find("no law: ") != std::string::npos);
  CHECK(ran.out.find("nan") == std::string::npos);
  CHECK(ran.out.find("inf") == std::string::npos);
}

// Each sample has a gradient of length 2 and noise of variance 25 in each of four coordinates: a
// noise scale of 25 at the start, and iterations of small steps that the noise does not change.
TEST_CASE("batches: a target of its own, the noise scale, threads") {
  const std::vector<std::string> words = {
      "--task",
      R"({"name": "quadratic", "curvatures": [1, 1, 1, 1], "start": [1, 1, 1, 1], "noise": 5})",
      "--rate",
      "0.0001",
      "--batch-rate",
      "fixed",
      "--iterations",
      "400",
      "--seeds",
      "3",
      "--batches",
      "16,64,256"};
  std::vector<std::string> one = words;
  one.insert(one.end(), {"--jobs", "1"});
  const Json json = batches_of(one);
  std::vector<std::string> three = words;
  three.insert(three.end(), {"--jobs", "3"});
  CHECK(batches_of(three) == json);
  CHECK(json["target_was_asked_for"] == false);
  const Json& lessons = json["targets"][0]["lessons"];
  // The target is that of 16 samples after half of the iterations. 200 iterations and 3 seeds: a
  // relative error of the squared gradient of 2 sqrt(25 / 256 / 600) with 256 samples.
  CHECK(lessons[2]["noise_scale"].get<double>() == doctest::Approx(25).epsilon(0.12));
  for (const Json& lesson : lessons) CHECK(lesson["iterations"].get<double>() > 100);
}

TEST_CASE("batches: a picture") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string picture = folder.name() + "/batches.svg";
  const Ran ran = call_sgdsim({"learn", batch_experiment, "--set", "cluster.nodes=2", "--task",
                               "logistic", "--iterations", "100", "--seeds", "1", "--batches",
                               "8,16,32", "--svg", picture});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK(read_text(picture).find("samples of an iteration") != std::string::npos);
}

TEST_CASE("batches: what cannot be learned is refused with what to write") {
  const std::vector<RefusedWords> rows = {
      {{"--batches", "10"}, "choose multiples"},
      {{"--batches", "0"}, "no number of samples"},
      {{"--batches", "-8"}, "--batches"},
      {{"--batches", "8,many"}, "a whole number"},
      {{"--batches", "1e3"}, "a whole number"},
      {{"--batches", ""}, "--batches"},
      {{"--batches", "8,8"}, "twice"},
      {{"--batches", "4..100:4"}, "at most 20"},
      {{"--batches", "4000004"}, "no number of samples"},
      {{"--batches", "99999999999999999999"}, "--batches"},
      {{"--batches", "8", "--also", "gtopk"}, "--also"},
      {{"--batches", "8", "--samples", "2"}, "--samples"},
      {{"--batches", "8", "--noise-scale"}, "--noise-scale"},
      {{"--batches", "8", "--axis", "cluster.nodes=2,4"}, "--axis"},
      {{"--batches", "8", "--convergence", "out.json"}, "--convergence"},
      {{"--batches", "8", "--batch-rate", "cubic"}, "batch rate"},
      {{"--batch-rate", "fixed"}, "without --batches"},
      {{"--target", "accuracy=0.6,0.7"}, "go with --batches"},
      {{"--batches", "8", "--target", "accuracy=0.6,nan"}, "--target"},
      {{"--batches", "8", "--target", "loss=1e6"}, "before the first iteration"},
      {{"--batches", "8", "--rate", "1e6", "--task", "quadratic"}, "a smaller --rate"},
  };
  check_refused(
      {"learn", batch_experiment, "--set", "cluster.nodes=4", "--iterations", "20", "--seeds", "1"},
      rows);
}

}  // namespace
}  // namespace sgdsim
