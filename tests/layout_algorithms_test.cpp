// Algorithms of collectives inside layouts: prices are the published formulas, and on wires that
// nobody shares messages take what the formulas say.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/collective/nccl_graph.h"
#include "models/training/played_step.h"
#include "models/training/step_on_wires.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

AlgorithmChoice chosen(const std::vector<std::string>& texts) {
  AlgorithmChoice choice;
  for (const std::string& text : texts) choice.add(text, "--algorithm");
  return choice;
}

double seconds(const Cluster& cluster, const std::string& algorithm, Operation operation,
               RankGroup group, double bytes) {
  GroupTimes times(cluster, cluster.network.workers(), chosen({algorithm}));
  return times.seconds(operation, group, bytes);
}

struct Asked {
  Transformer model;
  Layout layout;
  Cluster cluster;
  AlgorithmChoice algorithms;
  Gpu gpu = load_gpu("h100");

  Asked(const std::string& text, Cluster on, const std::vector<std::string>& names)
      : model(small_model()),
        layout(parse_layout(text, "")),
        cluster(std::move(on)),
        algorithms(chosen(names)) {
    model.layers = 4;
    model.kv_heads = model.heads;
    model.vocabulary = 1;
  }
  TrainingStep step() const { return {model, layout, 2048, gpu, Precision::bf16}; }
  double on_wires_s() const {
    GroupTimes groups(cluster, layout.gpus(), algorithms);
    return play_on_wires(step(), cluster, groups, {}).step.time.s();
  }
  double played_s() const {
    GroupTimes groups(cluster, layout.gpus(), algorithms);
    return play_step(step(), groups).step.time.s();
  }
};

}  // namespace

// n bytes among P ranks: recursive doubling log2(P) (a + n b), halving and doubling
// 2 log2(P) a + 2 (P-1)/P n b, ring 2 (P-1) (a + n/P b).
TEST_CASE("layout algorithms: formulas of one level") {
  const Cluster cluster = one_switch(16);
  const double a = 4e-6, b = 1 / 12.5e9;  // both ports
  for (const double n : {16.0, 4096.0, 1048576.0, 268435456.0})
    for (const int64_t p : {2, 4, 16}) {
      const double log = std::log2(static_cast<double>(p)), ranks = static_cast<double>(p);
      CAPTURE(n);
      CAPTURE(p);
      const auto is = [&](const char* name, double expected) {
        CHECK(seconds(cluster, name, Operation::allreduce, {1, p}, n) ==
              doctest::Approx(expected).epsilon(1e-6));
      };
      is("recursive_doubling", log * (a + n * b));
      is("halving_doubling", 2 * log * a + 2 * (ranks - 1) / ranks * n * b);
      is("ring", 2 * (ranks - 1) * (a + n / ranks * b));
    }
}

// NCCL's model, asked for the communicator by hand: four boxes of eight H100 with a card each.
TEST_CASE("layout algorithms: nccl is NCCL's model for a communicator of the group") {
  const Cluster cluster =
      read_cluster_file(SGDSIM_SOURCE_DIR "/topologies/data/dgx_h100_4.json").cluster;
  const auto expected = [&](int ranks, int nodes, int nics, Operation operation, double bytes) {
    NcclMachine machine = nccl_box_of(cluster).machine;
    machine.nvls = true;  // as NCCL does at switches of Hopper
    machine.ranks = ranks;
    machine.nodes = nodes;
    const NcclWires wires{nccl_box_of(cluster).wires.gpu, nics, nccl_box_of(cluster).wires.nic};
    return nccl_tuning(nccl_guess_graphs(machine, wires), operation,
                       Bytes(static_cast<int64_t>(bytes)));
  };
  for (const Operation operation :
       {Operation::allreduce, Operation::allgather, Operation::reduce_scatter})
    for (const double bytes : {1024.0, 1048576.0, 1073741824.0}) {
      CAPTURE(bytes);
      const auto is = [&](RankGroup group, const NcclTable& table) {
        CHECK(seconds(cluster, "nccl", operation, group, bytes) ==
              doctest::Approx(table.choice().time.s()).epsilon(1e-12));
      };
      is({1, 8}, expected(8, 1, 8, operation, bytes));    // one box
      is({1, 4}, expected(4, 1, 4, operation, bytes));    // half of one
      is({1, 32}, expected(32, 4, 8, operation, bytes));  // all
      is({8, 4}, expected(4, 4, 1, operation, bytes));    // one GPU of each box, its card
      is({4, 8}, expected(8, 4, 2, operation, bytes));    // two of each
    }
  // Bytes take longer where links are not reached; start-ups do not.
  AlgorithmChoice choice = chosen({"nccl"});
  choice.nccl = {.reach_inside = 0.5};
  Cluster slower = cluster;
  GroupTimes half(slower, 32, choice);
  const NcclBox box = nccl_box_of(cluster);
  NcclMachine machine = box.machine;
  machine.ranks = 8;
  const NcclWires twice{Bandwidth::Bps(2 * box.wires.gpu.Bps()), 8, box.wires.nic};
  const NcclRow row =
      nccl_tuning(nccl_guess_graphs(machine, twice), Operation::allreduce, Bytes(1 << 28)).choice();
  CHECK(half.seconds(Operation::allreduce, {1, 8}, 1 << 28) ==
        doctest::Approx(row.latency.s() + 2 * (row.time.s() - row.latency.s())).epsilon(1e-12));
  CHECK(choice.of(Operation::alltoall)->name == "direct");
  CHECK_THROWS_AS(chosen({"alltoall=nccl"}), InputError);
}

TEST_CASE("layout algorithms: nccl in answers, by rings and trees where there are messages") {
  const std::vector<std::string> ask = {
      "layout",   "llama3.1_8b", "-c",          "topologies/data/dgx_h100_4.json",
      "--layout", "tp4 dp8",     "--algorithm", "nccl",
      "--format", "json"};
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(fidelity);
    std::vector<std::string> words = ask;
    words.insert(words.end(), {"--fidelity", fidelity});
    const Ran ran = run_sgdsim(words);
    REQUIRE(ran.exit_code == 0);
    CHECK(ran.out.find("\"allreduce\": \"nccl\"") != std::string::npos);
    CHECK(ran.out.find("\"alltoall\": \"direct\"") != std::string::npos);
    CHECK(ran.out.find("NCCL's ") != std::string::npos);
  }
}

// Four boxes of four, a card each: a scatter and a gather inside of 3 rounds with n/4, and between
// them rings of four boxes over n/4, everyone by a card of its own: 6 rounds of n/16.
TEST_CASE("layout algorithms: hierarchical knows the nodes of a group") {
  const Cluster cluster = boxes_of_four(4, 4);
  const PairCost inside = cluster.network.between(0, 1);
  const PairCost across = cluster.network.between(0, 4);
  for (const double n : {65536.0, 268435456.0}) {
    const double in_s = inside.latency.s() + n / 4 * inside.per_byte.ps() * 1e-12;
    const double out_s = across.latency.s() + n / 16 * across.per_byte.ps() * 1e-12;
    CHECK(seconds(cluster, "hierarchical", Operation::allreduce, {1, 16}, n) ==
          doctest::Approx(6 * in_s + 6 * out_s).epsilon(1e-6));
    // Two members in every node: groups of GPUs 0, 2, 4, ... and 1, 3, 5, ...
    const double two_in_s = inside.latency.s() + n / 2 * inside.per_byte.ps() * 1e-12;
    const double two_out_s = across.latency.s() + n / 8 * across.per_byte.ps() * 1e-12;
    CHECK(seconds(cluster, "hierarchical", Operation::allreduce, {2, 8}, n) ==
          doctest::Approx(2 * two_in_s + 6 * two_out_s).epsilon(1e-6));
    // One member in every node: nothing is inside, and a ring is what is left.
    CHECK(seconds(cluster, "hierarchical", Operation::allreduce, {4, 4}, n) ==
          doctest::Approx(seconds(cluster, "ring", Operation::allreduce, {4, 4}, n)).epsilon(1e-6));
  }
}

TEST_CASE("layout algorithms: without contention messages take what the formulas say") {
  for (const char* text : {"tp8", "tp4 ga2", "dp8 zero0 overlap=off", "dp4 zero0 overlap=off"})
    for (const char* name : {"recursive_doubling", "halving_doubling", "mst"}) {
      CAPTURE(text);
      CAPTURE(name);
      const Asked asked(text, one_switch(8), {name});
      CHECK(asked.on_wires_s() == doctest::Approx(asked.played_s()).epsilon(1e-6));
      CHECK(asked.on_wires_s() != Asked(text, one_switch(8), {}).on_wires_s());
    }
}

// Cards of all members work: with a card for all four the part between the nodes takes four times
// as long, and so it does for a ring.
TEST_CASE("layout algorithms: cards of all members carry what leaves a node") {
  for (const char* name : {"ring", "hierarchical", "recursive_doubling"}) {
    CAPTURE(name);
    const Asked four("tp16", boxes_of_four(4, 4), {name});
    const Asked one("tp16", boxes_of_four(4, 1), {name});
    CHECK(one.on_wires_s() > 1.5 * four.on_wires_s());
    CHECK(one.played_s() > 1.5 * four.played_s());
  }
}

TEST_CASE("layout algorithms: auto takes what takes least") {
  const Cluster cluster = one_switch(16);
  for (double n = 16; n < 1e9; n *= 8) {
    CAPTURE(n);
    const double best = seconds(cluster, "auto", Operation::allreduce, {1, 16}, n);
    double least = best;
    for (const char* name : {"ring", "recursive_doubling", "halving_doubling", "mst", "be"})
      least = std::min(least, seconds(cluster, name, Operation::allreduce, {1, 16}, n));
    CHECK(best == least);
  }
  // A ring of 16 has 30 latencies, doubling 4.
  CHECK(seconds(cluster, "auto", Operation::allreduce, {1, 16}, 1024) <
        0.2 * seconds(cluster, "ring", Operation::allreduce, {1, 16}, 1024));
  const Asked asked("dp16 zero0 overlap=off", one_switch(16), {"auto"});
  CHECK(asked.on_wires_s() == doctest::Approx(asked.played_s()).epsilon(1e-6));
}

// Tied embeddings meet in the first and the last stage; of the stages between nobody is asked.
TEST_CASE("layout algorithms: ends of a pipeline that is the whole cluster") {
  Asked asked("pp4 ga4 schedule=gpipe", one_switch(4), {});
  asked.model.tied = true;
  asked.model.vocabulary = 1000;
  CHECK(asked.played_s() > 0);
}

TEST_CASE("sgdsim layout: --algorithm") {
  const std::vector<std::string> words = {"layout",     "llama3.1_8b", "-c",
                                          "dgx_h100_4", "--layout",    "tp8 dp4 zero1 sp"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_sgdsim(all);
  };
  const Ran ran = with({"-a", "hierarchical", "-a", "allreduce=auto", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == std::vector<std::string>{});
  CHECK(json["algorithms"] == Json({{"allreduce", "auto"},
                                    {"reduce_scatter", "hierarchical"},
                                    {"allgather", "hierarchical"},
                                    {"alltoall", "direct"}}));
  // What is said of all is what is usual.
  CHECK(with({"-a", "ring", "--format", "json"}).out == with({"--format", "json"}).out);
  CHECK(with({"-a", "mst"}).out.find("allreduce by mst, reduce_scatter by") != std::string::npos);
  struct Row {
    const char* text;
    const char* sentence;
  };
  for (const Row& row :
       {Row{"rnig", "unknown algorithm \"rnig\" (did you mean \"ring\"?)"},
        Row{"alltoall=ring", "ring has no alltoall"}, Row{"sum=ring", "unknown operation \"sum\""},
        Row{"allreduce=", "unknown algorithm \"\""}}) {
    const Ran bad = with({"-a", row.text});
    CHECK(bad.exit_code == 2);
    CHECK_MESSAGE(bad.log.find(std::string("--algorithm: ") + row.sentence) != std::string::npos,
                  bad.log);
  }
  // 24 GPUs have groups of three.
  const Ran left_out = run_sgdsim({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "24",
                                   "--global-batch", "48", "-a", "halving_doubling"});
  CHECK(left_out.exit_code == 0);
  CHECK(left_out.log.find(" layouts were left out") != std::string::npos);
  CHECK(left_out.log.find("power of two") != std::string::npos);
  const Ran axis = run_sgdsim({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--axis",
                               "algorithm=ring,auto", "--format", "json"});
  CHECK(axis.exit_code == 0);
  CHECK(axis.out.find(R"({"algorithm":"auto"})") != std::string::npos);
}

// Of boxes of eight with a card for each GPU: in rounds in which all members send, a card carries
// what its own member sends, in how many parts whatever.
TEST_CASE("layout algorithms: rounds of all members cross by the card of each") {
  for (const char* algorithm : {"halving_doubling", "recursive_doubling", "be", "ring"})
    for (const char* text : {"dp16 zero0 overlap=off", "dp32 zero0 overlap=off",
                             "tp2 sp dp16 zero0 overlap=off", "tp4 sp dp8 zero1 overlap=off",
                             "dp32 zero1 overlap=off", "tp8 sp dp4 zero0 overlap=off"}) {
      CAPTURE(algorithm);
      CAPTURE(text);
      const Asked asked(
          text, read_cluster_file(SGDSIM_SOURCE_DIR "/topologies/data/dgx_h100_4.json").cluster,
          {algorithm});
      CHECK(asked.played_s() == doctest::Approx(asked.on_wires_s()).epsilon(0.005));
    }
}

// Trees and stars send in few places at a time. Four boxes of four play four parts at once, each of
// which has its root at another member. A binomial tree has two rounds inside, in which a member
// sends half and then a quarter of all, and two between boxes, of a quarter by each card. What goes
// to a root comes at once; what leaves it follows each other.
TEST_CASE("layout algorithms: trees and stars keep ports busy, by hand") {
  const Cluster cluster = boxes_of_four(4, 4);
  const PairCost near = cluster.network.between(0, 1);
  const PairCost far = cluster.network.between(0, 4);
  for (const double n : {65536.0, 268435456.0}) {
    const double in_s = n * near.per_byte.ps() * 1e-12;
    const double out_s = n * far.per_byte.ps() * 1e-12;
    const double in = near.latency.s();
    const double out = far.latency.s();
    CHECK(seconds(cluster, "mst", Operation::allreduce, {1, 16}, n) ==
          doctest::Approx(2 * (2 * in + 0.75 * in_s + 2 * (out + out_s / 4))).epsilon(1e-6));
    const double to_root = 15 * out + std::max(3 * out_s, 0.75 * in_s);
    const double from_root = 3 * (in + in_s / 4) + 12 * (out + out_s / 4);
    CHECK(seconds(cluster, "linear", Operation::allreduce, {1, 16}, n) ==
          doctest::Approx(to_root + from_root).epsilon(1e-6));
    // Inside a box every member but the root is a leaf of one tree and inside the other: it gets
    // two halves and one from above here, and one there.
    if (n > 1e8)
      CHECK(seconds(cluster, "double_binary_tree", Operation::allreduce, {1, 4}, n) ==
            doctest::Approx(2 * in_s).epsilon(0.03));
  }
}

TEST_CASE("layout algorithms: trees and stars take what their messages take") {
  for (const char* algorithm : {"mst", "linear", "double_binary_tree"})
    for (const char* text :
         {"dp8", "dp12", "dp16", "dp32", "tp2 sp dp8", "tp4 sp dp6", "tp8 sp dp4", "pp2 dp12"}) {
      CAPTURE(algorithm);
      CAPTURE(text);
      const Asked asked(
          std::string(text) + " zero0 overlap=off",
          read_cluster_file(SGDSIM_SOURCE_DIR "/topologies/data/dgx_h100_4.json").cluster,
          {std::string("allreduce=") + algorithm});
      CHECK(asked.played_s() == doctest::Approx(asked.on_wires_s()).epsilon(0.02));
    }
}

}  // namespace sgdsim
