// What a fit keeps apart, and what it says should be doubted.
#include <cmath>
#include <doctest/doctest.h>
#include <set>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

constexpr int sizes = 30;

double line_us(double size_B) { return 20 + 50e-6 * size_B; }

Json line_series(int ranks) {
  Json series = {{"operation", "allreduce"},
                 {"algorithm", "ring"},
                 {"type", "float32"},
                 {"ranks", ranks},
                 {"points", Json::array()}};
  for (int i = 0; i < sizes; ++i) {
    const double size_B = std::round(1024 * std::exp2(i / 2.));
    series["points"].push_back({{"size_B", std::llround(size_B)}, {"time_us", line_us(size_B)}});
  }
  return series;
}

std::string file_of(const std::vector<Json>& series) {
  return Json{{"schema", "sgdsim/measurement/1"}, {"series", series}}.dump();
}

Ran fit_of(const std::string& text, std::vector<std::string> more = {}) {
  const Temporary file(Temporary::Kind::file, text);
  more.insert(more.begin(), {"fit", file.name(), "--format", "json"});
  const Ran ran = run_sgdsim(more);
  if (ran.exit_code == 0)
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/fit/1", Json::parse(ran.out)) ==
          std::vector<std::string>{});
  return ran;
}

}  // namespace

TEST_CASE("fit: another placement, or another note, is another series") {
  Json gpus = line_series(2);
  gpus["placement"] = "2 GPUs";
  Json shared = line_series(2);
  shared["placement"] = "2 virtual ranks on one GPU";
  Json other_way = gpus;
  other_way["note"] = "sums in a stream of their own";
  for (Json& point : shared["points"]) point["time_us"] = 3 * point["time_us"].get<double>();
  const Ran curves = fit_of(file_of({gpus, shared, other_way}));
  REQUIRE(curves.exit_code == 0);
  const Json fits = Json::parse(curves.out)["fits"];
  REQUIRE(fits.size() == 3);
  CHECK(fits[0]["pieces"][0]["alpha_us"].get<double>() == doctest::Approx(20));
  CHECK(fits[1]["pieces"][0]["alpha_us"].get<double>() == doctest::Approx(60));
  CHECK(fits[1]["series"][0]["placement"] == "2 virtual ranks on one GPU");
  CHECK(fits[2]["series"][0]["note"] == "sums in a stream of their own");
  const std::vector<std::string> link = {"--from-collective", "stated"};
  const Ran refused = fit_of(file_of({gpus, shared}), link);
  CHECK(refused.exit_code == 2);
  CHECK(holds(refused.log, "--placement: ranks were placed in several ways"));
  const Ran one = fit_of(file_of({gpus, shared}), {"--from-collective", "stated", "--placement",
                                                   "virtual ranks on one GPU"});
  REQUIRE(one.exit_code == 0);
  // A ring of two pays two messages: 60 us are two of 30 us.
  const Json fit = Json::parse(one.out)["fits"][0];
  CHECK(fit["pieces"][0]["alpha_us"].get<double>() == doctest::Approx(30));
  // Several numbers of ranks are placed alike where only the number differs.
  Json four = gpus;
  four["ranks"] = 4;
  four["placement"] = "4 GPUs";
  CHECK(fit_of(file_of({gpus, four}), link).exit_code == 0);
}

// Three of 30 rows take 1.3 to 4.5 times as long, the others are off by 1 %.
TEST_CASE("fit: rows far from all others are named, and only those") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Json series = line_series(8);
    for (Json& point : series["points"])
      point["time_us"] = point["time_us"].get<double>() * (1 + random.normal(0, 0.01));
    const Ran clean = fit_of(file_of({series}), {"--segments", "1"});
    CHECK_FALSE(Json::parse(clean.out)["fits"][0].contains("outliers"));
    std::set<int64_t> planted;
    while (planted.size() < 3) {
      Json& point = series["points"][random.below(sizes)];
      if (!planted.insert(point["size_B"].get<int64_t>()).second) continue;
      point["time_us"] = point["time_us"].get<double>() * (1.3 + 3.2 * random.uniform());
    }
    const Ran ran = fit_of(file_of({series}), {"--segments", "1"});
    const Json json = Json::parse(ran.out);
    REQUIRE(json["fits"][0].contains("outliers"));
    std::set<int64_t> found;
    for (const Json& one : json["fits"][0]["outliers"]) {
      found.insert(one["size_B"].get<int64_t>());
      CHECK(one["times_fitted"].get<double>() > 1.2);
      CHECK(one["times_fitted"].get<double>() < 4.8);
    }
    CHECK(found == planted);
    CHECK(holds(ran.log, "3 of 30 rows lie far from what the others say: allreduce ring"));
  }
}

TEST_CASE("fit: a constant at its bound is named") {
  Json flat = line_series(8);
  for (Json& point : flat["points"]) point["time_us"] = 7;
  CHECK(holds(fit_of(file_of({flat})).log, "beta is 0, its bound"));
  Json steep = line_series(8);
  for (Json& point : steep["points"])
    point["time_us"] = std::pow(point["size_B"].get<double>() / 1024, 1.2);
  CHECK(holds(fit_of(file_of({steep}), {"--segments", "1"}).log, "alpha is 0, its bound"));
}

}  // namespace sgdsim
