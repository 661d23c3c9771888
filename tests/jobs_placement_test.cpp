// What the places of a job say about its nodes, and what NCCL's model becomes on wires.
#include <doctest/doctest.h>
#include <filesystem>
#include <map>

#include "sim/core/error.h"
#include "tests/jobs_cases.h"
#include "tests/texts.h"

using namespace sgdsim;

namespace {

// Four nodes of four GPUs, NVLink inside, one network card for each GPU.
const Json boxes = {{"shape", "nvlink_box"},
                    {"nodes", 4},
                    {"gpus_per_node", 4},
                    {"nics_per_node", 4},
                    {"gpu_link", {{"latency", "1 us"}, {"bandwidth", "100 GBps"}}},
                    {"nic", {{"latency", "2 us"}, {"bandwidth", "10 Gbps"}}}};

Json job_on(const Json& placement, const Json& options) {
  Json one = job(placement);
  one["experiment"]["collective"] = {{"algorithm", "hierarchical"}, {"options", options}};
  return {{"cluster", boxes}, {"jobs", Json::array({one})}};
}

JobsFile read(const Json& json) {
  const Temporary file(Temporary::Kind::file, json.dump());
  return read_jobs(file.name(), {});
}

}  // namespace

TEST_CASE("jobs: the group of a hierarchical collective is what the job has in a node") {
  struct Row {
    const char* reason;
    Json places;
    int in_a_node;
    bool has_note;
  };
  for (const Row& row :
       {Row{"two whole nodes", "0-7", 4, false},
        Row{"two in each node", "0-1,4-5,8-9,12-13", 2, false},
        Row{"others of each node", "2-3,6-7", 2, false},
        Row{"one in each node", "0,4,8,12", 1, false}, Row{"one node", "1-3", 3, false},
        Row{"more in one than in the other", "0-2,4", 1, true},
        Row{"a node that comes twice", {0, 1, 4, 5, 2, 3, 6, 7}, 1, true}}) {
    CAPTURE(row.reason);
    const JobsFile jobs = read(job_on(row.places, Json::object()));
    CHECK(jobs.jobs[0].experiment.cluster.workers_per_node == row.in_a_node);
    REQUIRE(jobs.jobs[0].notes.size() == (row.has_note ? 1 : 0));
    if (row.has_note) CHECK(jobs.jobs[0].notes[0].starts_with("hierarchical takes each GPU"));
    const Json given = {{"group", row.in_a_node}};
    CHECK(iterations_of(job_on(row.places, Json::object())) ==
          iterations_of(job_on(row.places, given)));
    CHECK(read(job_on(row.places, given)).jobs[0].notes.empty());
    // A single collective says so, too.
    Json one = job_on(row.places, given);
    Json& work = one["jobs"][0];
    work.erase("experiment");
    work["collective"] = {{"algorithm", "hierarchical"}, {"bytes", "1 MB"}};
    CHECK(read(one).jobs[0].notes.size() == (row.has_note ? 1 : 0));
  }
  // Groups that are the nodes' send only their own share over the network cards.
  const Json alone = {{"group", 1}};
  const char* pairs = "0-1,4-5,8-9,12-13";
  CHECK(iterations_of(job_on(pairs, Json::object()))[0][0] <
        iterations_of(job_on(pairs, alone))[0][0]);
}

// Blocks and plans go by what the workers of a node share, and by ports of their own.
TEST_CASE("jobs: nodes without a job change nothing of a job that is alone") {
  Json shared = boxes;
  shared.update({{"nics_per_node", 1}, {"nodes", 2}});
  Json uneven = racks;
  uneven.update({{"shape", "single_switch"}, {"network", "paper"}});
  for (const char* field : {"nodes_per_leaf", "spines", "uplink"}) uneven.erase(field);
  uneven["ports"] = Json::array({{{"node", 1}, {"per_byte", "4 ns/B"}}});
  for (const Json& whole : {shared, uneven})
    for (const std::string algorithm : {"lp", "double_binary_tree", "ring", "auto"})
      for (const char* strategy : {"wfbp", "optimal"}) {
        if (algorithm == "lp" && strategy == std::string("optimal")) continue;  // has no formula
        INFO(algorithm << " " << strategy);
        const int nodes = whole["nodes"];
        const int workers = nodes * whole.value("gpus_per_node", 1);
        Json one = job("0-" + std::to_string(workers - 1));
        one["experiment"].update(
            {{"collective", {{"algorithm", algorithm}}}, {"strategy", strategy}});
        Json& layers = one["experiment"]["trace"]["layers"];
        layers[0]["parameters"] = 2'000'000;
        for (int layer = 0; layer < 3; ++layer) layers.push_back(layers[0]);
        Json json = {{"cluster", whole}, {"jobs", Json::array({one})}};
        const Lengths alone = iterations_of(json);
        json["cluster"]["nodes"] = nodes + 1;
        CHECK(iterations_of(json) == alone);
        if (whole.contains("ports")) continue;
        const int first = workers / nodes;  // of all nodes but one
        json["jobs"][0]["placement"] =
            std::to_string(first) + "-" + std::to_string(first + workers - 1);
        CHECK(iterations_of(json) == alone);
      }
}

TEST_CASE("jobs: placements that go GPU by GPU say so") {
  for (const auto& [placement, workers, notes] :
       {std::tuple("spread", 8, 1), std::tuple("random", 6, 1), std::tuple("spread", 16, 0),
        std::tuple("packed", 6, 0)}) {
    const auto& placement_said = placement;
    CAPTURE(placement_said);
    const auto& workers_said = workers;
    CAPTURE(workers_said);
    Json json = {{"cluster", boxes}, {"jobs", Json::array({job(placement)})}};
    json["jobs"][0]["workers"] = workers;
    const JobsFile jobs = read(json);
    REQUIRE(static_cast<int>(jobs.jobs[0].notes.size()) == notes);
    if (notes == 0) continue;
    CHECK(jobs.jobs[0].notes[0].starts_with(std::string("placement ") + placement +
                                            " goes GPU by GPU, not node by node: "));
    const Temporary file(Temporary::Kind::file, json.dump());
    const Ran ran = run_sgdsim({"jobs", file.name(), "--format", "json"});
    CHECK(Json::parse(ran.out)["jobs"][0]["warnings"].dump().find("GPU by GPU") !=
          std::string::npos);
  }
}

// Six nodes of two GPUs, two nodes at each leaf; worker 0 has a job already.
TEST_CASE("jobs: words for whole nodes, whole leaves, across leaves and by rail") {
  Json cluster = racks;
  cluster.update({{"nodes", 6}, {"gpus_per_node", 2}, {"gpu_link", cluster["nic"]}});
  struct Row {
    const char* word;
    int workers;
    std::vector<int> places;  // or none, and why
    const char* refusal;
  };
  for (const Row& row :
       std::vector<Row>{{"packed", 4, {1, 2, 3, 4}, ""},
                        {"node", 4, {2, 3, 4, 5}, ""},
                        {"node", 3, {2, 3, 4}, ""},
                        {"leaf", 4, {4, 5, 6, 7}, ""},
                        {"leaf", 6, {4, 5, 6, 7, 8, 9}, ""},
                        {"across", 4, {2, 3, 4, 5}, ""},
                        {"across", 6, {2, 3, 4, 5, 8, 9}, ""},
                        {"rail", 4, {2, 4, 6, 8}, ""},
                        {"rail", 7, {1, 2, 3, 4, 6, 8, 10}, ""},
                        {"node",
                         11,
                         {},
                         "node takes whole nodes: 11 workers need 6 of 2 workers that no job has "
                         "anything of, and 5 are left; say packed, which takes single workers"},
                        {"leaf",
                         9,
                         {},
                         "leaf takes whole leaf switches: 9 workers need 3 of 4 workers that no "
                         "job has anything of, and 2 are left; say node, or packed, which takes "
                         "single workers"},
                        {"across", 11, {}, "across takes whole nodes: 11 workers need 6"},
                        {"rack", 2, {}, "unknown placement \"rack\""}}) {
    CAPTURE(row.word);
    const int workers = row.workers;
    CAPTURE(workers);
    Json second = job(row.word);
    second["workers"] = row.workers;
    const Json file = {{"cluster", cluster}, {"jobs", {job("0"), second}}};
    if (row.places.empty())
      CHECK(refusal_of([&] {
              read(file);
            }).find(std::string("/jobs/1/placement: ") + row.refusal) != std::string::npos);
    else
      CHECK(read(file).jobs[1].places == row.places);
  }
  for (const auto& [word, refusal] :
       {std::pair("leaf", "leaf needs leaf switches"), std::pair("across", "across needs leaf"),
        std::pair("rail", "nodes have one here; say packed")}) {
    const char* const expected = refusal;
    Json one = job(word);
    one["workers"] = 2;
    const Json file = {{"cluster", "10gbe_16"}, {"jobs", {one}}};
    CHECK(refusal_of([&] { read(file); }).find(expected) != std::string::npos);
  }
}

// The collective that nobody asked for is played at every fidelity.
TEST_CASE("nccl on wires: every cluster that ships runs at four fidelities by default") {
  int played_for_nccl = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SGDSIM_SOURCE_DIR) + "/topologies/data")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().string());
    Json experiment = one_layer;
    experiment.erase("collective");
    experiment["cluster"] = entry.path().string();
    experiment["iterations"] = 1;
    for (const char* fidelity : {"closed_form", "message", "flow", "packet"}) {
      CAPTURE(fidelity);
      experiment["fidelity"] = fidelity;
      const Temporary file(Temporary::Kind::file, experiment.dump());
      const Ran ran = call_sgdsim({"run", file.name(), "--format", "json"});
      CAPTURE(ran.log);
      REQUIRE(ran.exit_code == 0);
      const Json result = Json::parse(ran.out);
      CHECK(result["path"] != "none");
      const bool on_wires = std::string(fidelity) == "flow" || std::string(fidelity) == "packet";
      const bool by_nccl = result["collective"] == "nccl";
      const bool is_named =
          result["warnings"].dump().find("NCCL's model is a formula") != std::string::npos;
      CHECK(is_named == (on_wires && by_nccl));
      if (is_named) ++played_for_nccl;
    }
  }
  CHECK(played_for_nccl == 2 * 9);  // nodes of several GPUs and cards, and GB200s in one node
}

// Its rings are our ring, its trees our double binary tree, chosen message by message, where nodes
// have a card each; where they have several, an exchange that leaves nodes by all of them stands
// for both, as its channels do.
TEST_CASE("nccl on wires: what it chooses is what is played") {
  const auto result_with = [&](const Json& cluster, const Json& collective, int parameters) {
    Json one = one_layer;
    one["cluster"] = cluster;
    one["fidelity"] = "flow";
    one["collective"] = collective;
    one["trace"]["layers"][0]["parameters"] = parameters;
    const Temporary file(Temporary::Kind::file, one.dump());
    const Ran ran = call_sgdsim({"run", file.name(), "--format", "json"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out);
  };
  Json with_a_card = boxes;
  with_a_card["nics_per_node"] = 1;
  Json with_cards = boxes;
  with_cards["nics_per_node"] = boxes["gpus_per_node"];
  std::map<std::string, int> seen;
  for (const Json& cluster : {with_a_card, with_cards})
    for (const int size : {25, 2500, 75'000, 750'000, 25'000'000}) {  // parameters
      CAPTURE(cluster.dump());
      CAPTURE(size);
      const Json result = result_with(cluster, {{"algorithm", "nccl"}}, size);
      const std::string warnings = result["warnings"].dump();
      std::string stand_in;
      for (const char* one : {"ring", "double_binary_tree", "hierarchical"})
        if (warnings.find(std::string(" as ") + one + " (1 exchange)") != std::string::npos)
          stand_in = one;
      REQUIRE(!stand_in.empty());
      CHECK((stand_in == "hierarchical") == (cluster == with_cards));
      ++seen[stand_in];
      Json own = {{"algorithm", stand_in}};
      if (stand_in == "hierarchical" && warnings.find("tree as ") != std::string::npos) {
        own["options"] = {{"outer", "double_binary_tree"}};
        ++seen["trees across"];
      }
      // Besides, its launch is paid, and latencies that start-ups do not reach.
      const auto takes_ps = [&](const Json& collective) {
        return result_with(cluster, collective, size)["iteration_ps"].get<int64_t>();
      };
      const auto launched_ps = [&](const char* launch) {
        return takes_ps({{"algorithm", "nccl"}, {"launch", launch}});
      };
      const int64_t more_ps = launched_ps("0 us") - takes_ps(own);
      CHECK(more_ps >= 0);
      if (more_ps > 0) CHECK(launched_ps("40 us") - launched_ps("0 us") == 40'000'000);
    }
  CHECK(seen["ring"] > 0);
  CHECK(seen["double_binary_tree"] > 0);
  CHECK(seen["trees across"] > 0);
  CHECK(seen["hierarchical"] > seen["trees across"]);
}
