// From which size on messages wait for an answer: by a fit, and in the cases of Open MPI.
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "study/validate/validation.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

Json measured_one_way(const Json& points) {
  return {
      {"schema", "sgdsim/measurement/1"},
      {"name", "one_way"},
      {"series",
       {{{"operation", "broadcast"}, {"algorithm", "linear"}, {"ranks", 2}, {"points", points}}}}};
}

constexpr double one_way_us = 1000;
constexpr double ns_per_B = 80;

// One-way times by the formula, and the fit finds the size and the constants.
Json one_way_times(double wait_from_B) {
  Json points = Json::array();
  for (int64_t size_B = 1 << 10; size_B <= 1 << 22; size_B *= 2) {
    const double waits_us = static_cast<double>(size_B) >= wait_from_B ? 2 * one_way_us : 0;
    points.push_back(
        {{"size_B", size_B},
         {"time_us", one_way_us + waits_us + ns_per_B * static_cast<double>(size_B) / 1e3}});
  }
  return measured_one_way(points);
}

TEST_CASE("rendezvous: a fit finds from which size on messages wait") {
  for (const int64_t from_B : {1 << 14, 1 << 16, 1 << 18}) {
    CAPTURE(from_B);
    const Temporary times(Temporary::Kind::file, one_way_times(static_cast<double>(from_B)).dump());
    const Ran fit = call_sgdsim(
        {"fit", times.name(), "--from-collective", "linear", "--network", "mpi", "--out", "-"});
    INFO(fit.log);
    REQUIRE(fit.exit_code == 0);
    const Json cluster = Json::parse(fit.out);
    CHECK(cluster["network"] == "mpi");
    CHECK(cluster["link"]["rendezvous"] == to_text(Bytes(from_B)));
    CHECK(cluster["link"]["latency"] == "1 ms");
    CHECK(cluster["link"]["per_byte"] == "80 ns/B");
    CHECK_FALSE(cluster["link"].contains("segments"));
    CHECK(fit.log.find("wait for an answer") != std::string::npos);
  }
  // Thousands of sizes: a few seconds at most, which a search with every cut of every size is not.
  Json many = Json::array();
  for (int64_t i = 1; i <= 2'000; ++i) {
    const int64_t size_B = i << 10;
    const double waits_us = size_B >= 1 << 20 ? 2 * one_way_us : 0;
    many.push_back(
        {{"size_B", size_B},
         {"time_us", one_way_us + waits_us + ns_per_B * static_cast<double>(size_B) / 1e3}});
  }
  const Temporary thousands(Temporary::Kind::file, measured_one_way(many).dump());
  const Ran dense = call_sgdsim(
      {"fit", thousands.name(), "--from-collective", "linear", "--network", "mpi", "--out", "-"});
  REQUIRE(dense.exit_code == 0);
  CHECK(Json::parse(dense.out)["link"]["rendezvous"] == "1 MiB");
  // A wait that is no round trip, but 1.5 of the start-up: no start is made of it.
  Json odd = one_way_times(1e18);
  for (Json& point : odd["series"][0]["points"])
    if (point["size_B"].get<int64_t>() >= 1 << 16)
      point["time_us"] = point["time_us"].get<double>() + 1.5 * one_way_us;
  const Temporary longer(Temporary::Kind::file, odd.dump());
  const Ran fitted = call_sgdsim({"fit", longer.name(), "--from-collective", "linear", "--network",
                                  "mpi", "--segments", "1", "--out", "-"});
  REQUIRE(fitted.exit_code == 0);
  CHECK_FALSE(Json::parse(fitted.out).contains("start"));
  CHECK(Json::parse(fitted.out)["link"]["rendezvous"] == "64 KiB");
  // No step: none is found. And none is looked for elsewhere.
  const Temporary even(Temporary::Kind::file, one_way_times(1e18).dump());
  const Ran none = call_sgdsim(
      {"fit", even.name(), "--from-collective", "linear", "--network", "mpi", "--out", "-"});
  REQUIRE(none.exit_code == 0);
  CHECK_FALSE(Json::parse(none.out)["link"].contains("rendezvous"));
  const Temporary step(Temporary::Kind::file, one_way_times(1 << 16).dump());
  const Ran off = call_sgdsim({"fit", step.name(), "--from-collective", "linear", "--network",
                               "mpi", "--rendezvous", "off", "--out", "-"});
  REQUIRE(off.exit_code == 0);
  CHECK_FALSE(Json::parse(off.out)["link"].contains("rendezvous"));
  const Ran given = call_sgdsim({"fit", step.name(), "--from-collective", "linear", "--rendezvous",
                                 "64 KiB", "--format", "json"});
  REQUIRE(given.exit_code == 0);
  CHECK(Json::parse(given.out)["fits"][0]["rendezvous_B"] == 65536);
  for (const auto& wrong : {std::pair("--network", "smoke"), std::pair("--rendezvous", "often")}) {
    const Ran run =
        run_sgdsim({"fit", step.name(), "--from-collective", "linear", wrong.first, wrong.second});
    CHECK(run.exit_code == 2);
    CHECK(run.log.find(wrong.first) != std::string::npos);
  }
}

// ---- real runs of Open MPI

std::vector<std::string> cases_of(const std::string& protocol) {
  const std::string start =
      SGDSIM_SOURCE_DIR "/models/collective/data/openmpi_" + protocol + "_100mbps_";
  return {start + "2.json", start + "4.json"};
}

Judged judged(const std::string& protocol, bool without_rendezvous = false) {
  std::vector<CaseFile> cases;
  for (const std::string& file : cases_of(protocol)) {
    Json json = Document::read(file).root().json();
    CHECK(json["cluster"]["network"] == "mpi");
    CHECK_FALSE(json.contains("options"));
    if (without_rendezvous) json["cluster"]["nic"].erase("rendezvous");
    cases.push_back(read_case(Value(json, file, "")));
  }
  const std::vector<SuiteResult> suites = validate(cases);
  REQUIRE(suites.size() == 1);
  return suites.front().judged;
}

// The bars; they stand here as well as in the files, so that no file can soften them.
TEST_CASE("rendezvous: Open MPI over TCP is predicted within the bars by defaults alone") {
  const Judged eager = judged("eager");
  CHECK(eager.held.rows == 224);
  CHECK(eager.held.median <= 0.7);
  CHECK(eager.held.p90 <= 4);
  const Judged waiting = judged("default");
  CHECK(waiting.held.rows == 224);
  CHECK(waiting.held.median <= 2);
  CHECK(waiting.held.p90 <= 10);
  CHECK(judged("default", true).held.p90 > 20);  // the table of docs/validation.md
}

TEST_CASE("rendezvous: the cases of Open MPI have what a fit of their one-way times gives") {
  for (const char* protocol : {"eager", "default"})
    for (const std::string& file : cases_of(protocol)) {
      CAPTURE(file);
      const Json json = Document::read(file).root().json();
      Json points = Json::array();
      for (const Json& row : json["measured"])
        if (row.contains("fitted"))
          points.push_back({{"size_B", parse_bytes(row["size"].get<std::string>(), "").count()},
                            {"time_us", parse_duration(row["time"].get<std::string>(), "").us()}});
      CHECK(points.size() == 8);
      const Temporary times(Temporary::Kind::file, measured_one_way(points).dump());
      const Ran fit = call_sgdsim({"fit", times.name(), "--from-collective", "linear", "--network",
                                   "mpi", "--segments", "1", "--holdout", "none", "--out", "-"});
      REQUIRE(fit.exit_code == 0);
      const Json link = Json::parse(fit.out)["link"];
      const Json& nic = json["cluster"]["nic"];
      CHECK(link.contains("rendezvous") == nic.contains("rendezvous"));
      if (nic.contains("rendezvous")) CHECK(link["rendezvous"] == nic["rendezvous"]);
      const auto rate = [](const Json& per_byte) {
        return parse_per_byte(per_byte.get<std::string>(), "").ps();
      };
      CHECK(rate(link["per_byte"]) == doctest::Approx(rate(nic["per_byte"])).epsilon(1e-5));
      const auto us = [](const Json& time) {
        return parse_duration(time.get<std::string>(), "").us();
      };
      CHECK(us(link["latency"]) == doctest::Approx(2 * us(nic["latency"])).epsilon(1e-5));
    }
}

}  // namespace
}  // namespace sgdsim
