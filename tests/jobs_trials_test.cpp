// Each two jobs by themselves, and the best of several placements, by hand.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/jobs_cases.h"

using namespace sgdsim;

namespace {

// All-reduces of 1 MB between two workers: two rounds of half of it at 1 ns/B; 4 us between racks,
// 2 us inside one.
constexpr double inside_us = 2 * (2 + 500);
constexpr double across_us = 2 * (4 + 500);
constexpr double shared_us = 2 * (4 + 1000);

Json ring_at(const Json& placement) {
  Json one = {{"collective", {{"bytes", "1 MB"}}}, {"workers", 2}};
  if (!placement.is_null()) one["placement"] = placement;
  return one;
}

Ran ran_jobs(const Json& file, const std::vector<std::string>& more) {
  const Temporary jobs(Temporary::Kind::file, file.dump());
  std::vector<std::string> words = {"jobs", jobs.name()};
  words.insert(words.end(), more.begin(), more.end());
  return call_sgdsim(words);
}

Json answer_with(const Json& file, std::vector<std::string> more) {
  more.insert(more.end(), {"--format", "json"});
  const Ran ran = ran_jobs(file, more);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/jobs-result/1", json) ==
        std::vector<std::string>{});
  return json;
}

}  // namespace

TEST_CASE("jobs: a matrix has the slow-down of each job by each other one alone") {
  Json cluster = racks;
  cluster.update({{"nodes", 8}, {"nodes_per_leaf", 4}});
  // Three share the uplink; the fourth begins when they are done. The flow has room on its wires.
  Json late = ring_at("2,6");
  late["start"] = "1 s";
  const Json file = {
      {"cluster", cluster},
      {"jobs", {ring_at("0,4"), ring_at("1,5"), ring_at("3,7"), late}},
      {"traffic",
       {{"flows", {{{"generator", "incast"}, {"to", 2}, {"from", "3"}, {"size", "1 MB"}}}}}}};
  const Json json = answer_with(file, {"--matrix"});
  const double half = shared_us / across_us;
  const std::vector<std::vector<double>> expected = {
      {1, half, half, 1}, {half, 1, half, 1}, {half, half, 1, 1}, {1, 1, 1, 1}};
  REQUIRE(json["matrix"].size() == 4);
  for (std::size_t job = 0; job < 4; ++job)
    for (std::size_t other = 0; other < 4; ++other)
      CHECK(json["matrix"][job]["slowdowns"][other].get<double>() ==
            doctest::Approx(expected[job][other]));
  // All three at once.
  CHECK(json["jobs"][1]["slowdown"].get<double>() == doctest::Approx(2 * (4 + 1500) / across_us));
  CHECK(ran_jobs(file, {"--matrix"}).out.find("by job 3") != std::string::npos);
  CHECK_FALSE(answer_with(file, {}).contains("matrix"));
}

// Two jobs of two of four workers: the three ways to pair them up, either way round.
TEST_CASE("jobs: of all placements the one with the least slow-down is answered") {
  const Json file = {{"cluster", racks}, {"jobs", {ring_at("spread"), ring_at(Json())}}};
  const Json json = answer_with(file, {"--placements", "60"});
  REQUIRE(json["placements"].size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const Json& tried = json["placements"][i];
    const double expected = i < 2 ? 1 : shared_us / inside_us;
    CHECK(tried["worst_slowdown"].get<double>() == doctest::Approx(expected));
    CHECK(tried["mean_slowdown"].get<double>() == doctest::Approx(expected));
  }
  CHECK(json["placements"][0]["placement"] == Json({"packed", "packed"}));
  CHECK(json["placements"][0]["settings"] ==
        Json({"jobs.0.placement=0-1", "jobs.1.placement=2-3"}));
  CHECK(json["jobs"][0]["iteration_us"].get<double>() == doctest::Approx(inside_us));
  // The same again, as the answer says how.
  Json again =
      answer_with(file, {"--set", "jobs.0.placement=0-1", "--set", "jobs.1.placement=2-3"});
  CHECK(again["jobs"] == json["jobs"]);
  // Few are tried as they come: by one word each.
  const Json few = answer_with(file, {"--placements", "2"});
  REQUIRE(few["placements"].size() == 2);
  CHECK(few["placements"][1]["placement"][0] == "across");
  CHECK(few["unfit_placements"] == 0);
  // Of a job that stays only the other one moves; there is one more way for it.
  const Json stays = {{"cluster", racks}, {"jobs", {ring_at("0,2"), ring_at(Json())}}};
  const Json only = answer_with(stays, {"--placements", "60"});
  REQUIRE(only["placements"].size() == 1);
  CHECK(only["placements"][0]["placement"] == Json({"as given", "packed"}));
  CHECK(only["placements"][0]["worst_slowdown"].get<double>() ==
        doctest::Approx(shared_us / across_us));
}

// 12 jobs of two workers have more combinations of words than anybody could try.
TEST_CASE("jobs: placements of many jobs are drawn in time") {
  Json cluster = racks;
  cluster.update({{"nodes", 24}, {"nodes_per_leaf", 24}});
  Json file = {{"cluster", cluster}, {"jobs", Json::array()}};
  for (int job = 0; job < 12; ++job) file["jobs"].push_back(ring_at(Json()));
  const Json json = answer_with(file, {"--placements", "3"});
  REQUIRE(json["placements"].size() == 3);
  for (const Json& tried : json["placements"])
    CHECK(tried["worst_slowdown"].get<double>() == doctest::Approx(1));
}

TEST_CASE("jobs: placements of a job with one worker can be had again") {
  Json lone = {{"collective", {{"bytes", "1 MB"}}}, {"workers", 1}};
  const Json file = {{"cluster", racks}, {"jobs", {lone, ring_at(Json())}}};
  const Json json = answer_with(file, {"--placements", "4"});
  std::vector<std::string> again;
  for (const Json& setting : json["placements"][0]["settings"])
    again.insert(again.end(), {"--set", setting.get<std::string>()});
  CHECK(answer_with(file, again)["jobs"] == json["jobs"]);
}

TEST_CASE("jobs: matrix and placements are refused where there is nothing to compare") {
  const auto refused = [](const Json& file, const std::vector<std::string>& more) {
    const Ran ran = ran_jobs(file, more);
    CHECK(ran.exit_code == 2);
    return ran.log;
  };
  const Json one = {{"cluster", racks}, {"jobs", {ring_at("0,2")}}};
  CHECK(refused(one, {"--matrix"}).find("--matrix: has each two of 2 to 100 jobs") !=
        std::string::npos);
  CHECK(refused(one, {"--placements", "10"}).find("leave out a \"placement\"") !=
        std::string::npos);
  Json large = racks;
  large.update({{"nodes", 20000}, {"nodes_per_leaf", 20000}});
  Json many = ring_at(Json());
  many["workers"] = 20000;
  CHECK(refused({{"cluster", large}, {"jobs", {many}}}, {"--placements", "2500"})
            .find("of jobs with 20000 workers in all, at most 2499 placements are tried") !=
        std::string::npos);
  for (const char* count : {"0", "10001", "many"})
    CHECK(refused(one, {"--placements", count}).find("--placements") != std::string::npos);
}
