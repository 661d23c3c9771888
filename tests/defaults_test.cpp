// What comes by default: DDP for a bare trace, names for traces and clusters, paths, and what an
// option that there is not should have been.
#include <doctest/doctest.h>
#include <filesystem>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "study/shipped_inputs.h"
#include "tests/rounds.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

Json json_of(Words words) {
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

}  // namespace

TEST_CASE("defaults: a bare trace is trained with DDP and PyTorch's buckets, and that is said") {
  const Words asked = {"resnet50_v100", "-c", "25gbe_16", "--fidelity", "closed_form"};
  const auto with = [&](const char* command, const Words& more) {
    Words words = asked;
    words.insert(words.begin(), command);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Json bare = json_of(with("run", {}));
  const Json named = json_of(
      with("run",
           {"--set", R"(strategy={"name": "ddp", "first_bucket": "1 MiB", "bucket": "25 MiB"})"}));
  CHECK(bare["strategy"] == "ddp");
  CHECK(bare["iteration_ps"] == named["iteration_ps"]);
  CHECK(bare["messages"] == named["messages"]);
  const std::string words = "DDP with PyTorch's buckets of 25 MiB, first 1 MiB";
  CHECK(bare["about_strategy"] == words);
  CHECK(run_sgdsim(with("run", {})).out.find(words) != std::string::npos);
  CHECK(json_of(with("advise", {}))["now"]["strategy"] == "ddp");
  CHECK(json_of(with("advise", {}))["now"]["iteration_ps"] == bare["iteration_ps"]);
  const Json plans = json_of(with("plan", {}))["plans"];
  for (const Json& plan : plans) {
    if (plan["strategy"] == "ddp") CHECK(plan["iteration_ps"] == bare["iteration_ps"]);
    if (plan["strategy"] == "optimal") {
      CHECK(plan.contains("is_bound"));
      CHECK(!plan.contains("is_winner"));
    }
  }
  CHECK(plans[0].contains("is_winner"));
  // What a synchronization sends in one message is no DDP.
  CHECK(json_of(with("run", {"--set", "synchronization=pipe_sgd"}))["strategy"] == "sync_easgd");
}

TEST_CASE("defaults: winners of a plan are those within the measured error") {
  const Json answer = json_of({"plan", "resnet50_v100", "-c", "10gbe_16"});
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/plan/1", answer).empty());
  const double error = answer["error_percent"].get<double>() / 100;
  const double best = answer["plans"][0]["iteration_us"];
  for (const Json& plan : answer["plans"]) {
    if (plan.contains("why_not") || plan.contains("is_bound")) continue;
    CHECK(plan.contains("is_winner") == (plan["iteration_us"].get<double>() <= best * (1 + error)));
  }
  const Ran even = run_sgdsim(
      {"plan", "resnet50_v100", "-c", "400gbe_16", "--method", "a: ddp", "--method", "b: mg_wfbp"});
  CHECK(even.out.find("Nothing is surely better; the likeliest is ") != std::string::npos);
}

// Of what can be set (no other learning, no hardware, no bound): the best, and the one that gains
// most at the lower end of its interval.
TEST_CASE("advise: the last lines name what is surely better, and what may be better still") {
  const std::vector<std::string> sizes = {"cluster.nodes=4", "cluster.nodes=2", "cluster.nodes=16"};
  for (int i = 0; i < rounds(3); ++i) {
    const std::string& nodes = sizes[static_cast<std::size_t>(i)];
    CAPTURE(nodes);
    const std::vector<std::string> words = {"advise",   "resnet50_v100", "-c",
                                            "aws_p3_2", "--set",         nodes};
    std::string best, sure;
    double least = 0;
    const Json advice = json_of(words);
    for (const Json& line : advice["lines"]) {
      if (line["alters_learning"] || line["needs_hardware"] || line.contains("is_bound")) continue;
      if (best.empty()) best = line["change"];
      if (!line.contains("interval_percent") || line["interval_percent"][0] <= least) continue;
      least = line["interval_percent"][0];
      sure = line["change"];
    }
    REQUIRE(!best.empty());
    const std::string out = run_sgdsim(words).out;
    if (best == sure) {
      CHECK(out.find("The best setting is " + best) != std::string::npos);
    } else if (!sure.empty()) {
      CHECK(out.find("The best setting that is surely better is " + sure) != std::string::npos);
      CHECK(out.find("Likely better still, but not surely, is " + best) != std::string::npos);
    } else {
      CHECK(out.find("the likeliest is " + best) != std::string::npos);
    }
  }
}

// One message after the backward pass: (P-1)/P of its bytes are added up, each worker its own.
TEST_CASE("defaults: run shows what of the communication is reducing") {
  const Words words = {"run",   "vgg16_v100",          "-c",         "mgwfbp_paper_10gbe",
                       "--set", "strategy=sync_easgd", "--fidelity", "closed_form"};
  const Json result = json_of(words);
  const double size_B = result["messages"][0]["size_B"];
  const double reducing_us = 15. / 16 * size_B * 2.5e-3;
  CHECK(result["comm_reducing_us"].get<double>() == doctest::Approx(reducing_us).epsilon(1e-4));
  const Ran ran = run_sgdsim(words);
  CHECK(ran.out.find("of which reducing") != std::string::npos);
  CHECK(ran.out.find("Most of the communication is adding up gradients") != std::string::npos);
  CHECK(ran.out.find("--set cluster.nic.reduce=null") != std::string::npos);
  const Ran without = run_sgdsim({"run", "vgg16_v100", "-c", "10gbe_16"});
  CHECK(without.out.find("reducing") == std::string::npos);
}

// Everything after the backward pass, message by message: each pays the launch once.
// Of a ring every worker adds up (P-1)/P of the message; a broadcast adds up nothing.
TEST_CASE("defaults: collective shows what of it is reducing") {
  const Words ring = {"collective", "-a", "ring", "-n", "64 MiB", "-c", "mgwfbp_paper_10gbe"};
  // 15 / 16 * 67,108,864 B * 2.5 ns/B
  const Ran ran = run_sgdsim(ring);
  CHECK(ran.out.find("of which reducing  157.286 ms") != std::string::npos);
  CHECK(ran.out.find("Most of this time is adding up values") != std::string::npos);
  Words fast = ring;
  fast.insert(fast.end(), {"--set", "nic.reduce=0.1 ns/B"});
  CHECK(run_sgdsim(fast).out.find("Most of this time") == std::string::npos);
  for (const Words& nothing : {Words{"collective", "-a", "mst", "--op", "broadcast", "-n", "64 MiB",
                                     "-c", "mgwfbp_paper_10gbe"},
                               Words{"collective", "-a", "ring", "-n", "64 MiB", "-c", "10gbe_16"}})
    CHECK(run_sgdsim(nothing).out.find("reducing") == std::string::npos);
}

TEST_CASE("defaults: with NCCL's model every message pays its launch") {
  const auto with = [&](const char* launch) {
    return json_of(
        {"run", "resnet50_v100", "-c", "dgx_h100_4", "--fidelity", "closed_form", "--set",
         "strategy=naive", "--set",
         std::string(R"(collective={"algorithm": "nccl", "launch": ")") + launch + "\"}"});
  };
  const Json none = with("0 us");
  const Json some = with("100 us");
  const auto messages = static_cast<int64_t>(none["messages"].size());
  CHECK(messages == 161);
  CHECK(some["iteration_ps"].get<int64_t>() - none["iteration_ps"].get<int64_t>() ==
        messages * 100'000'000);
}

TEST_CASE("names: traces and clusters that ship can be named, and are listed") {
  const Json clusters = json_of({"list", "clusters"});
  const Json traces = json_of({"list", "traces"});
  const auto has = [](const Json& list, const std::string& name) {
    for (const Json& one : list)
      if (one["name"] == name && !one["meaning"].get<std::string>().empty()) return true;
    return false;
  };
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SGDSIM_SOURCE_DIR "/topologies/data")) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    CHECK(has(clusters["clusters"], name));
    const auto shipped = shipped_cluster(name);
    REQUIRE(shipped.has_value());
    CHECK(shipped->root().json() == Document::read(entry.path().string()).root().json());
    CHECK(shipped->root().json()["name"] == name);
    CHECK(read_cluster(shipped->root()).source.size() > 10);
    // No reduction time but in the paper's own network.
    CHECK((shipped->root().json().dump().find("\"reduce\"") == std::string::npos) ==
          (name != "mgwfbp_paper_10gbe"));
    ++count;
  }
  CHECK(count >= 30);
  for (const auto& entry : std::filesystem::directory_iterator(SGDSIM_SOURCE_DIR "/traces/data"))
    if (entry.path().extension() == ".json")
      CHECK(has(traces["traces"], entry.path().stem().string()));
  const Json by_name = json_of({"run", "resnet50_v100", "-c", "dgx_h100_4"});
  const Json by_file =
      json_of({"run", "traces/data/resnet50_v100.json", "-c", "topologies/data/dgx_h100_4.json"});
  CHECK(by_name["id"] == by_file["id"]);
  CHECK(json_of({"collective", "-a", "ring", "-n", "1 MB", "-c", "10gbe_16"})["time_ps"] ==
        json_of({"collective", "-a", "ring", "-n", "1 MB", "-c",
                 "topologies/data/10gbe_16.json"})["time_ps"]);
  const Ran wrong = run_sgdsim({"run", "resnet50_v100", "-c", "dgx_h10_4"});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.log.find("did you mean \"dgx_h100_4\"?") != std::string::npos);
  for (const Words& words :
       {Words{"trace", "show"}, Words{"trace", "check"}, Words{"export", "layers-csv"}}) {
    Words by_word = words, by_path = words;
    by_word.emplace_back("resnet50_v100");
    by_path.emplace_back("traces/data/resnet50_v100.json");
    const Ran ran = run_sgdsim(by_word);
    CHECK(ran.exit_code == 0);
    CHECK(ran.out == run_sgdsim(by_path).out);
  }
  CHECK(run_sgdsim({"run", "resnet50_v10", "-c", "dgx_h100_4"})
            .log.find("did you mean \"resnet50_v100\"?") != std::string::npos);
}

// A file of jobs that names its cluster says what one with the cluster's file says.
TEST_CASE("names: jobs are on a cluster by its name, too") {
  const auto asked = [](const std::string& cluster, Words more) {
    const Json jobs = {{"cluster", cluster},
                       {"jobs",
                        {{{"workers", 16},
                          {"experiment",
                           {{"trace",
                             {{"layers",
                               {{{"name", "l"},
                                 {"parameters", 2'000'000},
                                 {"forward", "1 us"},
                                 {"backward", "1 us"}}}}}},
                            {"collective", {{"algorithm", "ring"}}}}}}}}};
    const Temporary file(Temporary::Kind::file, jobs.dump());
    more.insert(more.begin(), {"jobs", file.name(), "--format", "json"});
    return run_sgdsim(more);
  };
  const std::string file = SGDSIM_SOURCE_DIR "/topologies/data/10gbe_16.json";
  for (const Words& more : {Words{}, Words{"--set", "cluster.nic.latency=\"70 us\""}}) {
    const Ran by_name = asked("10gbe_16", more);
    INFO(by_name.log);
    REQUIRE(by_name.exit_code == 0);
    const Json jobs = Json::parse(by_name.out)["jobs"];
    CHECK(jobs.size() == 1);
    CHECK(jobs == Json::parse(asked(file, more).out)["jobs"]);
  }
  const Ran wrong = asked("10gbe_61", {});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.log.find("did you mean \"10gbe_16\"?") != std::string::npos);
}

TEST_CASE("answers: on wires every command says how messages were sent") {
  const Temporary traffic(
      Temporary::Kind::file,
      R"({"flows": [{"generator": "incast", "to": 0, "from": "1-4", "size": "1 MB"}]})");
  const Temporary goal(Temporary::Kind::file,
                       "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 1\n}\n"
                       "rank 1 {\nl1: recv 1000b from 0 tag 1\n}\n");
  const std::vector<Words> commands = {
      {"collective", "-a", "ring", "-n", "1 MB", "-c", "10gbe_16"},
      {"run", "resnet50_v100", "-c", "10gbe_16"},
      {"replay", goal.name(), "-c", "10gbe_16"},
      {"traffic", traffic.name(), "-c", "10gbe_16"},
      {"layout", "llama3.1_8b", "-c", "10gbe_16", "--layout", "dp2 zero3 recompute=full",
       "--memory", "200GB", "--set", "nodes=2"}};
  struct Row {
    const char* network;
    const char* sharing;
    const char* fidelity;
    const char* transport;  // null: none is told
  };
  const std::vector<Row> rows = {{"tcp", "queues", "flow", "tcp"},
                                 {"tcp", "max_min", "flow", nullptr},
                                 {"nccl", "max_min", "flow", nullptr},
                                 {"tcp", "queues", "packet", "tcp"},
                                 {"nccl", "max_min", "packet", "ideal"}};
  for (const Words& words : commands)
    for (const Row& row : rows) {
      // A layout of these bytes takes minutes packet by packet.
      if (words.front() == "layout" && std::string(row.fidelity) == "packet") continue;
      Words all = words;
      const std::string field = words.front() == "run" ? "cluster." : "";
      const std::vector<std::string> more = {"--set", field + "network=" + row.network, "--set",
                                             field + "sharing=" + row.sharing};
      all.insert(all.end(), more.begin(), more.end());
      if (words.front() == "run")
        all.insert(all.end(), {"--set", std::string("fidelity=") + row.fidelity});
      else
        all.insert(all.end(), {"--fidelity", row.fidelity});
      CAPTURE(words.front());
      CAPTURE(row.network);
      CAPTURE(row.fidelity);
      const Json answer = json_of(all);
      CHECK(answer.contains("transport") == (row.transport != nullptr));
      if (row.transport != nullptr) CHECK(answer["transport"] == row.transport);
    }
}

TEST_CASE("paths: of the command line they count from the working folder, in files from the file") {
  const std::string cluster = "topologies/data/25gbe_16.json";
  const Json two =
      json_of({"run", "resnet50_v100", "--set", "cluster=" + cluster, "--set", "cluster.nodes=2"});
  CHECK(two["workers"] == 2);
  CHECK(two["id"] ==
        json_of({"run", "resnet50_v100", "-c", cluster, "--set", "cluster.nodes=2"})["id"]);
  const Json other = json_of({"run", "app/experiments/googlenet_k80.json", "--set",
                              "trace=traces/data/resnet50_v100.json"});
  CHECK(other["inputs"]["trace"]["name"] == "resnet50_v100");
  const Ran axis = run_sgdsim({"sweep", "app/experiments/googlenet_k80.json", "-q", "--axis",
                               "trace=./tests/../traces/data/resnet50_v100.json,googlenet_k80",
                               "--columns", "trace,strategy"});
  CHECK(axis.out ==
        "trace,strategy\n./tests/../traces/data/resnet50_v100.json,mg_wfbp\n"
        "googlenet_k80,mg_wfbp\n");
  const Ran one =
      run_sgdsim({"sweep", "app/experiments/googlenet_k80.json", "-q", "--axis",
                  "trace=tests/../traces/data/resnet50_v100.json", "--columns", "strategy"});
  CHECK(one.out == "strategy\nmg_wfbp\n");
}

TEST_CASE("words: sweep and tune take a trace and a cluster as run does, and write --out") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string points = folder.name() + "/points.jsonl";
  CHECK(run_sgdsim({"sweep", "resnet50_v100", "-c", "25gbe_16", "-q", "--axis",
                    "cluster.nodes=2..8", "--out", points})
            .exit_code == 0);
  CHECK(house::split(read_text(points), '\n').size() == 4);  // three, and the end
  const Ran clusters = run_sgdsim({"sweep", "resnet50_v100", "-q", "--axis",
                                   "cluster=10gbe_16,400gbe_16", "--columns", "cluster,workers"});
  CHECK(clusters.out == "cluster,workers\n10gbe_16,16\n400gbe_16,16\n");
  const std::string tuned = folder.name() + "/tuned.json";
  CHECK(run_sgdsim({"tune", "resnet50_v100", "-c", "25gbe_16", "--set", "fidelity=closed_form",
                    "--out", tuned})
            .exit_code == 0);
  const Json best = Json::parse(read_text(tuned));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/tune/1", best).empty());
  CHECK(best["best"]["strategy"] != "optimal");
  const std::string planned = folder.name() + "/plan.json";
  CHECK(run_sgdsim({"plan", "resnet50_v100", "-c", "25gbe_16", "--out", planned}).exit_code == 0);
  CHECK(Json::parse(read_text(planned))["schema"] == "sgdsim/plan/1");
}

TEST_CASE("words: an option that is a field says how to set it") {
  struct Row {
    Words words;
    const char* sentence;
  };
  for (const Row& row : {
           Row{{"run", "x", "--strategy", "ddp"}, "write --set strategy=ddp"},
           Row{{"plan", "x", "--nodes", "32"}, "write --set cluster.nodes=32"},
           Row{{"advise", "x", "--nodes=32"}, "write --set cluster.nodes=32"},
           Row{{"sweep", "x", "--bandwidth", "25 Gbps"},
               "write --set cluster.nic.bandwidth='25 Gbps'"},
           Row{{"tune", "x", "--compression"}, "write --set compression=..."},
           Row{{"run", "x", "--strategi"}, "unknown option \"--strategi\""},
           Row{{"list", "--nodes", "3"}, "unknown option \"--nodes\""},
       }) {
    const Ran ran = run_sgdsim(row.words);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
}

// Which strategy for ResNet-50 on 16 V100 at 25 Gb/s, and does 100 Gb/s pay: two commands.
TEST_CASE("task: a strategy, and whether a faster network pays") {
  const Ran plan = run_shell_line("sgdsim plan resnet50_v100 -c 25gbe_16");
  CHECK(plan.exit_code == 0);
  CHECK(plan.out.find("(bound)") != std::string::npos);
  CHECK(plan.out.find("optimal wins") == std::string::npos);
  const Ran sweep = run_shell_line(
      "sgdsim sweep resnet50_v100 -c 25gbe_16 -q --axis 'cluster.nic.bandwidth=25 Gbps,100 Gbps' "
      "--columns "
      "cluster.nic.bandwidth,strategy,metrics.iteration_us,metrics.throughput_samples_per_s");
  INFO(sweep.log);
  CHECK(sweep.exit_code == 0);
  const auto lines = house::split(sweep.out, '\n');
  REQUIRE(lines.size() >= 3);
  CHECK(lines[1].starts_with("25 Gbps,ddp,"));
  CHECK(lines[2].starts_with("100 Gbps,ddp,"));
}

// VGG-16, 4 to 256 nodes, 1 to 400 Gb/s, four methods: the points of a figure in one command.
TEST_CASE("task: four methods over nodes and bandwidth") {
  const Ran ran = run_shell_line(
      "sgdsim sweep vgg16_v100 -c 10gbe_16 -q --set fidelity=closed_form "
      "--axis cluster.nodes=4..256 --axis 'cluster.nic.bandwidth=1 Gbps,10 Gbps,25 Gbps,100 "
      "Gbps,400 Gbps' --method 'DDP: ddp' --method 'MG-WFBP: mg_wfbp' "
      "--method 'gTop-k: compression=gtopk, density=0.001, strategy=sync_easgd' "
      "--method 'Pipe-SGD: pipe_sgd' --columns "
      "cluster.nodes,cluster.nic.bandwidth,method,metrics.speedup");
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK(house::split(ran.out, '\n').size() == 1 + 7 * 5 * 4 + 1);
}

}  // namespace sgdsim
