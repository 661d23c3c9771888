// Connection matrices of htsim: read back to the same, and refused with a sentence.
#include "traces/htsim_matrix.h"

#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "tests/run_program.h"

using namespace sgdsim;

TEST_CASE("htsim: what is written reads back to the same") {
  Random random(4);
  for (int round = 0; round < 1000; ++round) {
    const int nodes = 2 + static_cast<int>(random.below(200));
    std::vector<PlainFlow> flows(1 + random.below(20));
    for (PlainFlow& flow : flows) {
      flow.start = Time() + Duration::ps(static_cast<int64_t>(random.below(1'000'000)));
      flow.size = Bytes(1 + static_cast<int64_t>(random.below(1'000'000'000)));
      flow.from = static_cast<int>(random.below(static_cast<uint64_t>(nodes)));
      flow.to = (flow.from + 1) % nodes;
    }
    sort_by_start(flows);
    const std::vector<PlainFlow> again =
        parse_htsim_matrix(to_htsim_matrix(flows, nodes), "test", nodes);
    REQUIRE(again.size() == flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
      CHECK(again[i].start == flows[i].start);
      CHECK(again[i].size == flows[i].size);
      CHECK(again[i].from == flows[i].from);
      CHECK(again[i].to == flows[i].to);
    }
  }
}

TEST_CASE("htsim: by hand, and what is refused") {
  const std::vector<PlainFlow> flows = parse_htsim_matrix(
      "# two\nNodes 8\r\nConnections 2\n1->2 id 2 start 5 size 7\n0->1 size 1000000 start 0\n",
      "test", 8);
  REQUIRE(flows.size() == 2);
  CHECK(flows[0].size == Bytes(1'000'000));
  CHECK(flows[1].start == Time() + Duration::ps(5));
  const auto refusal_of = [](const std::string& text) -> std::string {
    try {
      parse_htsim_matrix(text, "test", 8);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  const std::string head = "Nodes 8\nConnections 1\n";
  CHECK(refusal_of(head + "0->1 id 1 start 0 size 5\n") == "none");
  CHECK(refusal_of("Nodes 9\nConnections 1\n0->1 start 0 size 5\n").find("line 1") !=
        std::string::npos);
  CHECK(refusal_of(head) == "test: no connections");
  CHECK(refusal_of("Connections 1\n0->1 start 0 size 5\n").find("before the first") !=
        std::string::npos);
  CHECK(refusal_of(head + "0->1 start 0 size 5\n0->2 start 0 size 5\n") ==
        "test: says 1 connections, and has 2");
  CHECK(refusal_of(head + "0->0 start 0 size 5\n").find("send to itself") != std::string::npos);
  CHECK(refusal_of(head + "0->8 start 0 size 5\n").find("a node") != std::string::npos);
  CHECK(refusal_of(head + "0->1 start -1 size 5\n").find("a start in ps") != std::string::npos);
  CHECK(refusal_of(head + "0->1 start 0 size 0\n").find("a size") != std::string::npos);
  CHECK(refusal_of(head + "0->1 start 0 size\n").find("is missing") != std::string::npos);
  CHECK(refusal_of(head + "0->1 trigger 5 size 5\n").find("trigger is not simulated") !=
        std::string::npos);
  CHECK(refusal_of(head + "0->1 start 0 size 5 prio 1\n").find("unknown word \"prio\"") !=
        std::string::npos);
  CHECK(refusal_of(head + "trigger id 5 oneshot\n").find("not simulated") != std::string::npos);
  CHECK(refusal_of(head + "0 1 5\n").find("expected FROM->TO") != std::string::npos);
}

TEST_CASE("htsim: exported traffic is the same traffic") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string matrix = folder.name() + "/flows.cm";
  const std::string cluster = "topologies/data/fat_tree_k8.json";
  REQUIRE(
      run_sgdsim({"export", "htsim", "app/flows/poisson_half.json", "-c", cluster, "--out", matrix})
          .exit_code == 0);
  const auto ends_of = [&](const std::string& file) {
    const Ran ran = run_sgdsim({"traffic", file, "-c", cluster, "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["flows"];
  };
  CHECK(ends_of(matrix) == ends_of("app/flows/poisson_half.json"));
  CHECK(
      run_sgdsim({"export", "htsim", "app/flows/incast_4.csv", "-c", cluster, "--out", "README.md"})
          .exit_code == 2);
}
