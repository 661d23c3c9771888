// Parameter servers whose workers push without waiting for what they pull: by drawings, beside
// packets, and by default where a cluster says what network it has.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/run_program.h"
#include "tests/server_cases.h"
#include "tests/step_cases.h"

namespace sgdsim::servers_in_flight {
namespace {

double iteration_us(std::vector<std::string> more) {
  more.insert(more.begin(), {"run", "resnet50_v100", "-c", "25gbe_16", "--format", "json"});
  const Ran ran = call_sgdsim(more);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out)["metrics"]["iteration_us"]["mean"];
}

double with_servers(const std::string& servers, std::vector<std::string> more) {
  more.insert(more.end(), {"--set", R"(collective={"parameter_server":)" + servers + "}"});
  return iteration_us(std::move(more));
}

constexpr const char* four = R"({"servers": 4, "placement": "dedicated"})";

}  // namespace

// Four workers, 5 us of flight each way, two gradients of 1000 B at 1 ns/B, both ready at once, no
// folds. One server: pushes fill its port for 4 us and 4 us, answers to the first go beside the
// second, those to the second last: 12 us. Two: half of each, 6 us. Four on the workers: a port
// sends three quarters to others, and answers them, 1.5 us and 1.5 us. Two flights are behind all.
TEST_CASE("servers in flight: the busiest port decides, each way by itself") {
  StepCase two;
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.gradient = Bytes(1000);
    two.trace.layers.push_back(layer);
  }
  two.cluster.network = Network::uniform(4, {Duration::us(5), PerByte::ps(1000), {}});
  two.channels = 2;
  struct Row {
    const char* servers;
    int64_t us;
  };
  for (const Row& row :
       {Row{R"({"servers": 1, "placement": "dedicated", "alpha": "wire"})", 22},
        Row{R"({"servers": 2, "placement": "dedicated", "alpha": "wire"})", 16},
        Row{R"({"servers": 4, "placement": "co_located", "alpha": "wire"})", 13}}) {
    CAPTURE(row.servers);
    two.cost = MessageCost::of_servers(read_servers(row.servers, two.cluster.network));
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
      CHECK(two.play("wfbp", fidelity).iterations.front().us() == static_cast<double>(row.us));
  }
}

// The closed form has a pull follow its own push. On wires messages in flight share a port, so that
// the last pushes, and the pulls behind them, end somewhat later.
TEST_CASE("servers in flight: steps are those of packets within 7 %") {
  for (const char* servers :
       {R"({"servers": 1, "placement": "dedicated"})",
        R"({"servers": 2, "placement": "co_located"})",
        R"({"servers": 8, "placement": "co_located"})",
        R"({"servers": 4, "placement": "dedicated", "sharding": "byteps"})"}) {
    CAPTURE(servers);
    // NCCL's network, where a port serves nobody longer than a packet: queues of TCP take two
    // servers on eight workers a third longer.
    const auto at = [&](const char* fidelity) {
      return with_servers(
          servers, {"--set", "cluster.nodes=8", "--set", "strategy=wfbp", "--fidelity", fidelity});
    };
    const double packets = at("packet");
    CHECK(at("closed_form") == doctest::Approx(packets).epsilon(0.07));
    CHECK(at("message") == doctest::Approx(packets).epsilon(0.07));
  }
}

TEST_CASE("servers in flight: the default where the cluster says what network it has") {
  const auto of = [](const char* network, std::vector<std::string> more) {
    more.insert(more.end(), {"--set", "cluster.nodes=4", "--fidelity", "flow", "--set",
                             "cluster.network=" + std::string(network)});
    return with_servers(four, std::move(more));
  };
  for (const char* network : {"tcp", "mpi", "gloo", "nccl"}) {
    CAPTURE(network);
    CHECK(of(network, {"--set", "strategy=wfbp"}) ==
          of(network, {"--set", "strategy=wfbp", "--set", "channels=1024"}));
    CHECK(of(network, {"--set", "strategy=wfbp"}) <
          0.9 * of(network, {"--set", "strategy=wfbp", "--set", "channels=1"}));
  }
  CHECK(of("paper", {"--set", "strategy=wfbp"}) ==
        of("paper", {"--set", "strategy=wfbp", "--set", "channels=1"}));
  // Who decides by itself what is in flight, and who sends one message, is not concerned.
  for (const char* alone : {"strategy=p3", "synchronization=pipe_sgd"})
    CHECK(of("tcp", {"--set", alone}) == of("tcp", {"--set", alone, "--set", "channels=1"}));
}

// Twelve workers, 1 MB at 8 ns/B over one server, 50 ms of computing: 12 pushes and the first pull,
// behind which that worker computes and pushes first: (P + 1) 8 ms, however many may be in flight.
TEST_CASE("servers in flight: a lone message goes as the one before has spread the workers") {
  const Temporary experiment(Temporary::Kind::file, R"({"trace": {"layers": [{"name": "a",
      "parameters": 250000, "forward": "0 us", "backward": "50 ms"}]},
      "cluster": {"shape": "single_switch", "nodes": 12, "network": "tcp",
                  "nic": {"latency": "0 us", "bandwidth": "1 Gbps"}}, "strategy": "wfbp",
      "collective": {"parameter_server": {"servers": 1, "placement": "dedicated"}},
      "iterations": 10, "warm_up": 10})");
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(fidelity);
    const Ran ran =
        call_sgdsim({"run", experiment.name(), "--fidelity", fidelity, "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    const Json metrics = Json::parse(ran.out)["metrics"];
    CHECK(metrics["iteration_us"]["mean"].get<double>() ==
          doctest::Approx(50'000 + 13 * 8000).epsilon(0.001));
    const bool is_formula = std::string_view(fidelity) == "closed_form";
    CHECK(metrics.contains("messages") == !is_formula);
    CHECK(metrics.contains("wire_B") == !is_formula);
    if (is_formula) continue;
    CHECK(metrics["messages"] == 24);
    CHECK(metrics["wire_B"] == 24e6);
  }
}
// Every message of a step is counted where they are simulated.
TEST_CASE("servers in flight: messages and bytes are counted") {
  for (const char* fidelity : {"message", "flow"}) {
    CAPTURE(fidelity);
    const Ran ran =
        call_sgdsim({"run", "resnet50_v100", "-c", "25gbe_16", "--format", "json", "--fidelity",
                     fidelity, "--set", "strategy=naive", "--set",
                     R"(collective={"parameter_server":{"servers":2,"placement":"co_located"}})"});
    REQUIRE(ran.exit_code == 0);
    const Json result = Json::parse(ran.out);
    double gradients_B = 0;
    for (const Json& message : result["messages"]) gradients_B += message["size_B"].get<double>();
    const auto count = static_cast<double>(result["messages"].size());
    CHECK(result["metrics"]["messages"] == 2 * 2 * 15 * count);  // parts, there and back, of others
    CHECK(result["metrics"]["wire_B"].get<double>() == doctest::Approx(2 * 15 * gradients_B));
  }
}

}  // namespace sgdsim::servers_in_flight
