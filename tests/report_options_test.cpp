// Options of `sgdsim report`, and what they are of.
#include <doctest/doctest.h>

#include "tests/report_pages.h"
#include "tests/run_program.h"

namespace sgdsim::report_options {
namespace {

const std::string experiment = "app/experiments/googlenet_k80.json";

}  // namespace

TEST_CASE("report: --axis and --set go with what the points are of") {
  const std::vector<std::string> sweep = {"sweep", experiment, "--axis", "cluster.nodes=2,4",
                                          "--quiet"};
  std::vector<std::string> with_methods = sweep;
  with_methods.insert(with_methods.end(), {"--method", "one: strategy=ddp"});
  const Temporary points(Temporary::Kind::file, run_sgdsim(sweep).out);
  const Temporary methods(Temporary::Kind::file, run_sgdsim(with_methods).out);
  const struct {
    const char* reason;
    std::vector<std::string> words;
    const char* said;
    bool advises_settings;
  } rows[] = {
      {"axes of nothing",
       {points.name(), "--axis", "cluster.nodes=2,4"},
       "--axis and --set go with the experiment or sweep file",
       false},
      {"settings of nothing",
       {points.name(), "--set", "iterations=2"},
       "--axis and --set go with the experiment or sweep file",
       false},
      {"settings of an experiment without axes",
       {points.name(), experiment, "--set", "iterations=2"},
       "--axis and --set go with the experiment or sweep file",
       false},
      {"other axes",
       {points.name(), experiment, "--axis", "cluster.nodes=2,8"},
       "asks for other points than those of",
       true},
      {"methods",
       {methods.name(), experiment, "--axis", "cluster.nodes=2,4"},
       "a sweep with --method",
       false},
  };
  for (const auto& row : rows) {
    INFO(row.reason);
    std::vector<std::string> words = {"report"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = run_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.find(row.said) != std::string::npos);
    CHECK((ran.log.find("give --set and --axis") != std::string::npos) == row.advises_settings);
  }
}

}  // namespace sgdsim::report_options
