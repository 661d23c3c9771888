// The field `network` of a cluster: what it sets, what wins over it, and what it says of real runs.
#include <cmath>
#include <filesystem>
#include <map>

#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "models/step/step.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "study/step/experiment.h"
#include "study/validate/validation.h"
#include "tests/packet_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;
using namespace sgdsim::packet_cases;

namespace {

const std::filesystem::path root = SGDSIM_SOURCE_DIR;

Json star_of(const std::string& network) {
  Json json = {{"shape", "single_switch"},
               {"nodes", 4},
               {"acknowledgements", 0},
               {"nic", {{"latency", "0.5 ms"}, {"per_byte", "80 ns/B"}, {"reduce", "0.1 ns/B"}}}};
  if (!network.empty()) json["network"] = network;
  return json;
}

Duration time_of(const Json& cluster, const std::string& algorithm, Operation operation,
                 const std::vector<std::pair<std::string, std::string>>& options = {},
                 Fidelity fidelity = Fidelity::message) {
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation;
  question.messages = {Bytes(1'000'000)};
  question.fidelity = fidelity;
  for (const auto& [key, value] : options) set_option(question.options, key, value, "test");
  return simulate_collective(question, cluster_of(cluster), "test").time;
}

// Measured collectives over TCP, with all taken out but `network` that it sets.
std::vector<CaseFile> cases_with_network(const std::string& network) {
  std::vector<CaseFile> cases;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models/collective/data")) {
    if (!entry.path().filename().string().starts_with("tcp_star_")) continue;
    Json json = Document::read(entry.path().string()).root().json();
    json.erase("options");
    json["cluster"]["network"] = network;
    json["cluster"].erase("acknowledgements");
    for (Json& row : json["measured"]) row.erase("options");
    cases.push_back(read_case(Value(json, entry.path().string(), "")));
  }
  return cases;
}

}  // namespace

TEST_CASE("network: each sets what it is, and options win") {
  struct Row {
    const char* algorithm;
    Operation operation;
    std::vector<std::pair<std::string, std::string>> same;  // without a network
  };
  const std::vector<Row> rows = {
      {"ring", Operation::allreduce, {{"alpha", "wire"}}},
      {"direct", Operation::allreduce, {{"alpha", "wire"}, {"direct", "at_once"}}},
      {"lp", Operation::allreduce, {{"alpha", "wire"}, {"lp_allreduce", "sequential"}}},
      {"mst", Operation::reduce, {{"alpha", "wire"}, {"mst_reduce", "eager"}}},
      {"be", Operation::broadcast, {{"alpha", "wire"}, {"be_barrier", "off"}}}};
  for (const Row& row : rows) {
    CAPTURE(row.algorithm);
    const Duration expected = time_of(star_of(""), row.algorithm, row.operation, row.same);
    for (const char* network : {"tcp", "mpi", "gloo"})
      CHECK(time_of(star_of(network), row.algorithm, row.operation) == expected);
    CHECK(time_of(star_of("paper"), row.algorithm, row.operation) ==
          time_of(star_of(""), row.algorithm, row.operation));
    CHECK(time_of(star_of("nccl"), row.algorithm, row.operation) ==
          time_of(star_of(""), row.algorithm, row.operation, {{"alpha", "wire"}}));
    // Whatever is given wins.
    auto other = row.same;
    other.front().second = "port";
    CHECK(time_of(star_of("tcp"), row.algorithm, row.operation, other) ==
          time_of(star_of(""), row.algorithm, row.operation, other));
  }
}

TEST_CASE("network: an unknown one is refused with those that there are") {
  try {
    cluster_of(star_of("tpc"));
    FAIL("expected an error");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("gloo") != std::string::npos);
  }
}

// Every algorithm answers at every fidelity that it has without a network.
TEST_CASE("network: it refuses nothing that is answered without it") {
  Json uneven = star_of("");
  uneven["ports"] = Json::array({{{"node", 1}, {"nic", {{"bandwidth", "25 Mbps"}}}}});
  for (const Json& plain : {star_of(""), uneven})
    for (const Algorithm& algorithm : algorithms())
      for (const Operation operation :
           {Operation::allreduce, Operation::broadcast, Operation::reduce, Operation::alltoall})
        for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message, Fidelity::flow}) {
          if (!algorithm.offers(operation)) continue;
          const std::string name(algorithm.name);
          INFO(name << " " << name_of(operation) << " " << name_of(fidelity));
          try {
            time_of(plain, name, operation, {}, fidelity);
          } catch (const InputError&) {
            continue;
          }
          for (const char* network : {"tcp", "mpi", "gloo", "nccl", "paper"}) {
            Json with = plain;
            with["network"] = network;
            CHECK_NOTHROW(time_of(with, name, operation, {}, fidelity));
          }
        }
}

// A ring over nodes with links of their own inside: the closed form is what every message says.
TEST_CASE("network: rings over uneven links, closed form and messages alike") {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const auto one_of = [&](const std::vector<double>& all) {
      return all[static_cast<std::size_t>(random.uniform(0, static_cast<double>(all.size())))];
    };
    const auto link = [&](double latency_us, double ns_per_B, double folds_ns) {
      return Json{{"latency", std::to_string(latency_us) + " us"},
                  {"per_byte", std::to_string(ns_per_B) + " ns/B"},
                  {"reduce", std::to_string(folds_ns) + " ns/B"}};
    };
    const int gpus = static_cast<int>(one_of({2, 4, 8}));
    const int nodes = static_cast<int>(one_of({2, 3, 4, 8}));
    const double folds_ns = one_of({0, 0.02, 2});
    const Json cluster = {
        {"shape", "nvlink_box"},
        {"network", "nccl"},
        {"nodes", nodes},
        {"gpus_per_node", gpus},
        {"gpu_link", link(one_of({0, 0.5, 2.5, 25}), one_of({0.01, 0.1, 1}), folds_ns)},
        {"nic", link(one_of({0.5, 10, 250}), one_of({0.05, 0.1, 1}), folds_ns)}};
    CAPTURE(cluster.dump());
    CollectiveQuestion question;
    question.algorithm = "ring";
    question.operation = std::vector{Operation::allreduce, Operation::reduce_scatter,
                                     Operation::allgather}[static_cast<std::size_t>(i % 3)];
    question.messages = {Bytes(gpus * nodes * static_cast<int64_t>(one_of({1, 1e3, 1e5, 1e6})))};
    const auto at = [&](Fidelity fidelity) {
      question.fidelity = fidelity;
      return simulate_collective(question, cluster_of(cluster), "test").time;
    };
    CHECK(at(Fidelity::closed_form) == at(Fidelity::message));
  }
}

// The bars for defaults: no row has an option. Rows of `bcast_mst_buf` are another program (all
// sends of a rank handed over at once), which the algorithm mst with ports in turn is not.
TEST_CASE("network: defaults alone are the physics of real TCP") {
  std::vector<RowResult> even;
  std::vector<RowResult> uneven;
  std::vector<RowResult> direct;
  const std::vector<CaseFile> files = cases_with_network("tcp");  // to which results point
  for (const SuiteResult& suite : validate(files))
    for (const CaseResult& one : suite.cases)
      for (const RowResult& row : one.judged.rows)
        if (row.row->use == RowUse::held && row.row->label != "bcast_mst_buf") {
          const bool is_even = one.file->name.find("slow") == std::string::npos;
          (is_even ? even : uneven).push_back(row);
          if (is_even && row.row->label == "ar_direct") direct.push_back(row);
        }
  REQUIRE(even.size() > 500);
  REQUIRE(uneven.size() == 24);
  CHECK(summary_of(even).median <= 0.5);
  CHECK(summary_of(even).p90 <= 3);
  CHECK(summary_of(even).max <= 15);
  REQUIRE(direct.size() == 25);
  CHECK(summary_of(direct).median <= 3);
  CHECK(summary_of(direct).p90 <= 12);
  CHECK(summary_of(uneven).median <= 0.8);
  CHECK(summary_of(uneven).p90 <= 8);
}

// Of all algorithms that were measured at a point, the one that defaults choose: how much slower it
// was than the fastest.
TEST_CASE("network: the fastest all-reduce and broadcast by defaults are those of real runs") {
  struct Best {
    double predicted_ps = 1e30;
    double chosen_ps = 0;
    double best_ps = 1e30;
  };
  std::map<std::string, Best> points;
  const std::vector<CaseFile> files = cases_with_network("tcp");  // to which results point
  for (const SuiteResult& suite : validate(files))
    for (const CaseResult& one : suite.cases)
      for (const RowResult& row : one.judged.rows) {
        if (row.row->use != RowUse::held || row.row->label == "bcast_mst_buf") continue;
        const auto operation = row.row->inputs.operation;
        if (operation != "allreduce" && operation != "broadcast") continue;
        if (row.row->label == "pingpong") continue;
        Best& best = points[one.file->name + operation + std::to_string(row.row->size.count())];
        const auto predicted_ps = static_cast<double>(row.predicted.ps());
        const auto measured_ps = static_cast<double>(row.row->measured.ps());
        best.best_ps = std::min(best.best_ps, measured_ps);
        if (predicted_ps >= best.predicted_ps) continue;
        best.predicted_ps = predicted_ps;
        best.chosen_ps = measured_ps;
      }
  double regret = 0;
  for (const auto& [name, best] : points) regret += best.chosen_ps / best.best_ps - 1;
  REQUIRE(points.size() > 30);
  CHECK(regret / static_cast<double>(points.size()) <= 0.03);
}

// 1 ms each way and 1,000 B at 80 ns: two rounds of a ring of two, whose chunks have 500 B; packets
// are stored at the switch once more.
TEST_CASE("collective: --alpha counts at fidelity packet") {
  const Ran ran =
      call_sgdsim({"collective", "-a", "ring", "-p", "2", "-n", "1000B", "--alpha", "1 ms",
                   "--beta", "80 ns/B", "--fidelity", "packet", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["time_us"].get<double>() == doctest::Approx(2 * (1000 + 40 + 40)));
}

// Tests run in any folder.
std::string from_root(const std::string& file) {
  return std::string(SGDSIM_SOURCE_DIR) + "/" + file;
}

// Two all-reduces of DDP are in flight over gloo, unless `channels` says something else.
TEST_CASE("network: results name it, and gloo has two threads") {
  const auto of = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"run",      from_root("app/experiments/googlenet_k80.json"),
                                      "--set",    "strategy=ddp",
                                      "--set",    "strategy.bucket=1MB",
                                      "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = call_sgdsim(words);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["total_ps"];
  };
  CHECK(of({"--set", "cluster.network=gloo"}) ==
        of({"--set", "cluster.network=gloo", "--set", "channels=2"}));
  CHECK(of({"--set", "cluster.network=gloo", "--set", "channels=1"}) ==
        of({"--set", "cluster.network=tcp"}));
  const Ran ran = call_sgdsim(
      {"collective", "-n", "1MB", "-c", "10gbe_16", "--set", "network=tcp", "--format", "json"});
  CHECK(Json::parse(ran.out)["network"] == "tcp");
}

// Half of 10 us and more at each port: said once, for people, unless the file or an option says it.
TEST_CASE("network: a cluster with long start-ups that does not say it is told what is assumed") {
  const auto log_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"collective", "-n",    "1MB",         "-c",
                                      "10gbe_16",   "--set", "network=null"};
    words.insert(words.end(), more.begin(), more.end());
    return call_sgdsim(words).log;
  };
  const std::string log = log_of({});
  CHECK(log.find("network=paper") != std::string::npos);
  CHECK(log.find("--set network=tcp") != std::string::npos);
  CHECK(log_of({"--sweep", "-a", "ring,mst"}) == log);
  CHECK(log_of({"--set", "network=tcp"}).empty());
  CHECK(log_of({"--set", "network=paper"}).empty());
  CHECK(log_of({"--option", "alpha=port"}).empty());
  CHECK(log_of({"--set", "nic.latency=1us"}).empty());
  CHECK(log_of({"--format", "json"}).empty());
  const Ran ran = call_sgdsim({"run", from_root("app/experiments/googlenet_k80.json"), "--set",
                               "cluster=" + from_root("topologies/data/10gbe_16.json"), "--set",
                               "cluster.network=null"});
  CHECK(ran.log.find("--set cluster.network=tcp") != std::string::npos);
}

// Shared ports know one efficiency, so that what the network sets leaves these to turns. In each of
// two rounds four workers send 8 Mbit: at half of 2 Gbps, behind 5 us at both ports.
TEST_CASE("network: ports whose efficiency depends on senders are not shared by default") {
  const std::string cluster =
      R"({"shape": "single_switch", "nodes": 4, "network": "tcp", "acknowledgements": 0, "nic": {"latency": "5 us",
          "bandwidth": "10 Gbps", "efficiency": [{"senders": 1, "efficiency": 1},
                                                 {"senders": 4, "efficiency": 0.5}]},
          "ports": [{"node": 0, "bandwidth": "2 Gbps"}]})";
  const Ran ran = run_sgdsim(
      {"collective", "-a", "recursive_doubling", "-n", "1 MB", "-c", cluster, "--format", "json"});
  INFO(ran.log);
  CHECK(Json::parse(ran.out)["time_us"].get<double>() == doctest::Approx(2 * (8000 + 10)));
  for (const char* algorithm : {"recursive_doubling", "halving_doubling", "auto"})
    CHECK(run_sgdsim({"run", R"({"trace": "resnet50_v100", "strategy": "naive", "cluster": )" +
                                 cluster + R"(, "collective": ")" + algorithm + R"("})"})
              .exit_code == 0);
}

// As in shared_ports_test: recursive doubling where port 1 is four times slower takes 11 T + L of
// T = 1 ms and L = 10 us where pairs share ports, and 8 T + 2 L in turns. A whole step has its
// compute before it, 0.15 ms, whether or not several messages may be under way. (A buffer of a byte
// takes some nanoseconds off.)
TEST_CASE("network: a step's pairs share ports that differ as a collective's do") {
  struct Row {
    std::string network;
    int channels;
    int64_t exchange_us;
  };
  for (const Row& row :
       {Row{"tcp", 1, 11'010}, {"tcp", 2, 11'010}, {"mpi", 1, 11'010}, {"paper", 1, 8020}}) {
    INFO(row.network << " " << row.channels);
    Json json = {
        {"trace",
         {{"schema", "sgdsim/trace/1"},
          {"name", "one layer"},
          {"layers", Json::array({{{"name", "l"},
                                   {"parameters", 250'000},
                                   {"forward", "50 us"},
                                   {"backward", "100 us"}}})}}},
        {"cluster", star_of(row.network)},
        {"collective", {{"algorithm", "recursive_doubling"}, {"options", {{"alpha", "wire"}}}}},
        {"channels", row.channels},
        {"iterations", 1},
        {"warm_up", 0}};
    json["cluster"]["nic"] = {{"latency", "5 us"}, {"bandwidth", "8 Gbps"}};
    json["cluster"]["window"] = "1 B";
    json["cluster"]["ports"] = Json::array({{{"node", 1}, {"bandwidth", "2 Gbps"}}});
    const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
    const Duration step = simulate_step(experiment.question()).iterations.front();
    CHECK(std::abs((step - Duration::us(row.exchange_us + 150)).ps()) < 100'000);
  }
}
