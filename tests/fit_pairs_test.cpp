// Messages between all pairs of ranks as a cluster: lines come back, pairs cost what was measured.
#include "study/fit/fit_pairs.h"

#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/output.h"
#include "study/layout/layout_files.h"
#include "study/shipped_inputs.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

// Neighbours of a ring are near: 5 us and 40 GB/s, the others 9 us and 10 GB/s; 2 to 0 is slower.
double pair_start_us(int ranks, int from, int to) {
  const int apart = (to - from + ranks) % ranks;
  return apart == 1 || apart == ranks - 1 ? 5 : 9;
}
double pair_us(int ranks, int from, int to, double bytes) {
  double GBps = pair_start_us(ranks, from, to) < 6 ? 40 : 10;
  if (from == 2 && to == 0) GBps = 8;
  return pair_start_us(ranks, from, to) + bytes / (1e3 * GBps);
}

Json pair_series(int ranks, const std::string& name, double times, int from, int to,
                 const std::string& note = "") {
  Json series = {{"operation", "copy"}, {"algorithm", name},   {"type", "float32"},
                 {"ranks", ranks},      {"placement", "GPUs"}, {"points", Json::array()}};
  if (!note.empty()) series["note"] = note;
  for (const int64_t bytes : {1024, 65'536, 1 << 20, 16 << 20})
    series["points"].push_back(
        {{"size_B", bytes},
         {"time_us", times * pair_us(ranks, from, to, static_cast<double>(bytes))}});
  return series;
}

// Both ways take a half more between 0 and 1, and as long between all others.
Json record_of(int ranks) {
  Json all = Json::array();
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const std::string a = std::to_string(from);
      const std::string b = std::to_string(to);
      all.push_back(pair_series(ranks, "from " + a + " to " + b, 1, from, to));
      all.push_back(
          pair_series(ranks, "from " + a + " to " + b, 0.7, from, to, "by the multiprocessors"));
      if (from < to)
        all.push_back(pair_series(ranks, "between " + a + " and " + b + ", both ways",
                                  from == 0 && to == 1 ? 1.5 : 1, from, to));
    }
  return {{"schema", "sgdsim/measurement/1"}, {"name", "four"}, {"series", all}};
}

Ran fitted(const Json& record, std::vector<std::string> more) {
  const Temporary file(Temporary::Kind::file, record.dump());
  more.insert(more.begin(), {"fit", file.name(), "--from-collective", "pairs"});
  return run_sgdsim(more);
}

}  // namespace

TEST_CASE("fit pairs: a cluster in which every pair costs what was measured") {
  for (const int ranks : {2, 4, 7}) {
    CAPTURE(ranks);
    const Temporary folder(Temporary::Kind::folder);
    const std::string out = folder.name() + "/pairs.json";
    const Ran ran = fitted(record_of(ranks), {"--format", "json", "--out", out});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    const Json json = Json::parse(ran.out);
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/pairs-fit/1", json) ==
          std::vector<std::string>{});
    CHECK(json["ranks"] == ranks);
    CHECK(json["pairs"].size() == static_cast<std::size_t>(ranks * (ranks - 1)));
    for (const Json& pair : json["pairs"]) {
      const int from = pair["from"];
      const int to = pair["to"];
      CHECK(pair["alpha_us"].get<double>() ==
            doctest::Approx(pair_start_us(ranks, from, to)).epsilon(1e-6));
      CHECK(pair["both_ways"].get<double>() ==
            doctest::Approx(from + to == 1
                                ? 1.5
                                : pair_us(ranks, std::min(from, to), std::max(from, to), 16 << 20) /
                                      pair_us(ranks, from, to, 16 << 20))
                .epsilon(1e-6));
    }
    CHECK(ran.log.find("most between 0 and 1 (1.50 times as long)") != std::string::npos);
    const Json written = Json::parse(read_text(out));
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/cluster/1", written) ==
          std::vector<std::string>{});
    const Cluster cluster = load_cluster(out, ranks).cluster;
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) {
        if (from == to) continue;
        const PairCost cost = cluster.network.between(from, to);
        CHECK(cost.latency.us() == doctest::Approx(pair_start_us(ranks, from, to)).epsilon(1e-5));
        CHECK((cost.latency + Bytes(1 << 20) * cost.per_byte).us() ==
              doctest::Approx(pair_us(ranks, from, to, 1 << 20)).epsilon(1e-5));
      }
  }
}

TEST_CASE("fit pairs: multiprocessors by their note, a table, and what is refused") {
  const Ran table = fitted(record_of(3), {});
  REQUIRE(table.exit_code == 0);
  CHECK(table.out.find("a link for each of 6 pairs") != std::string::npos);
  CHECK(table.out.find("from 2") != std::string::npos);
  const Ran kernels =
      fitted(record_of(3), {"--note", "by the multiprocessors", "--format", "json"});
  REQUIRE(kernels.exit_code == 0);
  const Json first = Json::parse(kernels.out)["pairs"][0];
  CHECK(first["alpha_us"].get<double>() == doctest::Approx(3.5).epsilon(1e-6));
  CHECK(!first.contains("both_ways"));
  Json lacking = record_of(3);
  lacking["series"].erase(0);
  const Json copies = {
      {"schema", "sgdsim/measurement/1"},
      {"series",
       {{{"operation", "copy"},
         {"algorithm", "from here to there"},
         {"ranks", 2},
         {"points", {{{"size_B", 8}, {"time_us", 1}}, {{"size_B", 80}, {"time_us", 2}}}}}}}};
  Json few = record_of(2);  // of 16 million ranks one pair, in no time
  for (Json& series : few["series"]) series["ranks"] = 16'777'216;
  Json outside = record_of(2);
  outside["series"][0]["algorithm"] = "from 0 to 5";
  Json flat = record_of(2);
  for (Json& point : flat["series"][0]["points"]) point["time_us"] = 3;
  struct Row {
    Json record;
    std::vector<std::string> more;
    std::string sentence;
  };
  for (const Row& row :
       {Row{lacking, {}, "were not measured, as 0 to 1"},
        Row{few, {}, "281474959933438 of all pairs were not measured, as 0 to 2"},
        Row{copies, {}, "no message \"from 0 to 1\""}, Row{outside, {}, "is not among 2 ranks"},
        Row{flat, {}, "takes no time per byte"},
        Row{record_of(2), {"--gamma", "1 ns/B"}, "--gamma"},
        Row{record_of(2),
            {"--cluster", "dgx_h100_4"},
            "has no effect with --from-collective pairs"}}) {
    CAPTURE(row.sentence);
    const Ran ran = fitted(row.record, row.more);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
}

}  // namespace sgdsim
