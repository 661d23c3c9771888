// The field `collective`: what `auto` and `nccl` cost, against the questions that `sgdsim
// collective` answers.
#include "study/step/collective_field.h"

#include <doctest/doctest.h>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "study/collective/nccl_answer.h"
#include "study/step/experiment.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

Cluster shipped(const std::string& name) {
  return read_cluster_file(std::string(SGDSIM_SOURCE_DIR) + "/topologies/data/" + name + ".json")
      .cluster;
}

CollectiveField field(const std::string& text) {
  static std::vector<Document> documents;
  documents.push_back(Document::parse(text, "test"));
  return read_collective(documents.back().root());
}

CollectiveQuestion question_of(const std::string& algorithm, Bytes size, Fidelity fidelity) {
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = Operation::allreduce;
  question.messages = {size};
  question.fidelity = fidelity;
  return question;
}

}  // namespace

// Whatever an exchange costs among several.
TEST_CASE("collective field: one worker exchanges with nobody") {
  const Document alone = Document::parse(
      R"({"schema": "sgdsim/cluster/1", "name": "one", "shape": "single_switch", "nodes": 1,
          "nic": {"latency": "1 us", "bandwidth": "1 Gbps"}})",
      "test");
  const Cluster one = read_cluster(alone.root()).cluster;
  for (
      const char* const text :
      {R"({"start_up": "1 ms", "per_byte": "1 ns/B"})", R"({"algorithm": "ring"})",
       R"({"algorithm": "nccl"})", R"({"lines": [{"start_up": "1 ms", "per_byte": "1 ns/B"}]})",
       R"({"ranks": 8, "samples": [{"size": "1 KB", "time": "1 ms"}, {"size": "100 KB", "time": "9 ms"}]})"}) {
    CAPTURE(text);
    CHECK(field(text).cost(one, Operation::allreduce).of(Bytes(10'000'000)) == Duration());
    CHECK(field(text).note_on(one) == "");
  }
}

TEST_CASE("collective field: auto is the cheapest closed form for each message") {
  for (const char* const name :
       {"mgwfbp_paper_10gbe", "cloud_v100_25gbe", "dgx_h100_4", "torus_4x4x4"}) {
    const Cluster cluster = shipped(name);
    const MessageCost cost = field(R"({"algorithm": "auto"})").cost(cluster, Operation::allreduce);
    for (const int64_t size_B : {1, 4'096, 1'000'000, 300'000'000}) {
      Duration least = Duration::longest();
      for (const Algorithm& algorithm : algorithms()) {
        const bool reachable = algorithm.closed_form_note.empty();
        if (!algorithm.offers(Operation::allreduce) || !reachable) continue;
        try {
          least =
              std::min(least, simulate_collective(question_of(std::string(algorithm.name),
                                                              Bytes(size_B), Fidelity::closed_form),
                                                  cluster, "test")
                                  .time);
        } catch (const InputError&) {
          // no schedule for these ranks, or no closed form
        }
      }
      CHECK(cost.of(Bytes(size_B)) == least);
    }
  }
}

TEST_CASE("collective field: the step plays the algorithm that auto chose for each message") {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/app/experiments/googlenet_k80.json";
  // The first message of a step meets workers that are all there: it takes what the cheapest
  // algorithm takes alone. WFBP's is small, that of SyncEASGD has all gradients.
  for (const char* const strategy : {"wfbp", "sync_easgd"}) {
    const Experiment experiment = read_experiment(resolve_experiment(
        file, {R"(collective={"algorithm": "auto"})", std::string("strategy=") + strategy,
               "fidelity=message", "warm_up=0", "cluster.nodes=12"}));
    const MessageRecord first = simulate_step(experiment.question()).messages.front();
    const auto alone = [&](const Algorithm& algorithm, Fidelity fidelity) {
      return simulate_collective(question_of(std::string(algorithm.name), first.size, fidelity),
                                 experiment.cluster, "test")
          .time;
    };
    int matches = 0;
    for (const Algorithm& algorithm : algorithms()) {
      try {
        if (alone(algorithm, Fidelity::closed_form) != experiment.cost.of(first.size)) continue;
        if (matches++ == 0) CHECK(first.end - first.start == alone(algorithm, Fidelity::message));
      } catch (const InputError&) {
        // no all-reduce among twelve, or no closed form
      }
    }
    CHECK(matches > 0);
  }
}

TEST_CASE("collective field: nccl costs what NCCL's model says") {
  const Cluster cluster = shipped("dgx_h100_4");
  const std::vector<std::string> options = {"nvls=on"};
  struct Row {
    const char* text;
    Duration launch;
  };
  for (const Row& row :
       {Row{R"({"algorithm": "nccl", "launch": "0 us", "options": {"nvls": "on"}})", {}},
        Row{R"({"algorithm": "nccl", "options": {"nvls": "on"}})", Duration::us(86)},
        Row{R"({"algorithm": "nccl", "launch": "5 us", "options": {"nvls": "on"}})",
            Duration::us(5)}}) {
    const MessageCost cost = field(row.text).cost(cluster, Operation::allreduce);
    for (const int64_t size_B : {1, 65'536, 25'000'000, 1'073'741'824})
      CHECK(cost.of(Bytes(size_B)) == row.launch + nccl_tuning(nccl_machine_of(cluster, options),
                                                               Operation::allreduce, Bytes(size_B))
                                                       .choice()
                                                       .time);
    CHECK(cost.of(Bytes(0)) == Duration());
  }
}

TEST_CASE("collective field: the default is nccl where nodes have several cards, else a ring") {
  const std::string file =
      std::string(SGDSIM_SOURCE_DIR) + "/app/experiments/alexnet_gtopk_1gbe.json";
  struct Row {
    const char* cluster;
    const char* collective;
  };
  for (const Row& row : {Row{"dgx_h100_4", "nccl"}, Row{"dgx1_v100_2", "nccl"},
                         Row{"cloud_v100_25gbe", "ring"}, Row{"mgwfbp_paper_10gbe", "ring"},
                         Row{"torus_4x4x4", "ring"}, Row{"leaf_spine_144", "ring"}}) {
    INFO(row.cluster);
    const std::string cluster = std::string("cluster=") + row.cluster;
    const Experiment experiment =
        read_experiment(resolve_experiment(file, {cluster, "compression=none", "strategy=wfbp"}));
    CHECK(experiment.collective == row.collective);
  }
}

TEST_CASE("collective field: what cannot be exchanged is refused") {
  const Cluster cluster = shipped("dgx_h100_4");
  struct Row {
    const char* text;
    Operation operation;
    const char* sentence;
  };
  for (const Row& row : {
           Row{R"({"algorithm": "ncll"})", Operation::allreduce, "unknown algorithm \"ncll\""},
           Row{R"({"algorithm": "nccl", "options": {"nvls": "maybe"}})", Operation::allreduce,
               "unknown value \"maybe\""},
           Row{R"({"algorithm": "nccl", "options": {"inner": "ring"}})", Operation::allreduce,
               "is about the messages of an algorithm"},
           Row{R"({"algorithm": "nccl", "block": "1 MB"})", Operation::allreduce, "block"},
           Row{R"({"algorithm": "ring", "block": "1 MB"})", Operation::allreduce,
               "ring does not cut messages into blocks"},
           Row{R"({"algorithm": "nccl"})", Operation::alltoall, "alltoall"},
       }) {
    INFO(row.text);
    std::string sentence;
    try {
      field(row.text).cost(cluster, row.operation);
    } catch (const InputError& error) {
      sentence = error.what();
    }
    CHECK(sentence.find(row.sentence) != std::string::npos);
  }
}
