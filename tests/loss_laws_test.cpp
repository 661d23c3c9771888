// Published laws of large models, and `sgdsim model laws`.
#include "models/training/loss_laws.h"

#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// Ends by the published formulas, in double by another program.
TEST_CASE("laws: losses, batches and penalties") {
  CHECK(expected_loss(70e9, 1.4e12) == doctest::Approx(1.973882).epsilon(1e-6));
  CHECK(expected_loss(10e9, 2e11) == doctest::Approx(2.130752).epsilon(1e-6));
  CHECK(expected_loss(405e9, 15.6e12) == doctest::Approx(1.892585).epsilon(1e-6));
  CHECK(tokens_to_make_up(0.006, 2e11) == doctest::Approx(1.115400).epsilon(1e-6));
  CHECK(tokens_to_make_up(0.04, 2e11) == doctest::Approx(2.286794).epsilon(1e-6));
  CHECK(critical_batch_tokens(3) == doctest::Approx(1.122570e6).epsilon(1e-6));
  CHECK(critical_batch_tokens(2.5) == doctest::Approx(2.674649e6).epsilon(1e-6));
  CHECK(critical_batch_tokens(2) == doctest::Approx(7.740039e6).epsilon(1e-6));
  CHECK(best_batch_sequences(3e9) == doctest::Approx(130.454).epsilon(1e-5));
  CHECK(best_batch_sequences(40e9) == doctest::Approx(351.812).epsilon(1e-5));
  // So many times the tokens take exactly the penalty away.
  const double factor = tokens_to_make_up(0.04, 2e11);
  CHECK(expected_loss(10e9, 2e11) - expected_loss(10e9, factor * 2e11) == doctest::Approx(0.04));
}

TEST_CASE("laws: the command says them, with their sources") {
  const Ran ran = call_sgdsim({"model", "laws", "--parameters", "10B", "--tokens", "200B",
                               "--penalty", "0.006,0.04", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.log.empty());
  const Json json = Json::parse(ran.out);
  CHECK(json["loss"].get<double>() == doctest::Approx(2.130752).epsilon(1e-6));
  CHECK(json["penalties"][1]["tokens_factor"].get<double>() ==
        doctest::Approx(2.286794).epsilon(1e-6));
  CHECK(json["penalties"][1]["tokens"].get<double>() ==
        doctest::Approx(2.286794 * 2e11).epsilon(1e-6));
  // The loss's critical batch, 2.1e8 / 2.130752^(1 / 0.21).
  CHECK(json["critical_batch_tokens"].get<double>() ==
        doctest::Approx(critical_batch_tokens(2.130752)).epsilon(1e-5));
  for (const char* source : {"Besiroglu", "Kaplan", "Bergsma"})
    CHECK(ran.out.find(source) != std::string::npos);
  // Where more tokens take nearly nothing away, no usual penalty is told.
  const Ran long_run = call_sgdsim({"model", "laws", "--parameters", "405B", "--tokens", "15.6T"});
  CHECK(long_run.exit_code == 0);
  CHECK(long_run.log.find("an extrapolation") != std::string::npos);
  CHECK(long_run.out.find("1.8926") != std::string::npos);
}

TEST_CASE("laws: what they say nothing of is refused") {
  struct Row {
    std::vector<std::string> words;
    std::string says;
  };
  const std::vector<Row> rows = {
      {{"--parameters", "10B"}, "--tokens"},
      {{"--tokens", "1T"}, "either a model or --parameters"},
      {{"llama3.1_8b", "--parameters", "8B", "--tokens", "1T"}, "either a model or --parameters"},
      {{"deepseek_v3", "--tokens", "1T"}, "has experts"},
      {{"--parameters", "0", "--tokens", "1T"}, "a number of parameters"},
      {{"--parameters", "-5B", "--tokens", "1T"}, "a number of parameters"},
      {{"--parameters", "nan", "--tokens", "1T"}, "a number of parameters"},
      {{"--parameters", "7", "--tokens", "1T"}, "say nothing of 7 parameters"},
      {{"--parameters", "1000T", "--tokens", "1T"}, "say nothing of 1000T parameters"},
      {{"--parameters", "10B", "--tokens", "1000000T"}, "say nothing of 1000000T tokens"},
      {{"--parameters", "10B", "--tokens", "100"}, "say nothing of 100 tokens"},
      {{"--parameters", "10B", "--tokens", "200B", "--penalty", "0"}, "above 0"},
      {{"--parameters", "10B", "--tokens", "200B", "--penalty", "-0.01"}, "--penalty"},
      {{"--parameters", "10B", "--tokens", "200B", "--penalty", "nan"}, "--penalty"},
      {{"--parameters", "10B", "--tokens", "200B", "--penalty", "0.006,"}, "--penalty"},
      // 2085.43 / 2e11^0.3658 = 0.153207.
      {{"--parameters", "10B", "--tokens", "200B", "--penalty", "0.1533"}, "by 0.1532"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> words = {"model", "laws"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = call_sgdsim(words);
    INFO(row.words.back());
    INFO(ran.log);
    CHECK(ran.exit_code != 0);
    CHECK(ran.log.find(row.says) != std::string::npos);
    CHECK(ran.out.empty());
  }
}

}  // namespace
}  // namespace sgdsim
