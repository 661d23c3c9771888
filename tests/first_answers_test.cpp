// What people meet first: the same words with the same meaning in every command, what stands for
// NCCL's formula, algorithms inside layouts, and how many GPUs a target needs.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/command_words.h"
#include "tests/json_of_run.h"
#include "tests/one_layer.h"
#include "tests/run_program.h"

namespace sgdsim::first_answers {
namespace {

using Words = std::vector<std::string>;

void check_refused(const Words& words, const std::string& sentence) {
  const Ran ran = call_sgdsim(words);
  CAPTURE(ran.out);
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find(sentence) != std::string::npos);
}

}  // namespace

TEST_CASE("first answers: a word without effect is refused by every command about experiments") {
  Json json = one_layer();
  json["fidelity"] = "flow";
  const Temporary file(Temporary::Kind::file, json.dump());
  const std::vector<Words> commands = {
      {"run", file.name()},
      {"plan", file.name()},
      {"advise", file.name()},
      {"tune", file.name(), "--axis", "strategy=wfbp,ddp"},
      {"sweep", file.name(), "--axis", "cluster.nodes=2,4"},
      {"need", file.name(), "--axis", "cluster.nodes=2,4", "--target", "step=1s"}};
  for (const Words& command : commands) {
    CAPTURE(command.front());
    check_refused(with(command, {"--ports", "turns"}),
                  "--ports: has no effect without --fidelity message");
    check_refused(with(command, {"--fidelity", "packet", "--routing", "hashed"}),
                  "--routing: packets go as their transport says");
    check_refused(with(command, {"--transport", "ndp"}),
                  "--transport: has no effect without --fidelity packet");
  }
  // It has one where the fidelity is what differs.
  CHECK(call_sgdsim({"sweep", file.name(), "--axis", "fidelity=message,flow", "--ports", "turns"})
            .exit_code == 0);
}

// Rings and trees send what NCCL's model chooses; nothing else of the answer differs.
TEST_CASE("first answers: collective simulates what stands for NCCL's choice") {
  struct Row {
    const char* cluster;
    const char* size;
    const char* algorithm;  // by NCCL's table, which `collective -a nccl` shows, and by its cards
    const char* option = "";
  };
  for (const Row& row :
       {Row{"25gbe_2x8", "1 MiB", "double_binary_tree"}, Row{"pcie3_box_1", "64 MiB", "ring"},
        Row{"dgx_a100_2", "64 MiB", "hierarchical"},
        Row{"dgx_h100_4", "1 MiB", "hierarchical", "outer=double_binary_tree"}}) {
    // A short message takes the latency of NCCL's choice, if start-ups of messages are no longer.
    const auto asked = [&](const char* size, const Words& more) {
      return json_of_run(
          with({"collective", "-c", row.cluster, "-n", size, "--format", "json"}, more));
    };
    const Json priced = asked(row.size, {"-a", "nccl"});
    double latency_us = 0;  // of the pair that is chosen for the row's size
    const Json of_a_byte = asked("1 B", {"-a", "nccl"});
    for (const Json& pair : of_a_byte["candidates"])
      if (pair["algorithm"] == priced["nccl_choice"]) latency_us = pair["time_us"];
    const std::string a_byte_each = std::to_string(priced["ranks"].get<int>()) + " B";
    Words alone = {"-a", row.algorithm, "--fidelity", "message"};
    if (*row.option != '\0') alone = with(alone, {"--option", row.option});
    const double own_us = asked(a_byte_each.c_str(), alone)["time_us"];
    const double launch_us = std::max(0., latency_us - own_us);
    CHECK(latency_us > 0);
    for (const char* fidelity : {"message", "flow", "packet"}) {
      CAPTURE(row.size);
      CAPTURE(fidelity);
      const Words words = {"collective", "-c",     row.cluster, "-n",  row.size,
                           "--fidelity", fidelity, "--format",  "json"};
      const Json nccl = json_of_run(with(words, {"-a", "nccl"}));
      Words own_words = with(words, {"-a", row.algorithm});
      if (*row.option != '\0') own_words = with(own_words, {"--option", row.option});
      const Json own = json_of_run(own_words);
      CHECK(nccl["time_ps"].get<int64_t>() - own["time_ps"].get<int64_t>() ==
            doctest::Approx(1e6 * launch_us).epsilon(1e-5));  // a byte
      CHECK(nccl["messages"] == own["messages"]);
      CHECK(nccl["warnings"].dump().find("NCCL's model is a formula") != std::string::npos);
    }
  }
}

// What a practitioner asks without a name: what NCCL does where people run it, and elsewhere what
// has the operation.
TEST_CASE("first answers: a collective without an algorithm is that which people run there") {
  const auto asked = [](const Words& more) {
    return json_of_run(with({"collective", "-n", "4 MiB", "--format", "json"}, more));
  };
  for (const char* cluster : {"dgx_h100_4", "dgx_a100_2", "gb200_nvl72", "rails_h100_16"})
    for (const char* ranks : {"8", "4"}) {
      CAPTURE(cluster);
      const Json usual = asked({"-c", cluster, "-p", ranks});
      CHECK(usual["time_ps"] == asked({"-c", cluster, "-p", ranks, "-a", "nccl"})["time_ps"]);
      CHECK(usual["algorithm"] == "nccl");
    }
  for (const char* cluster : {"10gbe_16", "25gbe_2x8", "pcie3_box_1", "torus_4x4x4"})
    CHECK(asked({"-c", cluster})["algorithm"] == "ring");
  CHECK(asked({"-c", "dgx_h100_4", "--set", "network=gloo"})["algorithm"] == "ring");
  CHECK(asked({"-c", "dgx_h100_4", "--op", "alltoall"})["algorithm"] == "direct");
  CHECK(asked({"-c", "10gbe_16", "--op", "alltoall"})["algorithm"] == "direct");
  CHECK(asked({"-c", "10gbe_16", "--op", "broadcast"})["algorithm"] == "mst");
  CHECK(asked({"-c", "10gbe_16", "--op", "reduce"})["algorithm"] == "mst");
  // What a formula does not know asks for messages, unless a fidelity is named.
  CHECK(asked({"-c", "dgx_h100_4", "--jitter", "0.1"})["fidelity"] == "message");
  CHECK(asked({"-c", "dgx_h100_4"})["fidelity"] == "closed_form");
  CHECK(asked({"-c", "dgx_h100_4", "-p", "1"})["time_ps"] == 0);
  // One after the other.
  const Json two = json_of_run(
      {"collective", "-c", "dgx_h100_4", "-n", "1 MiB", "-n", "64 MiB", "--format", "json"});
  int64_t sum_ps = 0;
  for (const char* size : {"1 MiB", "64 MiB"})
    sum_ps +=
        json_of_run({"collective", "-c", "dgx_h100_4", "-n", size, "--format", "json"})["time_ps"]
            .get<int64_t>();
  CHECK(two["time_ps"] == sum_ps);
}

// Its launch and its latencies are what merging saves, at every fidelity.
TEST_CASE("first answers: exchanges that stand for NCCL's cost what its model says of small ones") {
  const auto exchanged = [](const char* fidelity) {
    return json_of_run({"run", "resnet50_v100", "-c", "dgx_h100_4", "--set", "strategy=wfbp",
                        "--fidelity", fidelity, "--format", "json"})["metrics"]["comm_total_us"]
        .get<double>();
  };
  // Of 161 messages launches are 13.8 ms (86 us each) and latencies at least 5.7 (35.2 us, of
  // NCCL's fastest pair there): what is left, 102 MB at some 180 GB/s, are 0.6.
  CHECK(exchanged("flow") == doctest::Approx(exchanged("closed_form")).epsilon(0.1));
}

// Whoever says the generation, in the file or beside the command, need not be told to.
TEST_CASE("first answers: GPUs that NCCL's model does not know are warned of where nobody says") {
  const auto warnings = [](const Words& more) {
    return json_of_run(with({"run", "resnet50_v100", "-c", "dgx_h100_4", "--set",
                             "cluster.gpu=mi300x", "--set", "collective=nccl", "--format", "json"},
                            more))["warnings"]
        .dump();
  };
  CHECK(warnings({}).find("called mi300x") != std::string::npos);
  for (const char* said : {R"(collective.options={"generation": "ampere"})",
                           R"(cluster.nccl={"generation": "ampere"})"})
    CHECK(warnings({"--set", said}).find("called mi300x") == std::string::npos);
}

// A group along dimensions of a torus is a torus; others have no such algorithm. Formulas know
// ports alone: groups that share wires, or start apart, differ from them by some percent of a step,
// more where all of the step's exchange is one ring through the torus.
TEST_CASE("first answers: lp and rings of tori inside layouts, by formula as on wires") {
  struct Row {
    Words words;
    double apart;
  };
  const Row rows[] = {
      {{"-c", "dgx_h100_4", "--layout", "tp8 dp4", "-a", "lp"}, 0.05},
      {{"-c", "dgx_h100_4", "--layout", "tp4 dp8", "-a", "lp"}, 0.05},
      {{"-c", "torus_4x4x4", "--layout", "tp4 dp16 zero1", "-a", "torus_ring"}, 0.02},
      {{"-c", "torus_4x4x4", "--layout", "tp4 cp4 dp4", "-a", "torus_ring"}, 0.05},
      {{"-c", "torus_4x4x4", "--layout", "dp64 zero1", "-a", "torus_ring"}, 0.1},
  };
  for (const Row& row : rows) {
    const auto step_us = [&](const std::string& fidelity) {
      const Json answer = json_of_run(with({"layout", "llama3.1_8b", "--memory", "300GB",
                                            "--format", "json", "--fidelity", fidelity},
                                           row.words));
      return answer["layouts"][0]["step_us"].get<double>();
    };
    CAPTURE(row.words[3]);
    CHECK(step_us("closed_form") == doctest::Approx(step_us("flow")).epsilon(row.apart));
  }
  check_refused({"layout", "llama3.1_8b", "-c", "torus_4x4x4", "--memory", "300GB", "--layout",
                 "tp2 dp32 zero1", "-a", "torus_ring"},
                "torus_ring");
}

// Days do not always fall with more machines; of up to 64 of them all are looked at.
TEST_CASE("first answers: of GPUs for a target whole machines are found, also below a bad count") {
  const Json need =
      json_of_run({"need", "--model", "llama3.1_8b", "-c", "dgx_h100_4", "--tokens", "1T", "--axis",
                   "gpus=4..512", "--target", "days<=10", "--format", "json"});
  REQUIRE(need["met"] == "at_least");
  const int64_t gpus = need["needed"]["value"];
  CHECK(gpus % 8 == 0);
  const auto days_of = [](int64_t count) {
    const Json answer = json_of_run({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--tokens", "1T",
                                     "--gpus", std::to_string(count), "--format", "json"});
    return answer["layouts"][0]["days"].get<double>();
  };
  CHECK(days_of(gpus) <= 10);
  // None of the boxes below is enough.
  for (int64_t count = gpus - 8; count > gpus * 7 / 10; count -= 8) {
    CAPTURE(count);
    CHECK(days_of(count) > 10);
  }
}

TEST_CASE("first answers: sizes as PyTorch prints them, names in capitals, words for times") {
  CHECK(call_sgdsim(
            {"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "8", "--memory", "79.6GiB"})
            .exit_code == 0);
  const Temporary file(Temporary::Kind::file, one_layer().dump());
  check_refused({"run", file.name(), "--set", "strategy=DDP"}, "did you mean \"ddp\"?");
  check_refused({"run", file.name(), "--set", "cluster.nic.latency=2 hours"}, "did you mean h?");
  check_refused({"run", file.name(), "--set", "cluster.nic.latency=1d"}, "a day is 24 h");
}

}  // namespace sgdsim::first_answers
