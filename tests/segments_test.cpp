// Links whose cost changes with size: at every size a cluster costs what the same cluster costs
// with plain links of that segment, by every path and by formula.
#include <doctest/doctest.h>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

const std::string small = R"("latency": "2 us", "per_byte": "100 ps/B", "reduce": "10 ps/B")";
const std::string large = R"("latency": "9 us", "per_byte": "20 ps/B", "reduce": "5 ps/B")";
const std::string segments = R"(, "segments": [{"from": "64 KiB", )" + large + R"(}])";

struct Shape {
  std::string reason;
  std::string before;  // the link
  std::string after;
};
const std::vector<Shape> all_shapes = {
    {"one class", R"({"shape": "fully_connected", "nodes": 6, "link": {)", "}}"},
    {"two traversals", R"({"shape": "single_switch", "nodes": 6, "nic": {)", "}}"},
    {"hops", R"({"shape": "ring", "nodes": 6, "link": {)", "}}"},
    {"boxes", R"({"shape": "single_switch", "nodes": 3, "gpus_per_node": 2,
        "gpu_link": {"latency": "1 us", "per_byte": "10 ps/B"}, "nic": {)",
     "}}"},
    {"a slow port",
     R"({"shape": "single_switch", "nodes": 6, "ports": [{"node": 2, "latency": "30 us"}],
        "nic": {)",
     "}}"},
};

CollectiveQuestion question_of(const Algorithm& algorithm, Operation operation, Bytes size) {
  CollectiveQuestion question;
  question.algorithm = algorithm.name;
  question.operation = operation;
  question.messages = {size};
  if (algorithm.takes_block) question.block = size;  // one block, so that all messages are alike
  return question;
}

// Messages of all sizes between `least` and `most` lie in one segment.
void check_like(const Cluster& segmented, const Cluster& plain, Bytes size, bool (*fits)(double)) {
  for (const Algorithm& algorithm : algorithms())
    for (const Operation operation : algorithm.operations) {
      if (algorithm.name == "torus_ring" || algorithm.name == "hierarchical") continue;
      const bool folds_halves = algorithm.name == "halving_doubling";
      if (folds_halves && operation != Operation::allreduce) continue;  // not among six
      CollectiveQuestion question = question_of(algorithm, operation, size);
      for (const PathChoice path : {PathChoice::fastest, PathChoice::rounds, PathChoice::events}) {
        question.path = path;
        CollectiveJob job;
        job.operation = operation;
        job.team = {.size = plain.network.workers(), .stride = 1};
        job.share = {.total = size, .fractional = false, .split = {}};
        job.block = question.block;
        job.cost = worst_in_team(plain.network, job.team);
        const MessageRange range = message_range(schedule_of(algorithm, job));
        if (!fits(range.least_B) || !fits(range.most_B)) continue;
        INFO(std::string(algorithm.name) << " " << std::string(name_of(operation)));
        CHECK(simulate_collective(question, segmented, "").time ==
              simulate_collective(question, plain, "").time);
      }
      question.path = PathChoice::fastest;
      question.fidelity = Fidelity::closed_form;
      try {
        const Duration expected = simulate_collective(question, plain, "").time;
        question.fidelity = Fidelity::closed_form;
        if (fits(static_cast<double>(size.count()) / 6) && fits(static_cast<double>(size.count())))
          CHECK(simulate_collective(question, segmented, "").time == expected);
      } catch (const InputError&) {
        continue;  // no closed form
      }
    }
}

TEST_CASE("segments: below and above the step a cluster is the plain one") {
  for (const Shape& shape : all_shapes) {
    INFO(shape.reason);
    const Cluster segmented = cluster_from(shape.before + small + segments + shape.after).cluster;
    check_like(segmented, cluster_from(shape.before + small + shape.after).cluster, Bytes(6000),
               [](double size_B) { return size_B < 65536; });
    check_like(segmented, cluster_from(shape.before + large + shape.after).cluster, Bytes(6 << 20),
               [](double size_B) { return size_B >= 65536; });
  }
}

// One message of n bytes, in one hop: latency + n per_byte of the segment that n is in.
TEST_CASE("segments: each rules from its own size on") {
  const Cluster cluster =
      cluster_from(
          R"({"shape": "fully_connected", "nodes": 2, "link": {"latency": "1 us", "bandwidth": "1 GBps",
          "efficiency": 0.5, "segments": [
            {"from": "1000 B", "latency": "2 us", "per_byte": "1 ns/B"},
            {"from": "2000 B", "latency": "3 us", "bandwidth": "2 GBps"}]}})")
          .cluster;
  struct Row {
    int64_t size;
    int64_t time_ns;  // efficiency 0.5 doubles every time per byte
  };
  const std::vector<Row> rows = {{1, 1002},    {999, 2998},  {1000, 4000},
                                 {1999, 5998}, {2000, 5000}, {1'000'000, 1'003'000}};
  for (const Row& row : rows) {
    CollectiveQuestion question;
    question.algorithm = "mst";
    question.operation = Operation::broadcast;
    question.messages = {Bytes(row.size)};
    CHECK(simulate_collective(question, cluster, "").time == Duration::ns(row.time_ns));
    question.fidelity = Fidelity::closed_form;
    CHECK(simulate_collective(question, cluster, "").time == Duration::ns(row.time_ns));
  }
}

// The name of a link class is any text, also that of a field of links.
TEST_CASE("segments: link classes called valid and segments are classes like any other") {
  const auto cluster = [](const std::string& a, const std::string& b) {
    return cluster_from(R"({"shape": "explicit",
      "vertices": [{"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"},
                   {"name": "c", "kind": "gpu"}],
      "edges": [{"from": "a", "to": "b", "link": ")" +
                        a + R"("},
                {"from": "b", "to": "c", "link": ")" +
                        b + R"("}],
      "links": {")" + a +
                        R"(": {"latency": "1 us", "per_byte": "1 ns/B"}, ")" + b + R"(":
        {"latency": "1 us", "per_byte": "1 ns/B", "valid": {"from": "8 B", "to": "64 B"},
         "segments": [{"from": "16 B", "latency": "3 us", "per_byte": "2 ns/B"}]}}})")
        .cluster;
  };
  for (const auto& names :
       {std::pair("x", "y"), std::pair("valid", "segments"), std::pair("segments", "valid")}) {
    INFO(names.first);
    const Cluster read = cluster(names.first, names.second);
    CHECK(read.valid.from == Bytes(8));
    CHECK(read.valid.to == Bytes(64));
    CHECK(read.network.at_size(15).between(1, 2).latency == Duration::us(1));
    CHECK(read.network.at_size(16).between(1, 2).latency == Duration::us(3));
    CHECK(read.network.at_size(16).between(0, 1).latency == Duration::us(1));
  }
}

TEST_CASE("segments: a result says when it extrapolates") {
  const Cluster cluster =
      cluster_from(
          R"({"shape": "fully_connected", "nodes": 4, "link": {"latency": "1 us", "bandwidth": "1 GBps",
          "valid": {"from": "1 KiB", "to": "1 MiB"}}})")
          .cluster;
  struct Row {
    const char* algorithm;
    int64_t size;
    bool warns;
  };
  // The ring sends a fourth of the message at a time, a tree all of it.
  const std::vector<Row> rows = {{"ring", 4096, false},    {"ring", 4092, true},
                                 {"ring", 4 << 20, false}, {"ring", 5 << 20, true},
                                 {"mst", 1024, false},     {"mst", 2 << 20, true},
                                 {"be", 4096, false},      {"be", 2048, true}};
  for (const Row& row : rows) {
    INFO(row.algorithm << " " << row.size);
    CollectiveQuestion question;
    question.algorithm = row.algorithm;
    question.messages = {Bytes(row.size)};
    const CollectiveAnswer answer = simulate_collective(question, cluster, "");
    CHECK(answer.warnings.size() == (row.warns ? 1 : 0));
  }
}

TEST_CASE("segments: part of a cluster keeps them") {
  const Cluster cluster = cluster_from(all_shapes[1].before + small + segments + "}}").cluster;
  const Network part = cluster.network.first(3);
  CHECK(part.workers() == 3);
  CHECK(part.at_size(70000).between(0, 1).latency == Duration::us(18));
  CHECK(part.at_size(60000).between(0, 1).latency == Duration::us(4));
}

// By hand: with b bytes a block and P = 8 ranks a broadcast takes (n/b + 6) (alpha + b beta).
TEST_CASE("lp: blocks on links with segments are the best of all, not those of the whole message") {
  // The cards at both ends: 2 us and 1 ns/B below 64 KiB; 200 us and 0.9 ns/B from there on. For
  // 1 MiB: blocks of the first segment, sqrt(n 2 us / (6 ns/B)) = 18,696 B.
  const auto time_us = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"collective",  "-a",       "lp",    "--op",
                                      "broadcast",   "-n",       "1 MiB", "--fidelity",
                                      "closed_form", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Temporary cluster(Temporary::Kind::file, R"({"shape": "single_switch", "nodes": 8, "nic":
        {"latency": "1 us", "per_byte": "1 ns/B", "segments": [
         {"from": "64 KiB", "latency": "100 us", "per_byte": "0.9 ns/B"}]}})");
    words.insert(words.end(), {"-c", cluster.name()});
    return Json::parse(run_sgdsim(words).out)["time_us"].get<double>();
  };
  const double best = time_us({});
  for (const char* block : {"1 KiB", "4 KiB", "18696 B", "32 KiB", "64 KiB", "128 KiB", "1 MiB"})
    CHECK(best <= time_us({"--block", block}) * 1.001);
  CHECK(best == doctest::Approx((1048576. / 18696 + 6) * (2 + 18.696)).epsilon(0.01));
}

// 16 ranks: 15 links of a chain, 2 * 4 of trees that are filled. 100 MB / (64 * 15) is 104,167 B,
// 100 MB / (64 * 8) 195,313 B; of 1 MB both are below a packet's 4,096 B.
TEST_CASE("pipelines: where a block costs nothing by itself, filling them takes a 64th") {
  const auto time_ps = [](const char* algorithm, const char* size, const char* block) {
    std::vector<std::string> words = {"collective", "-a",       algorithm,    "-p",   "16",
                                      "-n",         size,       "--alpha",    "1 us", "--beta",
                                      "0.1 ns/B",   "--option", "alpha=wire", "--op", "broadcast",
                                      "--format",   "json"};
    if (block != nullptr) words.insert(words.end(), {"--block", block});
    return Json::parse(run_sgdsim(words).out)["time_ps"].get<int64_t>();
  };
  CHECK(time_ps("lp", "100 MB", nullptr) == time_ps("lp", "100 MB", "104167 B"));
  CHECK(time_ps("lp", "1 MB", nullptr) == time_ps("lp", "1 MB", "4096 B"));
  CHECK(time_ps("lp", "1 KB", nullptr) == time_ps("lp", "1 KB", "1 KB"));
  CHECK(time_ps("double_binary_tree", "100 MB", nullptr) ==
        time_ps("double_binary_tree", "100 MB", "195313 B"));
  CHECK(time_ps("double_binary_tree", "1 MB", nullptr) ==
        time_ps("double_binary_tree", "1 MB", "4096 B"));
  // What the smallest blocks would gain: less than a 64th.
  const auto small = static_cast<double>(time_ps("lp", "100 MB", "4096 B"));
  const auto usual = static_cast<double>(time_ps("lp", "100 MB", nullptr));
  CHECK(usual > small);
  CHECK(usual < small * (1 + 1. / 64));
}

}  // namespace
}  // namespace sgdsim
