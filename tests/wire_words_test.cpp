// What messages meet, in the same words for every question; and what every job of several is told.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/jobs_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

Json answered(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(words);
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  return Json::parse(ran.out);
}

std::string refusal(const std::vector<std::string>& words) {
  const Ran ran = call_sgdsim(words);
  CHECK(ran.exit_code == 2);
  return ran.log;
}

std::vector<std::string> operator+(std::vector<std::string> words,
                                   const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::string k80 = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";
const std::string two_jobs = SGDSIM_SOURCE_DIR "/app/job_files/two_jobs.json";

// Jobs `a` on one rack and `b` on the other, 50 us later.
Json two_racks() {
  Json a = job({0, 1});
  Json b = job({2, 3}, "50 us");
  a["name"] = "a";
  b["name"] = "b";
  return {{"schema", "sgdsim/jobs/1"}, {"cluster", racks}, {"jobs", {a, b}}};
}

// The slices of worker 0 of a process, by name: start and length in us.
std::map<std::string, std::pair<double, double>> slices_of(const Json& timeline,
                                                           const std::string& process) {
  int pid = -1;
  for (const Json& event : timeline["traceEvents"])
    if (event["name"] == "process_name" && event["args"]["name"] == process) pid = event["pid"];
  REQUIRE(pid >= 0);
  std::map<std::string, std::pair<double, double>> slices;
  for (const Json& event : timeline["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == pid)
      slices[event["name"]] = {event["ts"], event["dur"]};
  return slices;
}

}  // namespace

TEST_CASE("wire words: an experiment's are what its fields are") {
  const std::vector<std::string> few = {"--set", "cluster.nodes=4", "--set", "iterations=2"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", k80});
    more.insert(more.end(), few.begin(), few.end());
    Json json = answered(more);
    return json["metrics"];
  };
  struct Row {
    std::vector<std::string> words;
    std::vector<std::string> settings;
  };
  const std::vector<Row> rows = {
      {{"--fidelity", "flow", "--routing", "hashed", "--seed", "5"},
       {"--set", "fidelity=flow", "--set", "collective.options.routing=hashed", "--set", "seed=5"}},
      {{"--fidelity", "message", "--ports", "shared", "--send-buffer", "64 KiB"},
       {"--set", "fidelity=message", "--set", "collective.options.ports=shared", "--set",
        "collective.options.send_buffer=64 KiB"}},
      {{"--fidelity", "packet", "--transport", "ndp first_window=20"},
       {"--set", "fidelity=packet", "--set", R"(transport={"name": "ndp", "first_window": 20})"}},
  };
  for (const Row& row : rows) CHECK(run(row.words) == run(row.settings));
  for (const char* command : {"run", "plan", "advise", "tune", "sweep"}) {
    CAPTURE(std::string(command));
    const std::string help = call_sgdsim({command, "--help"}).out;
    for (const char* word : {"--fidelity", "--routing", "--transport", "--ports", "--send-buffer",
                             "--traffic", "--seed", "--cluster"})
      CHECK(help.find(word) != std::string::npos);
  }
  CHECK(refusal({"run", k80, "--transport", "ndp"}) ==
        "sgdsim: --transport: has no effect without --fidelity packet\n");
  CHECK(refusal({"run", k80, "--routing", "hashed"}) ==
        "sgdsim: --routing: has no effect without --fidelity flow\n");
  CHECK(refusal({"plan", k80, "--fidelity", "flow", "--ports", "shared"}) ==
        "sgdsim: --ports: has no effect without --fidelity message\n");
  CHECK(refusal({"run", k80, "--fidelity", "flwo"}).find("did you mean \"flow\"?") !=
        std::string::npos);
}

TEST_CASE("wire words: options of a collective that nobody names are of the usual one") {
  const std::vector<std::string> few = {"-c", "25gbe_16", "--fidelity", "message"};
  const std::vector<std::string> shared = {"--ports", "shared", "--send-buffer", "64 KiB"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.begin() + 1, "resnet50_v100");
    words.insert(words.end(), few.begin(), few.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<std::vector<std::string>> questions = {
      {"run"},
      {"plan"},
      {"tune"},
      {"advise"},
      {"sweep", "--axis", "iterations=1,2", "--minimize", "metrics.iteration_us", "--over",
       "iterations"},
      {"need", "--axis", "iterations=1,2", "--target", "efficiency=0.5"}};
  for (const std::vector<std::string>& question : questions) {
    CAPTURE(question.front());
    CHECK(call_sgdsim(with(question, shared)).exit_code == 0);
    for (const char* other :
         {R"(collective={"parameter_server": {"servers": 2}})", "collective=nccl",
          R"(collective={"start_up": "1 ms", "per_byte": "1 ns/B"})"}) {
      const std::string log = refusal(with(question, {"--set", other, "--ports", "shared"}));
      CHECK(log.starts_with("sgdsim: --ports: is about the messages of an algorithm"));
      CHECK(log.find("--set collective=ring") != std::string::npos);
    }
  }
  const auto run = [&](const std::vector<std::string>& more) {
    Json json = answered(with({"run"}, more));
    return json["metrics"];
  };
  CHECK(run(shared) ==
        run({"--ports", "shared", "--send-buffer", "64 KiB", "--set", "collective=ring"}));
  CHECK(run({"--set", "collective.options.alpha=wire"}) ==
        run({"--set", "collective=ring", "--set", "collective.options.alpha=wire"}));
  CHECK(refusal(with({"run"}, {"--send-buffer", "1 MX", "--ports", "shared"}))
            .starts_with("sgdsim: --send-buffer: expected a size"));
  CHECK(refusal(with({"run"}, {"--set", "collective.options.alpha=wir"}))
            .starts_with("sgdsim: --set collective.options.alpha=wir: unknown value"));
  CHECK(refusal(with({"run"}, {"--set", "foo.bar=3"}))
            .starts_with("sgdsim: --set foo.bar=3: unknown field \"foo\""));
}

// A compression's own collective meets what the experiment's does, unless it says otherwise.
TEST_CASE("wire words: compressed gradients share ports, too") {
  const std::string boxes = R"({"shape": "nvlink_box", "nodes": 4, "gpus_per_node": 8,
      "nics_per_node": 8, "gpu_link": {"latency": "1 us", "bandwidth": "1000 Gbps"},
      "nic": {"latency": "5 us", "bandwidth": "25 Gbps"}})";
  const auto step = [&](const std::string& compression, const std::vector<std::string>& more) {
    const Json json =
        answered(std::vector<std::string>{"run", k80, "-c", boxes, "--fidelity", "message", "--set",
                                          "compression=" + compression} +
                 more);
    return std::pair(json["iteration_ps"].get<int64_t>(), json["path"].get<std::string>());
  };
  const auto sign = [](const std::string& options) {
    return R"({"name": "sign", "collective": {"algorithm": "direct", "options": {)" + options +
           "}}}";
  };
  const auto turns = step(sign(""), {});
  const auto shared = step(sign(R"("ports": "shared")"), {});
  CHECK(shared.first != turns.first);
  CHECK(step(sign(""), {"--ports", "shared"}) == shared);
  CHECK(step(sign(R"("ports": "turns")"), {"--ports", "shared"}) == turns);
  // One that names none has an algorithm of its own, on the same links; alike workers take turns in
  // rounds, and share ports event by event.
  CHECK(step("topk", {}).second == "rounds");
  CHECK(step("topk", {"--ports", "shared"}).second == "events");
}

// Alone, messages take turns.
TEST_CASE("wire words: who meets others at ports is told how to compare") {
  const std::string byte =
      R"({"flows": {"generator": "listed", "list": [{"from": 0, "to": 1, "size": "1 B"}]}})";
  const auto warnings = [&](const std::vector<std::string>& more) {
    return answered(std::vector<std::string>{"run", k80, "-c", "25gbe_16", "--traffic", byte} +
                    more)["warnings"]
        .dump();
  };
  const std::string servers = R"(collective={"parameter_server": {"servers": 2}})";
  CHECK(warnings({"--fidelity", "message"}).find("compare with --ports shared") !=
        std::string::npos);
  CHECK(warnings({"--fidelity", "message", "--set", servers})
            .find("compare with --fidelity flow, with and without") != std::string::npos);
  for (const std::vector<std::string>& same :
       {std::vector<std::string>{"--fidelity", "flow"},
        std::vector<std::string>{"--fidelity", "message", "--ports", "shared"}})
    CHECK(warnings(same).find("take turns") == std::string::npos);
}

// An axis of whole collectives would replace them; one of algorithms leaves them.
TEST_CASE("wire words: what an axis or a method says, too, is refused") {
  const auto sweep = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"sweep",    "resnet50_v100", "-c",
                                      "25gbe_16", "--minimize",    "metrics.iteration_us"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<std::pair<const char*, std::vector<std::string>>> options = {
      {"--ports", {"--fidelity", "message", "--ports", "shared"}},
      {"--send-buffer", {"--fidelity", "message", "--send-buffer", "64 KiB"}},
      {"--routing", {"--fidelity", "flow", "--routing", "split"}}};
  for (const auto& row : options) {
    CAPTURE(row.first);
    std::vector<std::string> words = row.second;
    words.insert(words.end(), {"--axis", "collective=ring,double_binary_tree"});
    CHECK(refusal(sweep(words)) == "sgdsim: " + std::string(row.first) +
                                       ": --axis replaces all of collective for each point, and "
                                       "what this option says of it; give --axis "
                                       "collective.algorithm=..., which leaves it there\n");
  }
  const std::vector<std::string> shared = {"--fidelity", "message", "--ports", "shared"};
  std::vector<std::string> methods = shared;
  methods.insert(methods.end(), {"--method", "a: collective=ring", "--method", "b: strategy=ddp"});
  CHECK(
      refusal(sweep(methods)).starts_with("sgdsim: --ports: --method replaces all of collective"));
  CHECK(refusal(sweep({"--seed", "3", "--axis", "seed=1,2"})) ==
        "sgdsim: --seed: --axis says seed, too; give one of them\n");
  // Whatever is advised can be typed, and is what `run` says of the same.
  std::vector<std::string> advised = shared;
  advised.insert(advised.end(), {"--axis", "collective.algorithm=double_binary_tree", "--over",
                                 "collective.algorithm"});
  const Ran swept = call_sgdsim(sweep(advised));
  CHECK(swept.exit_code == 0);
  const Json run = answered({"run", "resnet50_v100", "-c", "25gbe_16", "--fidelity", "message",
                             "--ports", "shared", "--set", "collective=double_binary_tree"});
  CHECK(answered(sweep(advised))["groups"][0]["value"] == run["metrics"]["iteration_us"]["mean"]);
}

TEST_CASE("wire words: a jobs file's") {
  const Json as_it_is = answered({"jobs", two_jobs});
  CHECK(as_it_is["fidelity"] == "flow");
  CHECK(answered({"jobs", two_jobs, "--fidelity", "flow", "--routing", "split"}) == as_it_is);
  CHECK(answered({"jobs", two_jobs, "--routing", "by_destination"})["routing"] == "by_destination");
  const Temporary small(Temporary::Kind::file, two_racks().dump());
  const Json packets = answered({"jobs", small.name(), "--fidelity", "packet"});
  CHECK(packets["transport"] == "ideal");
  CHECK(answered({"jobs", small.name(), "--transport", "ndp"})["transport"] == "ndp");
  // Somebody else's 1 MB from 0 to 1, 1 ms at 1 ns a byte, shares the port of a ring's first round.
  const Json beside = answered({"jobs", small.name(), "--traffic",
                                R"({"flows": {"generator": "listed",
                              "list": [{"from": 0, "to": 1, "size": "1 MB", "start": "300 us"}]}})"});
  CHECK(beside["jobs"][0]["slowdown"].get<double>() > 1);
  CHECK(beside["jobs"][1]["slowdown"].get<double>() == doctest::Approx(1));
  CHECK(refusal({"jobs", small.name(), "--fidelity", "flow", "--transport", "ndp"}) ==
        "sgdsim: --transport: has no effect without --fidelity packet\n");
}

// 100 us forward, 200 us backward, then two rounds of 500 KB at 1 ns a byte and 2 us from port to
// port: 1004 us that nothing hides.
TEST_CASE("jobs: each has its breakdown, its reason and its timeline, by hand") {
  const Temporary file(Temporary::Kind::file, two_racks().dump());
  const Temporary out(Temporary::Kind::file);
  const Json answer = answered({"jobs", file.name(), "--timeline", out.name(), "--force"});
  for (const Json& one : answer["jobs"]) {
    const Json& parts = one["breakdown"];
    CHECK(parts["forward_us"] == 100);
    CHECK(parts["backward_us"] == 200);
    CHECK(parts["comm_total_us"] == 1004);
    CHECK(parts["comm_exposed_us"] == 1004);
    CHECK(parts["comm_overlapped_us"] == 0);
    CHECK(one["iteration_us"] == 1304);
    CHECK(one["critical"]["length_us"] == 1304);
    CHECK(one["reason"].get<std::string>().find("forward") != std::string::npos);
  }
  const Json timeline = Document::read(out.name()).root().json();
  for (const auto& [process, start] : {std::pair{"a: worker 0", 0.}, {"b: worker 0", 50.}}) {
    const std::string name = process;
    INFO(name);
    auto slices = slices_of(timeline, process);
    CHECK(slices.at("fwd l") == std::pair{start, 100.});
    CHECK(slices.at("bwd l") == std::pair{start + 100, 200.});
    CHECK(slices.at("message 0") == std::pair{start + 300, 1004.});
  }
}
