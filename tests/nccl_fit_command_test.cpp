// `sgdsim fit --from-collective nccl`: logs in, a cluster out that predicts more nodes.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/fit/fit_held_out.h"
#include "study/shipped_inputs.h"
#include "study/step/collective_field.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;
using Faults = std::vector<std::string>;

const std::string a100 = "traces/measurement/data/nccl_abci_a100.json";
const std::string v100 = "traces/measurement/data/nccl_abci_v100.json";

Words asked(const std::string& log, Words more) {
  Words words{"fit", log, "--from-collective", "nccl"};
  const Words machine = log == v100 ? Words{"--cluster",       "dgx1_v100_2", "--set",
                                            "gpus_per_node=4", "--set",       "nics_per_node=2"}
                                    : Words{"--cluster", "dgx_a100_2", "--set", "nics_per_node=4"};
  words.insert(words.end(), machine.begin(), machine.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json json_of(Words words) {
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

// Logs of ABCI 2.0 (aistabci/abci2.0benchmark), 1 to 16 nodes of A100 and 1 to 32 of V100, 4 B to
// 32 MiB. The bar: numbers of nodes that were held out within 15 % in the median and 35 % for nine
// of ten; NCCL's own constants are off by 25 to 31 % in the median and 48 to 54 % for nine of ten.
TEST_CASE("nccl fit command: logs of one and two nodes say what more take") {
  struct Row {
    std::string log;
    std::string held;
    int rows;
  };
  for (const auto& [log, held, rows] :
       {Row{a100, "32,64,128", 72}, Row{a100, "64,128", 48}, Row{v100, "16,32,64,128", 96},
        Row{v100, "32,64,128", 72}}) {
    const Json json = json_of(asked(log, {"--holdout", "ranks=" + held}));
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/nccl-fit/1", json) == Faults{});
    const Json& errors = json["held_out"]["errors"];
    CHECK(errors["rows"] == rows);
    CHECK(errors["median_percent"].get<double>() < 15);
    CHECK(errors["p90_percent"].get<double>() < 35);
    CHECK(json["errors_of_nccl"]["p90_percent"].get<double>() > 45);
    CHECK(json["held_out"]["learned"].get<std::string>().find("about more nodes: from ") == 0);
  }
}

TEST_CASE("nccl fit command: the cluster that is written answers for sixteen nodes") {
  const Temporary file(Temporary::Kind::file);
  const Json fit = json_of(asked(a100, {"--out", file.name()}));
  const Json written = Json::parse(read_text(file.name()));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/cluster/1", written) == Faults{});
  CHECK(written["nccl"]["generation"] == "ampere");  // of the device's name
  CHECK(written["nodes"] == 2);
  const Words collective{"collective", "--cluster", file.name(), "-a",  "nccl",
                         "--ranks",    "128",       "-n",        "1MiB"};
  const Json json = json_of(collective);
  CHECK(json["time_us"].get<double>() == doctest::Approx(199.9).epsilon(0.35));  // measured
  CHECK(json["warnings"][0].get<std::string>().find("128 are taken to be on more nodes") !=
        std::string::npos);
  // With a cluster as large there is nothing to say, and beyond the log's sizes there is.
  Words set = collective;
  set.insert(set.end(), {"--set", "nodes=16"});
  const Json large = json_of(set);
  CHECK_FALSE(large.contains("warnings"));
  CHECK(large["time_us"] == json["time_us"]);
  set[8] = "1GiB";
  CHECK(json_of(set)["warnings"][0].get<std::string>().find(
            "fitted to messages of 4 B to 32 MiB") != std::string::npos);
  // Other algorithms do not know these constants.
  CHECK(run_sgdsim(
            {"collective", "-a", "ring", "--cluster", file.name(), "--ranks", "128", "-n", "1MiB"})
            .log.find("--set nodes=N makes it larger") != std::string::npos);
  // Fitted once more, it is the same machine.
  const Json again = json_of({"fit", a100, "--from-collective", "nccl", "--cluster", file.name()});
  CHECK(again["constants"] == fit["constants"]);
}

TEST_CASE("nccl fit command: what is refused, in one sentence") {
  const Temporary empty(Temporary::Kind::file, "");
  const Temporary twelve(
      Temporary::Kind::file,
      R"({"schema": "sgdsim/measurement/1", "series": [{"operation": "allreduce", "ranks": 12,
          "points": [{"size_B": 8, "time_us": 30}]}]})");
  const Temporary shuffle(
      Temporary::Kind::file,
      R"({"schema": "sgdsim/measurement/1", "series": [{"operation": "alltoall", "ranks": 16,
          "points": [{"size_B": 8, "time_us": 30}]}]})");
  const Temporary rings(
      Temporary::Kind::file,
      R"({"schema": "sgdsim/measurement/1", "series": [{"operation": "allreduce", "ranks": 16,
          "algorithm": "ring", "points": [{"size_B": 8, "time_us": 30}]}]})");
  const Temporary sixteen(
      Temporary::Kind::file,
      R"({"schema": "sgdsim/measurement/1", "series": [{"operation": "allreduce", "ranks": 16,
          "points": [{"size_B": 8, "time_us": 30}]}]})");
  const Temporary scattered(
      Temporary::Kind::file,
      "#   Rank  0 Pid 11 on a0008 device  0 [0x27] A100-SXM4-40GB\n"
      "#   Rank  1 Pid 12 on a0008 device  1 [0x2a] A100-SXM4-40GB\n"
      "#   Rank  2 Pid 13 on a0009 device  0 [0x27] A100-SXM4-40GB\n"
      "#   Rank  3 Pid 14 on a0009 device  1 [0x2a] A100-SXM4-40GB\n"
      "# all_reduce_perf\n"
      "  1048576  262144  float  sum  100.0  10.49  15.73  0e+00  100.0  10.49  15.73  0e+00\n"
      "  2097152  524288  float  sum  200.0  10.49  15.73  0e+00  200.0  10.49  15.73  0e+00\n");
  const Temporary types(Temporary::Kind::file,
                        R"({"schema": "sgdsim/measurement/1", "series": [
          {"operation": "allreduce", "ranks": 16, "type": "half",
           "points": [{"size_B": 8, "time_us": 30}]},
          {"operation": "allreduce", "ranks": 16, "type": "float",
           "points": [{"size_B": 8, "time_us": 30}]}]})");
  struct Row {
    Words words;
    std::string sentence;
  };
  for (const Row& row : {
           Row{{"fit", a100, "--from-collective", "nccl"}, "NCCL's model needs the machine"},
           {{"fit", a100, "--from-collective", "nccl", "--cluster", "no_such"}, "no_such"},
           {asked(a100, {"--option", "generation=pascal"}), "unknown value \"pascal\""},
           {asked(a100, {"--option", "generation"}), "expected key=value"},
           {asked(a100, {"--option", "nics=0"}), "nics"},
           {asked(a100, {"--option", "nics=1e999"}), "nics"},
           {asked(a100, {"--gamma", "1 ns/B"}),
            "--gamma: has no effect with --from-collective nccl"},
           {asked(a100, {"--into", "dgx_a100_2"}), "has no effect"},
           {asked(a100, {"--segments", "2"}), "--segments: has no effect"},
           {asked(a100, {"--holdout", "ranks=7"}), "no series among 7 ranks was measured"},
           {asked(a100, {"--holdout", "ranks=8,16,32,64,128"}), "nothing is left to fit"},
           {asked(a100, {"--holdout", "nodes"}), "expected sizes, none, ranks or ranks=N"},
           {asked(a100, {"--set", "nic.bandwidth=0Gbps"}), "bandwidth"},
           {asked(a100, {"--least-size", "1GiB"}), "no size of 1 GiB or more was measured"},
           {asked(empty.name(), {}), "no measured times found"},
           {asked("no_such.log", {}), "no_such.log"},
           {asked(twelve.name(), {}), "12 ranks do not fill nodes of 8 GPUs"},
           {asked(shuffle.name(), {}), "NCCL does not tune it"},
           {asked(scattered.name(), {}),
            "4 ranks were on 2 nodes, and fill 1 of dgx_a100_2, which has 8 GPUs a node"},
           {asked(rings.name(), {}), "it is not of NCCL, but of ring"},
           {asked(types.name(), {}), "--type: several data types were measured"},
           {{"fit", sixteen.name(), "--from-collective", "nccl", "--cluster", "two_boxes_explicit"},
            "it cannot be made larger"},
           {{"fit", a100, "--cluster", "dgx_a100_2"}, "--cluster: is for --from-collective nccl"},
           {{"fit", a100, "--set", "nodes=2"}, "--set: is for --from-collective nccl"},
       }) {
    const Ran ran = run_sgdsim(row.words);
    INFO(row.sentence);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
    CHECK(std::count(ran.log.begin(), ran.log.end(), '\n') == 1);
  }
}

// nccl-tests lists the hosts, and the cluster must have as many GPUs a node.
TEST_CASE("nccl fit command: the hosts of a log are those of the cluster") {
  std::string log = "# all_reduce_perf\n";
  for (int rank = 0; rank < 4; ++rank)
    log += "#  Rank " + std::to_string(rank) + " Group 0 Pid 11 on host" +
           std::to_string(rank / 2) + " device 0 [0000:0f:00] NVIDIA H100 80GB HBM3\n";
  for (const char* row : {"1048576 262144 float sum -1 100.0", "2097152 524288 float sum -1 200.0"})
    log += std::string(row) + " 10.49 15.73 0 100.0 N/A N/A 0\n";
  const Temporary file(Temporary::Kind::file, log);
  const Json json = json_of({"fit", file.name(), "--from-collective", "nccl", "--cluster",
                             "dgx_h100_4", "--set", "gpus_per_node=2", "--set", "nics_per_node=2"});
  CHECK(json["logs"][0]["nodes"] == 2);
  CHECK(json["logs"][0]["ranks"] == 4);
}

TEST_CASE("nccl fit command: a cluster's constants are checked") {
  const auto with = [](const std::string& constants) {
    return R"({"shape": "nvlink_box", "gpu": "a100", "nodes": 2, "gpus_per_node": 8, "nics_per_node": 4,
               "gpu_link": {"latency": "0.3 us", "bandwidth": "240 GBps"},
               "pcie": {"latency": "1 us", "bandwidth": "24 GBps"},
               "nic": {"latency": "0.35 us", "bandwidth": "200 Gbps"}, "nccl": )" +
           constants + "}";
  };
  struct Row {
    std::string constants;
    std::string sentence;
  };
  for (const Row& row : {
           Row{R"({"tree_ll": {"base": "-1 us"}})", "/nccl/tree_ll/base"},
           {R"({"tree_ll": {"base": "2 s"}})", "expected at most 1 s"},
           {R"({"tree_ll": {"efficiency": 0}})", "/nccl/tree_ll/efficiency"},
           {R"({"tree_ll": {"efficiency": 1e999}})", ""},
           {R"({"tree_l": {}})", "tree_l"},
           {R"({"generation": "pascal"})", "pascal"},
           {R"({"nics": 65})", "nics"},
           {R"({"sizes": {"from": "2 KiB", "to": "1 KiB"}})", "goes from 2 KiB to less, 1 KiB"},
           {R"([])", "nccl"},
       }) {
    const Ran ran =
        run_sgdsim({"collective", "-a", "nccl", "-n", "1MiB", "-c", with(row.constants)});
    INFO(row.constants);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
  // Without constants the field changes nothing; with them only what they say.
  const auto time_us = [&](const std::string& constants) {
    return json_of({"collective", "-a", "nccl", "-n", "8 B", "-c", with(constants)})["time_us"]
        .get<double>();
  };
  const double own_us = json_of({"collective", "-a", "nccl", "-n", "8 B", "-c", "dgx_a100_2",
                                 "--option", "nics=4"})["time_us"];
  CHECK(time_us("{}") == own_us);
  CHECK(time_us(R"({"tree_ll": {"base": "5.8 us"}})") == doctest::Approx(own_us - 1));
}

// An experiment pays launch + what the model takes: a microsecond less of base is one less of both.
TEST_CASE("nccl fit command: experiments count with the constants of their cluster") {
  const auto time_of = [](const Json& constants) {
    Json json = cluster_document("dgx_a100_2").root().json();
    json["nccl"] = constants;
    const Cluster cluster = read_cluster(Value(json, "here", "")).cluster;
    const Json nccl = {{"algorithm", "nccl"}, {"launch", "3 us"}};
    return read_collective(Value(nccl, "here", ""))
        .cost(cluster, Operation::allreduce)
        .of(Bytes(8));
  };
  const Duration own = time_of(Json::object());
  CHECK(own > Duration::us(3));
  CHECK(time_of({{"tree_ll", {{"base", "5.8 us"}}}}) == own - Duration::us(1));
}

TEST_CASE("fit: held-out ranks, and the sentence about them") {
  std::vector<std::string> notes;
  const std::vector<RanksOf> all{{8, 1}, {16, 2}, {32, 4}, {16, 2}, {64, 8}, {128, 16}};
  const PredictionError errors{10, 0.05, 0.4, 0.2};
  CHECK(
      held_ranks("ranks", all, notes).sentence(errors) ==
      "about more nodes: from 8 to 32 ranks (1 to 4 nodes), 64 and 128 ranks (8 and 16 nodes) are "
      "predicted within 5.00 % in the median, 20.0 % in nine rows of ten and 40.0 % at the most");
  CHECK(held_ranks("ranks=16", {{8, 0}, {16, 0}, {2, 0}}, notes).sentence(errors) ==
        "about more ranks: from 2 and 8 ranks, 16 ranks are predicted within 5.00 % in the median, "
        "20.0 % in nine rows of ten and 40.0 % at the most");
  CHECK(held_ranks("ranks=8", {{8, 1}, {16, 2}}, notes)
            .sentence(errors)
            .find("about other ranks: from 16 ranks (2 nodes), 8 ranks (1 node)") == 0);
  CHECK(held_ranks("sizes", all, notes).held.empty());
  CHECK(notes.empty());
  CHECK(held_ranks("ranks", {{16, 2}}, notes).held.empty());
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("only 16 ranks were measured") != std::string::npos);
  CHECK_THROWS_AS(held_ranks("ranks=16", {{16, 2}}, notes), InputError);
  CHECK_THROWS_AS(held_ranks("ranks=", all, notes), InputError);
  CHECK_THROWS_AS(held_ranks("ranks=-1", all, notes), InputError);
}

TEST_CASE("fit: what was learned about more ranks of a link") {
  const Json json = json_of(
      {"fit", "tests/data/measurement.json", "--from-collective", "stated", "--holdout", "ranks"});
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/fit/1", json) == Faults{});
  CHECK(json["fits"][0]["held_out"]["rows"] == 18);
  CHECK(json["fits"][0]["held_out"]["learned"].get<std::string>().find(
            "about more ranks: from 2 ranks, 4 ranks are predicted within ") == 0);
}

}  // namespace
}  // namespace sgdsim
