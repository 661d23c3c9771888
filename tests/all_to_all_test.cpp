// All-to-all on shared wires: all messages at once, unless rounds are asked for.
#include <doctest/doctest.h>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

Cluster cluster_of(const char* text) {
  const Json json = Json::parse(text);
  return read_cluster(Value(json, "test", "")).cluster;
}

Duration time_of(const Cluster& cluster, Fidelity fidelity, const char* form, int64_t size_B) {
  CollectiveQuestion question;
  question.algorithm = "direct";
  question.operation = Operation::alltoall;
  question.messages = {Bytes(size_B)};
  question.fidelity = fidelity;
  if (*form != '\0') set_option(question.options, "direct", form, "test");
  return simulate_collective(question, cluster, "").time;
}

// 64 GPUs whose ports send 50 GB/s; no fabric carries less than all of them send.
constexpr const char* fabrics[] = {
    R"({"shape": "single_switch", "nodes": 64,
        "nic": {"latency": "1 us", "bandwidth": "400 Gbps"}})",
    R"({"shape": "leaf_spine", "nodes": 64, "nodes_per_leaf": 8, "spines": 8,
        "nic": {"latency": "1 us", "bandwidth": "400 Gbps"},
        "uplink": {"latency": "0.5 us", "bandwidth": "400 Gbps"}})",
    R"({"shape": "leaf_spine", "nodes": 64, "nodes_per_leaf": 16, "spines": 4,
        "nic": {"latency": "1 us", "bandwidth": "400 Gbps"},
        "uplink": {"latency": "0.5 us", "bandwidth": "1600 Gbps"}})"};

constexpr int64_t size_B = 64 << 20;
constexpr double port_s = 63.0 / 64 * static_cast<double>(size_B) / 50e9;

}  // namespace

// Every port sends 63 of 64 parts, and a latency or two come on top.
TEST_CASE("all-to-all: fabrics that block nothing take what their ports take") {
  for (const char* fabric : fabrics) {
    CAPTURE(fabric);
    const Cluster cluster = cluster_of(fabric);
    const double took_s = time_of(cluster, Fidelity::flow, "", size_B).s();
    CHECK(took_s >= port_s);
    CHECK(took_s <= port_s * 1.01);
    CHECK(time_of(cluster, Fidelity::flow, "at_once", size_B).s() == took_s);
    CHECK(time_of(cluster, Fidelity::flow, "rounds", size_B).s() > took_s);
  }
}

// Without shared wires it goes in rounds, as its formula says, to the picosecond.
TEST_CASE("all-to-all: in rounds at the fidelities without wires") {
  const Cluster cluster = cluster_of(fabrics[0]);
  const PairCost cost = cluster.network.between(0, 1);
  const Duration expected = (cost.latency + cost.per_byte.of(size_B / 64)) * 63;
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
    for (const char* form : {"", "rounds"})
      CHECK(time_of(cluster, fidelity, form, size_B) == expected);
}

// The direct all-reduce folds round by round, at every fidelity.
TEST_CASE("all-to-all: other operations keep their rounds") {
  const Cluster cluster = cluster_of(fabrics[1]);
  for (const Operation operation :
       {Operation::allreduce, Operation::allgather, Operation::reduce_scatter}) {
    CollectiveQuestion question;
    question.algorithm = "direct";
    question.operation = operation;
    question.messages = {Bytes(1 << 20)};
    question.fidelity = Fidelity::flow;
    const Duration by_default = simulate_collective(question, cluster, "").time;
    set_option(question.options, "direct", "rounds", "test");
    CHECK(simulate_collective(question, cluster, "").time == by_default);
  }
}
