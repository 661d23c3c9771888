// The sweep that ships: where gTop-k gets cheaper than top-k, found by simulating and by formula.
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <sstream>

#include "sim/core/json.h"
#include "tests/run_program.h"
#include "traces/trace_file.h"

using namespace sgdsim;

TEST_CASE("the shipped sweep crosses over where the formulas do") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/points.jsonl";
  REQUIRE(run_sgdsim({"sweep", "app/sweeps/gtopk_crossover.json", "--out", out}).exit_code == 0);
  std::map<std::pair<std::string, int>, std::map<std::string, int64_t>> times;
  std::istringstream lines(read_text(out));
  for (std::string line; std::getline(lines, line);) {
    const Json point = Json::parse(line);
    REQUIRE(!point.contains("error"));
    const Json& axes = point["axes"];
    times[{axes["trace"], axes["cluster.nodes"]}][point["compression"]] = point["iteration_ps"];
  }
  CHECK(times.size() == 24);
  for (const auto& [place, time] : times) {
    const auto& where = place;
    CAPTURE(where.first);
    CAPTURE(where.second);
    const std::string file =
        SGDSIM_SOURCE_DIR "/" + where.first.substr(where.first.find("traces/"));
    const double k = std::floor(static_cast<double>(read_trace_file(file).parameters()) / 1000);
    const double rounds = std::log2(where.second);
    const double gtopk_ms = 2 * rounds * (0.436 + 2 * k * 3.6e-5);
    const double topk_ms = rounds * 0.436 + 2 * (where.second - 1) * k * 3.6e-5;
    CHECK((time.at("gtopk") < time.at("topk")) == (gtopk_ms < topk_ms));
    CHECK(static_cast<double>(time.at("topk") - time.at("gtopk")) / 1e9 ==
          doctest::Approx(topk_ms - gtopk_ms).epsilon(1e-4));
  }
}
