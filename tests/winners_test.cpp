// Who wins a sweep: what is as good as the best, as far as measurements could tell; never a bound.
#include "app/plot/winners.h"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <map>
#include <sstream>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

const std::string shipped = "app/sweeps/nodes_bandwidth.json";

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  for (const std::string& line : house::split(text, '\n'))
    if (!line.empty()) lines.push_back(Json::parse(line));
  return lines;
}

// What a group of lines has, by strategy.
using Times = std::map<std::string, double>;

// Every strategy that can win and takes at most `error` longer than the least is a winner; the
// least is named first, and nothing but the bound is left out.
void check_winners(const Json& group, const Times& times, double error) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [strategy, time] : times)
    if (strategy != "optimal") least = std::min(least, time);
  int64_t others = -1;
  double next = std::numeric_limits<double>::infinity();
  for (const auto& [strategy, time] : times) {
    if (strategy == "optimal") continue;
    if (time <= least * (1 + error))
      ++others;
    else
      next = std::min(next, time);
  }
  CHECK(times.at(group["best"]["strategy"]) == doctest::Approx(least).epsilon(2e-6));
  CHECK(group.value("ties", int64_t{0}) == others);
  CHECK(group.contains("next") == std::isfinite(next));
  if (std::isfinite(next)) CHECK(group["next"] == next);
  for (const Json& one : group.value("tied", Json::array())) CHECK(one["strategy"] != "optimal");
  CHECK(group["bound"]["strategy"] == "optimal");
  CHECK(group["bound_value"] == times.at("optimal"));
  CHECK(group["points"] == times.size() - 1);
}

TEST_CASE("sweep: winners are as good as the error lets tell, in tables, JSON and pictures") {
  const Temporary picture(Temporary::Kind::file);
  const std::vector<std::string> words = {"sweep",
                                          "app/experiments/googlenet_k80.json",
                                          "-q",
                                          "--set",
                                          "fidelity=closed_form",
                                          "--axis",
                                          "strategy=naive,wfbp,mg_wfbp,optimal",
                                          "--axis",
                                          "cluster.nodes=2,64"};
  auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_sgdsim(all);
  };
  std::map<std::string, Times> times;
  for (const Json& line : lines_of(with({}).out))
    times[line["axes"]["cluster.nodes"].dump()][line["strategy"]] =
        line["metrics"]["iteration_us"]["mean"];
  const std::string minimize = "--minimize=metrics.iteration_us";
  const Json best = Json::parse(with({minimize, "--format", "json"}).out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/best/1", best).empty());
  // The error that was measured where schedules were exchanged; the advice has it, too.
  CHECK(best["error_percent"].get<double>() == doctest::Approx(12.1).epsilon(0.01));
  int64_t shared = 0;
  for (const Json& group : best["groups"]) {
    check_winners(group, times.at(group["axes"]["cluster.nodes"].dump()),
                  best["error_percent"].get<double>() / 100);
    shared += group.contains("ties") ? 1 : 0;
  }
  REQUIRE(shared > 0);  // with two nodes nothing is left to merge
  const Ran table = with({minimize, "--picture", picture.name(), "--force"});
  CHECK(table.out.find(std::to_string(shared) + (shared == 1 ? " group has" : " groups have") +
                       " several winners") != std::string::npos);
  CHECK(
      read_text(picture.name())
          .find("iteration time: the least of each cell; full colour where the next is 5 % behind; "
                "+n: n others are as good (within 12.1 %") != std::string::npos);
  // Of other figures no errors were measured: only equal ones are as good.
  const Json exposed =
      Json::parse(with({"--minimize", "metrics.comm_exposed_us", "--format", "json"}).out);
  CHECK(!exposed.contains("error_percent"));
}

std::string map_of(const std::string& rows, int columns) {
  const Temporary file(Temporary::Kind::file, rows);
  std::ostringstream out;
  print_winners(out, {.file = file.name(), .x = "n", .y = "s", .by = "m"}, "t",
                {.columns = columns, .colour = false});
  return out.str();
}

// Of 30 columns 3 are the margin's and 13 each of two values; 9 beside " +1" and a blank.
TEST_CASE("plot: names that are cut are told apart, and ties are never left out") {
  const std::string alike =
      "n,s,m,t\n1,1,ring density 0.1,4\n1,1,ring density 0.01,4\n"
      "2,1,ring density 0.1,4\n2,1,ring density 0.01,3\n";
  CHECK(map_of(alike, 30) ==
        "The least t of each place\n\n   n\n   1            2            \n"
        "1  A +1         B            \n\nA: ring density 0.1, \nB: ring density 0.01 \n"
        "+n: n others are as good\n");
  CHECK(map_of(alike, 100).find("ring density 0.01") != std::string::npos);
  const std::string apart =
      "n,s,m,t\n1,1,tree of halves,4\n1,1,ring,4\n2,1,tree of halves,4\n2,1,ring,3\n";
  const std::string narrow = map_of(apart, 13);  // 5 columns each, 4 of them for text
  CHECK(narrow.find("1  t +1 ring \n") != std::string::npos);
  CHECK(narrow.find("\ntree of halves, ") != std::string::npos);
}

TEST_CASE("plot: titles have words of people") {
  CHECK(words_of_column("metrics.iteration_us") == "iteration time");
  CHECK(words_of_column("metrics.iteration_us.mean") == "iteration time");
  CHECK(words_of_column("metrics.iteration_us.p95") == "iteration time (p95)");
  CHECK(words_of_column("throughput_samples_per_s") == "throughput");
}

// Where it is not the strategy that is chosen, a bound is a base as any other.
TEST_CASE("sweep: a base with the bound has winners among its compressions") {
  const Ran ran = run_sgdsim({"sweep", "app/experiments/bert_base_10gbe.json", "-q", "--method",
                              "whole: compression=none", "--method", "half: compression=truncate16",
                              "--minimize", "metrics.iteration_us", "--format", "json"});
  const Json best = Json::parse(ran.out);
  CHECK(best["groups"][0]["best"]["method"] == "half");
  CHECK(best["groups"][0]["points"] == 2);
  CHECK(!best["groups"][0].contains("bound"));
}

TEST_CASE("sweep: the best of each group is the least of its lines, beside the bound") {
  const Ran all = run_sgdsim({"sweep", shipped, "-q"});
  std::map<std::string, Times> times;
  const auto group_of = [](const Json& axes) {
    return axes["cluster.nodes"].dump() + axes["cluster.nic.bandwidth"].dump();
  };
  for (const Json& line : lines_of(all.out))
    times[group_of(line["axes"])][line["strategy"]] = line["metrics"]["iteration_us"]["mean"];
  const Ran ran = run_sgdsim(
      {"sweep", shipped, "-q", "--minimize", "metrics.iteration_us", "--format", "json"});
  const Json best = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/best/1", best).empty());
  CHECK(best["groups"].size() == 56);
  for (const Json& group : best["groups"])
    check_winners(group, times.at(group_of(group["axes"])),
                  best["error_percent"].get<double>() / 100);
  const Ran unknown =
      run_sgdsim({"sweep", shipped, "--minimize", "metrics.iteration_us", "--over", "strateg"});
  CHECK(unknown.log ==
        "sgdsim: --over: unknown axis \"strateg\" (did you mean \"strategy\"?); "
        "known: cluster.nodes, cluster.nic.bandwidth, strategy\n");
}

}  // namespace
}  // namespace sgdsim
