// Several jobs on the same wires: by hand, against a job alone, and what is refused.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/jobs_cases.h"
#include "tests/random_layers.h"
#include "tests/rounds.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

std::string refusal_of(const Json& json) {
  const Temporary file(Temporary::Kind::file, json.dump());
  try {
    const JobsFile jobs = read_jobs(file.name(), {});
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.substr(std::min(text.size(), file.name().size() + 2));
  }
  return "";
}

}  // namespace

TEST_CASE("jobs: by hand") {
  // Alone: 300 + 2 (4 + 500). In one rack: 300 + 2 (2 + 500).
  CHECK(iterations_of({{"cluster", racks}, {"jobs", Json::array({job("0,2")})}}) ==
        Lengths{us({1308, 1308, 1308})});
  CHECK(iterations_of({{"cluster", racks}, {"jobs", {job("0-1"), job("2-3")}}}) ==
        Lengths{us({1304, 1304, 1304}), us({1304, 1304, 1304})});
  // Both over the one uplink, in step: every message has half of it.
  CHECK(iterations_of({{"cluster", racks}, {"jobs", {job("0,2"), job("1,3")}}}) ==
        Lengths{us({2308, 2308, 2308}), us({2308, 2308, 2308})});
  // The second one comes when the first has finished all of its three iterations.
  CHECK(iterations_of({{"cluster", racks}, {"jobs", {job("0,2"), job("1,3", "5 ms")}}}) ==
        Lengths{us({1308, 1308, 1308}), us({1308, 1308, 1308})});
  // The second one comes with the first one's second iteration: in step until the first has ended.
  const auto apart =
      iterations_of({{"cluster", racks}, {"jobs", {job("0,2"), job("1,3", "1308 us")}}});
  CHECK(apart[0] == us({1308, 2308, 2308}));
  CHECK(apart[1] == us({2308, 2308, 1308}));
}

TEST_CASE("jobs: traffic of others, and wires that change") {
  // A flow that never ends within these three iterations: in one direction there is half.
  const Json endless = Json::parse(
      R"({"flows": {"generator": "listed", "list": [{"from": 1, "to": 3, "size": "1 GB"}]}})");
  CHECK(iterations_of(
            {{"cluster", racks}, {"jobs", Json::array({job("0,2")})}, {"traffic", endless}}) ==
        Lengths{us({2308, 2308, 2308})});
  // From 1308 us on, a quarter of the uplink: 2 (4 + 2000).
  const Json slow = Json::parse(
      R"({"changes": [{"at": "1308 us", "link": ["leaf0", "spine0"], "bandwidth": 0.25}]})");
  CHECK(
      iterations_of({{"cluster", racks}, {"jobs", Json::array({job("0,2")})}, {"traffic", slow}}) ==
      Lengths{us({1308, 4308, 4308})});
}

// On its own, a job takes what its step takes at fidelity flow; wherever it stands, and whenever.
// But it ends, where a step goes on: nothing of the next iteration meets its last messages.
TEST_CASE("jobs: one alone is a step") {
  Random random(71);
  int compared = 0;
  const std::vector<Json> strategies = {
      "wfbp",
      "mg_wfbp",
      {{"name", "p3"}, {"slice", "9 KB"}},
      {{"name", "bytescheduler"}, {"partition", "20 KB"}, {"credit", "30 KB"}},
      {{"name", "bsp_lp"}, {"drain", false}},
      {{"name", "horovod"}, {"cycle", "40 us"}, {"threshold", "30 KB"}},
      {{"name", "horovod"}, {"cycle", "90 us"}, {"blocking", true}}};
  const Json sparse = {
      {"name", "gtopk"},
      {"density", Json::parse(R"([{"density": 0.3, "iterations": 1}, {"density": 0.1}])")}};
  for (int round = 0; round < rounds(60); ++round)
    for (const char* algorithm : {"ring", "recursive_doubling", "direct", "double_binary_tree"}) {
      const bool has_blocks = std::string(algorithm) == "double_binary_tree";  // thousands
      if (has_blocks && round % 20 != 0) continue;
      const int nodes = 2 + static_cast<int>(random.below(7));
      const Json layers = random_layers(random, nodes, 40'000'000, 80'000'000);
      Json cluster = racks;
      cluster["nodes"] = nodes;
      Json experiment = {{"trace", {{"update", "3 us"}, {"layers", layers}}},
                         {"cluster", cluster},
                         {"collective", {{"algorithm", algorithm}}},
                         {"strategy", strategies[random.below(strategies.size())]},
                         {"fidelity", "flow"},
                         {"iterations", 4},
                         {"warm_up", 1}};
      if (random.below(2) == 0)
        experiment["workers"] = {{"slow", {{{"worker", 0}, {"factor", 1.4}}}}};
      if (random.below(3) == 0)
        experiment["workers"]["jitter"] = {{"distribution", "lognormal"}, {"sigma", 0.2}};
      if (random.below(2) == 0) experiment["collective"]["options"]["alpha"] = "wire";
      const bool in_order =
          experiment["strategy"].is_string() || experiment["strategy"]["name"] == "horovod";
      if (in_order && random.below(3) == 0) experiment["channels"] = 2;
      const bool is_late = !in_order && experiment["strategy"]["name"] != "bsp_lp";
      if ((in_order || is_late) && random.below(3) == 0)
        experiment["compression"] = random.below(2) == 0 ? Json("truncate16") : sparse;
      if (in_order && !experiment.contains("channels") && random.below(3) == 0)
        experiment["synchronization"] = {{"name", "pipe_sgd"}, {"communication", "layerwise"}};
      if (random.below(4) == 0) experiment["trace"]["load"] = "90 us";
      CAPTURE(experiment.dump());
      try {
        const Experiment alone =
            read_experiment(resolve_experiment(Value(experiment, "t", ""), {}));
        const StepResult step = simulate_step(alone.question());
        const Json all = {
            {"cluster", cluster},
            {"jobs", {{{"experiment", experiment}, {"workers", nodes}, {"start", "7 ms"}}}}};
        const auto iterations = iterations_of(all);
        REQUIRE(iterations.size() == 1);
        REQUIRE(iterations[0].size() == step.iterations.size());
        ++compared;
        const std::size_t last = experiment.contains("synchronization") ? 2 : 1;
        for (std::size_t i = 0; i + last < step.iterations.size(); ++i)
          REQUIRE(std::abs((iterations[0][i] - step.iterations[i]).ps()) <= step.message_count);
      } catch (const InputError&) {
        continue;  // no power of two
      }
    }
  CHECK(compared >= rounds(78));
}

// Alike but for what is drawn.
TEST_CASE("jobs: each job draws its own jitter from the file's seed, unless it says one") {
  Json one = job("0-1");
  one["experiment"]["workers"] = {{"jitter", {{"distribution", "lognormal"}, {"sigma", 0.3}}}};
  Json two = one;
  two["placement"] = "2-3";
  const auto times = [&](uint64_t seed) {
    return iterations_of({{"cluster", racks}, {"seed", seed}, {"jobs", {one, two}}});
  };
  const auto first = times(1);
  CHECK(first == times(1));
  CHECK(first[0] != first[1]);
  CHECK(first[0] != times(2)[0]);
  one["experiment"]["seed"] = two["experiment"]["seed"] = 7;
  CHECK(times(1) == times(2));
  CHECK(times(1)[0] == times(1)[1]);
}

TEST_CASE("jobs: what cannot be is refused with a sentence") {
  const auto with = [](const Json& jobs) { return Json{{"cluster", racks}, {"jobs", jobs}}; };
  CHECK(refusal_of(with(Json::array())) == "/jobs: no jobs");
  CHECK(refusal_of(with({job("0-1"), job("1,3")})) ==
        "/jobs/1/placement: worker 1 is taken, by an earlier job or twice");
  CHECK(refusal_of(with(Json::array({job("0,9")}))) ==
        "/jobs/0/placement: there is no worker 9: the last one is 3");
  CHECK(refusal_of(with(Json::array({job("middle")})))
            .starts_with("/jobs/0: the field \"workers\" is missing"));
  Json five = job("packed");
  five["workers"] = 5;
  CHECK(refusal_of(with(Json::array({five}))) ==
        "/jobs/0/workers: 5 workers do not fit: 4 are left");
  Json two = job("middle");
  two["workers"] = 2;
  CHECK(refusal_of(with(Json::array({two})))
            .starts_with("/jobs/0/placement: unknown placement \"middle\""));
  Json moved = job("0-1");
  moved["set"] = Json::array({"cluster.nodes=3"});
  CHECK(refusal_of(with(Json::array({moved}))) ==
        "/jobs/0/set/0: all jobs are on the cluster of this file");
  Json often = job("0-1");
  often["iterations"] = 50;
  CHECK(refusal_of(with(Json::array({often}))).find("write \"set\": [\"iterations=50\"]") !=
        std::string::npos);
  const auto with_options = [](Json one, const Json& options) {
    one["experiment"]["collective"]["options"] = options;
    return one;
  };
  CHECK(refusal_of(with(Json::array({with_options(job("0,2"), {{"routing", "split"}})}))) ==
        "/jobs/0/experiment: the routing of all jobs is that of the jobs file, which says "
        "by_destination");
  Json direct = with_options(job("0,2"), {{"direct", "at_once"}, {"send_buffer", "1 KB"}});
  direct["experiment"]["collective"]["algorithm"] = "direct";
  const Temporary mixed(Temporary::Kind::file, with(Json::array({direct, job("1,3")})).dump());
  CHECK(run_sgdsim({"jobs", mixed.name()}).log ==
        "sgdsim: jobs that share a network have the same values of the options alpha and "
        "send_buffer (parameter servers have none): say them in all jobs, or in none\n");
  const auto log_of = [&](const char* field, const Json& value) {
    Json one = job("0,2");
    one["experiment"][field] = value;
    const Temporary file(Temporary::Kind::file, with(Json::array({one})).dump());
    return run_sgdsim({"jobs", file.name()}).log;
  };
  Json packets = with(Json::array({job("0,2")}));
  packets["transport"] = "ndp";
  packets["jobs"][0]["experiment"]["transport"] = "mlt";
  CHECK(refusal_of(packets).ends_with("the transport of all jobs is that of the jobs file"));
  CHECK(log_of("collective", {{"start_up", "1 us"}, {"per_byte", "1 ns/B"}})
            .find("a + bM is only a time, without messages: at fidelity flow") !=
        std::string::npos);
  const std::string dedicated = log_of("collective", {{"parameter_server", {{"servers", 1}}}});
  CHECK(dedicated.find("names the places of its `servers`") != std::string::npos);
}

TEST_CASE("jobs: the command, and the file that ships") {
  const Ran ran = run_sgdsim({"jobs", "app/job_files/two_jobs.json", "--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  REQUIRE(json["jobs"].size() == 2);
  for (const Json& one : json["jobs"]) {
    CHECK(one["slowdown"].get<double>() > 1.05);
    CHECK(one["slowdown"].get<double>() < 2);
    CHECK(one["iteration_us"].get<double>() / one["alone_us"].get<double>() ==
          doctest::Approx(one["slowdown"].get<double>()));
  }
  // The use over time is that of all, interval by interval.
  const Ran binned =
      run_sgdsim({"jobs", "app/job_files/two_jobs.json", "--format", "json", "--bins", "25"});
  const Json over_time = Json::parse(binned.out);
  CHECK(over_time["interval_us"].get<double>() * 25 ==
        doctest::Approx(over_time["end_us"].get<double>()));
  CHECK(over_time["jobs"] == json["jobs"]);
  REQUIRE(over_time["busiest"].size() == json["busiest"].size());
  for (const Json& link : over_time["busiest"]) {
    double mean = 0;
    for (const Json& part : link["over_time"]) mean += part.get<double>() / 25;
    CHECK(mean == doctest::Approx(link["utilisation"].get<double>()).epsilon(1e-6));
  }
  CHECK(run_sgdsim({"jobs", "app/job_files/two_jobs.json", "--bins", "25"}).log ==
        "sgdsim: --bins: what links carry over time is shown with --format json only\n");
  // Each in its own rack, nothing is shared.
  const Ran packed = run_sgdsim({"jobs", "app/job_files/two_jobs.json", "--format", "json", "--set",
                                 "jobs.0.placement=packed"});
  const Json apart = Json::parse(packed.out);
  for (const Json& one : apart["jobs"]) CHECK(one["slowdown"] == 1.0);
  // Flows of others and a spine that fails make it slower, or leave it as it is.
  const Ran busy = run_sgdsim({"jobs", "app/job_files/busy_fabric.json", "--format", "json"});
  CHECK(Json::parse(busy.out)["jobs"][0]["slowdown"].get<double>() > 1);
  // A worker that is cut off, for ever.
  Json cut = {{"cluster", racks}, {"jobs", Json::array({job("0,2")})}};
  cut["traffic"] =
      Json::parse(R"({"changes": [{"at": "2 ms", "vertex": "node2", "bandwidth": 0}]})");
  const Temporary file(Temporary::Kind::file, cut.dump());
  const Ran stuck = run_sgdsim({"jobs", file.name()});
  CHECK(stuck.exit_code == 4);
  CHECK(stuck.log ==
        "sgdsim: the network is stuck: 2 messages have no way\n"
        "  from worker 0 to worker 2: still waiting\n"
        "  from worker 2 to worker 0: still waiting\n");
}

TEST_CASE("jobs: warnings of their steps are theirs") {
  Json late = job("0,2");
  late["name"] = "late";
  late["experiment"]["strategy"] = "p3";
  late["experiment"]["warm_up"] = 0;
  const Json json = {{"cluster", racks}, {"jobs", Json::array({job("1,3"), late})}};
  const Temporary file(Temporary::Kind::file, json.dump());
  const Ran ran = run_sgdsim({"jobs", file.name(), "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json jobs = Json::parse(ran.out)["jobs"];
  CHECK(jobs[0]["warnings"].empty());
  REQUIRE(jobs[1]["warnings"].size() == 1);
  const auto text = jobs[1]["warnings"][0].get<std::string>();
  CHECK(text.starts_with("`warm_up` 0 takes in the first iteration"));
  CHECK(ran.log == "sgdsim: warning: 1 of 2 jobs (first: late): " + text + "\n");
}

// Where every port serves one message at a time, servers take on flows what they take on ports.
TEST_CASE("jobs: parameter servers on wires") {
  int compared = 0;
  for (const int nodes : {2, 3, 4, 6, 8})
    for (const auto& [servers, dedicated] :
         {std::pair(1, false), std::pair(nodes, false), std::pair(1, true)})
      for (const int layers : {1, 3}) {
        Json experiment = one_layer;
        for (int layer = 1; layer < layers; ++layer)
          experiment["trace"]["layers"].push_back({{"name", "m" + std::to_string(layer)},
                                                   {"parameters", 100'000 * layer},
                                                   {"forward", "30 us"},
                                                   {"backward", "70 us"}});
        experiment["collective"] = {{"parameter_server",
                                     {{"servers", servers},
                                      {"placement", dedicated ? "dedicated" : "co_located"},
                                      {"alpha", "wire"}}}};
        experiment["cluster"] = {{"shape", "single_switch"},
                                 {"nodes", nodes},
                                 {"nic",
                                  {{"latency", "1 us"},
                                   {"per_byte", "1 ns/B"},
                                   {"reduce", layers == 1 ? "0.1 ns/B" : "0 ns/B"}}}};
        CAPTURE(experiment.dump());
        const auto step_at = [&](const char* fidelity) {
          experiment["fidelity"] = fidelity;
          const Experiment one =
              read_experiment(resolve_experiment(Value(experiment, "t", ""), {}));
          return simulate_step(one.question());
        };
        const StepResult ports = step_at("message");
        const StepResult flows = step_at("flow");
        CHECK(flows.message_count == ports.message_count);
        CHECK(flows.wire_B == doctest::Approx(ports.wire_B));
        // With one server its worker's port carries pulls beside pushes of the next layer.
        if (layers > 1 && servers == 1 && !dedicated) continue;
        // A server's port folds before it takes the next gradient; on wires the next one comes
        // meanwhile, so that all folds but the last are hidden where gradients come one by one:
        // with as many servers as workers, and from the second iteration on.
        const std::size_t count = layers == 1 ? 1 : ports.iterations.size();
        const double hidden_us =
            layers == 1 && servers > 1 ? 0.1 * 1000 / servers * (nodes - 2) : 0;
        for (std::size_t i = 0; i < count; ++i) {
          const Duration off =
              ports.iterations[i] - flows.iterations[i] - Duration::nearest_ps(hidden_us * 1e6);
          CHECK(std::abs(off.ps()) <= ports.message_count);
        }
        // At packets of 4,096 B: a packet more for each message that waits for another one.
        const StepResult packets = step_at("packet");
        CHECK(packets.total().us() >= 0.999 * flows.total().us());
        CHECK(packets.total().us() <= flows.total().us() * 1.05 + 3 * 20 * 4.096);
        ++compared;
      }
  CHECK(compared >= 25);
}

// One dedicated server for two workers, by hand: 1 MB each into its link, and twice out of it.
TEST_CASE("jobs: dedicated servers have places of their own") {
  Json one = job("0-1");
  one["servers"] = "2";
  one["experiment"]["iterations"] = 1;
  one["experiment"]["collective"] = {
      {"parameter_server", {{"servers", 1}, {"placement", "dedicated"}, {"alpha", "wire"}}}};
  // Two racks: all four messages cross the uplinks of 1 ns/B, pushes share them, and 4 us of
  // latency are paid twice.
  const Lengths lengths = iterations_of({{"cluster", racks}, {"jobs", Json::array({one})}});
  CHECK(lengths[0] == us({300 + 2000 + 2000 + 8}));
  // `run` has further nodes behind those of its workers.
  const auto step_on = [&](const Json& cluster, int servers) {
    Json experiment = one["experiment"];
    experiment["cluster"] = cluster;
    experiment["fidelity"] = "flow";
    experiment["collective"]["parameter_server"]["servers"] = servers;
    return simulate_step(
        read_experiment(resolve_experiment(Value(experiment, "t", ""), {})).question());
  };
  const auto refusal_on = [&](const Json& cluster) {
    try {
      step_on(cluster, 1);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Json cluster = racks;
  cluster["nodes"] = 2;
  CHECK(step_on(cluster, 1).iterations == lengths[0]);
  CHECK(step_on(cluster, 1).wires.busiest.front().carried_B == 2e6);
  // Two GPUs of one node, and two servers with a node each in the other rack: halves of 1 MB of
  // both pass the card of the GPUs, then one uplink to each server's port.
  cluster["nodes"] = 1;
  cluster["nodes_per_leaf"] = 1;
  cluster["gpus_per_node"] = 2;
  cluster["gpu_link"] = {{"latency", "0 us"}, {"per_byte", "0 ns/B"}};
  CHECK(step_on(cluster, 2).iterations == us({300 + 2000 + 2000 + 8}));
  cluster =
      Json::parse(R"({"shape": "fat_tree", "k": 2, "nic": {"latency": "1 us", "per_byte": "1 ns/B"},
                            "uplink": {"latency": "1 us", "per_byte": "1 ns/B"}})");
  CHECK(refusal_on(cluster) ==
        "dedicated servers need a node each behind those of the workers: t: /cluster/nodes: a fat "
        "tree of k = 2 has room for 2 nodes, got 3");
  cluster = Json::parse(
      R"({"shape": "ring", "nodes": 3, "link": {"latency": "1 us", "per_byte": "1 ns/B"}})");
  CHECK(refusal_on(cluster).starts_with("dedicated servers have nodes of their own, which this"));
  one["servers"] = 1;  // of those that are left
  CHECK(iterations_of({{"cluster", racks}, {"jobs", Json::array({one})}}) == lengths);
  one["servers"] = 3;
  CHECK(refusal_of({{"cluster", racks}, {"jobs", Json::array({one})}}) ==
        "/jobs/0/servers: 3 workers do not fit: 2 are left");
  one["servers"] = "1";
  CHECK(refusal_of({{"cluster", racks}, {"jobs", Json::array({one})}}) ==
        "/jobs/0/servers: worker 1 is taken, by an earlier job or twice");
  one["servers"] = 1;
  one["experiment"].erase("collective");
  CHECK(refusal_of({{"cluster", racks}, {"jobs", Json::array({one})}}) ==
        "/jobs/0: `servers` are places of dedicated parameter servers, which its experiment has "
        "not");
}

// Packets that may be lost for good: an answer may be complete before its first packets have all
// left, and the next one still goes.
TEST_CASE("jobs: servers over packets end, whatever is lost") {
  for (const Json& transport :
       {Json("ndp"), Json("dctcp"), Json({{"name", "mlt"}, {"loss_bound", 0.8}}),
        Json({{"name", "mlt"}, {"long_trip", "30 us"}}), Json("roce_dcqcn")})
    for (const char* sharding : {"uniform", "byteps"}) {
      CAPTURE(transport.dump());
      CAPTURE(sharding);
      Json all = {{"transport", transport}, {"jobs", Json::array()}};
      all["cluster"] = {{"shape", "leaf_spine"},
                        {"nodes", 12},
                        {"nodes_per_leaf", 6},
                        {"spines", 2},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "40 Gbps"}}},
                        {"uplink", {{"latency", "1 us"}, {"bandwidth", "40 Gbps"}}}};
      Json one = job("0-3,6-9");
      one["servers"] = Json::array({5, 11});
      one["experiment"]["channels"] = 3;
      for (int layer = 0; layer < 4; ++layer)
        one["experiment"]["trace"]["layers"].push_back({{"name", "m" + std::to_string(layer)},
                                                        {"parameters", 300'000 * (layer + 1)},
                                                        {"forward", "30 us"},
                                                        {"backward", "70 us"}});
      one["experiment"]["collective"] = {
          {"parameter_server",
           {{"servers", 2}, {"placement", "dedicated"}, {"sharding", sharding}}}};
      all["jobs"].push_back(one);
      all["jobs"].push_back(job("4,10"));
      const Temporary file(Temporary::Kind::file, all.dump());
      const Ran ran = run_sgdsim({"jobs", file.name(), "--format", "json"});
      CAPTURE(ran.log);
      REQUIRE(ran.exit_code == 0);
      const Json json = Json::parse(ran.out);
      CHECK(json["fidelity"] == "packet");
      // 8 workers push 13 MB to two servers: 52 MB into each link of 40 Gbps, while as much of what
      // came before goes out; less what may be lost, and no more than twenty times that.
      const double link_us = 8 * 13e6 / 2 * 0.0002;
      const double iteration_us = json["jobs"][0]["iteration_us"].get<double>();
      CHECK(iteration_us > link_us * (transport.is_object() ? 0.15 : 1));
      CHECK(iteration_us < 20 * link_us);
    }
}
