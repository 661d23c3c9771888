// Jobs and traffic at fidelity message: messages of all share the ports of workers, of nodes and of
// racks. Around one switch the wires are the ports, so that a flow is a message; and what meets at
// one port is drawn by hand.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

// A byte takes 1 ns, a message 2 us more.
Json star(int nodes) {
  return {{"shape", "single_switch"},
          {"nodes", nodes},
          {"network", "nccl"},
          {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};
}

// Two nodes of two workers, which share a card.
Json shared_cards() {
  Json cluster = star(2);
  cluster.update({{"gpus_per_node", 2},
                  {"nics_per_node", 1},
                  {"gpu_link", {{"latency", "1 us"}, {"per_byte", "0.1 ns/B"}}}});
  return cluster;
}

Json traffic_at_ports(const Json& flows) { return {{"flows", flows}}; }
Json flow(int from, int to, const char* size, const char* start = "0 us") {
  return {{"from", from}, {"to", to}, {"size", size}, {"start", start}};
}
Json listed(const std::vector<Json>& flows) { return {{"generator", "listed"}, {"list", flows}}; }

Json at_ports(std::vector<std::string> words) {
  words.insert(words.end(), {"--fidelity", "message", "--format", "json"});
  return json_of_run(words);
}

std::string refusal_at_ports(const std::vector<std::string>& words) {
  const Ran ran = run_sgdsim(words);
  CHECK(ran.exit_code == 2);
  return ran.log;
}

TEST_CASE("at ports: flows share what they have in common") {
  // Three into one port, of which one is alone when the others have gone: 2 us + 3 MB, 3 MB, 5 MB.
  const std::string text = traffic_at_ports(listed({flow(1, 0, "1 MB"), flow(2, 0, "1 MB"),
                                                    flow(3, 0, "3 MB"), flow(4, 5, "1 MB")}))
                               .dump();
  const Json answer = at_ports({"traffic", text, "-c", star(6).dump()});
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/completion/1", answer) ==
        std::vector<std::string>{});
  const auto us = [&](std::size_t i) { return answer["flows"][i]["end_ps"].get<double>() / 1e6; };
  CHECK(us(0) == doctest::Approx(3002));
  CHECK(us(1) == doctest::Approx(3002));
  CHECK(us(2) == doctest::Approx(5002));
  CHECK(us(3) == doctest::Approx(1002));
  CHECK(answer["busiest"].empty());
}

TEST_CASE("at ports: workers of a node share its card") {
  // One card of 1 ns/B for both workers: two messages that leave it take twice as long.
  const Json cluster = shared_cards();
  const std::string text =
      traffic_at_ports(listed({flow(0, 2, "1 MB"), flow(1, 3, "1 MB")})).dump();
  for (const char* fidelity : {"message", "flow"}) {
    const Json answer = json_of_run(
        {"traffic", text, "-c", cluster.dump(), "--fidelity", fidelity, "--format", "json"});
    for (const Json& one : answer["flows"])
      CHECK(one["end_ps"].get<double>() / 1e6 == doctest::Approx(2000).epsilon(0.003));
  }
}

const Json mixed_jobs = {
    {"jobs",
     {{{"name", "a"},
       {"workers", 4},
       {"placement", "0,2,4,6"},
       {"experiment", {{"trace", "googlenet_k80"}, {"collective", "halving_doubling"}}}},
      {{"name", "b"},
       {"workers", 3},
       {"placement", "1,3,5"},
       {"start", "10 ms"},
       {"experiment", {{"trace", "resnet50_v100"}, {"collective", "ring"}, {"channels", 2}}}},
      {{"name", "c"},
       {"workers", 2},
       {"collective", {{"operation", "allreduce"}, {"bytes", "8 MB"}}}},
      {{"name", "d"}, {"workers", 4}, {"schedule", "app/schedules/ring_4.goal"}},
      {{"name", "e"},
       {"workers", 3},
       {"experiment",
        {{"trace", "googlenet_k80"},
         {"collective", {{"parameter_server", {{"placement", "co_located"}, {"servers", 3}}}}}}}},
      {{"name", "f"},
       {"workers", 2},
       {"experiment", {{"trace", "resnet50_v100"}, {"collective", "nccl"}}}}}}};

TEST_CASE("at ports: a mixture around one switch is what it is on wires") {
  for (const char* network : {"nccl", "tcp"}) {
    Json file = mixed_jobs;
    file["cluster"] = star(20);
    file["cluster"]["network"] = network;
    file["cluster"]["sharing"] = "max_min";
    for (int from = 0; from < 6; ++from)
      file["traffic"]["flows"].push_back(listed({flow(from, (from + 5) % 13, "5 GB", "5 ms")}));
    // Acknowledgements of TCP, 52 B for two packets of 9,000 B or 0.3 %, slow down messages at
    // ports, and go their own way on wires.
    const double off = network == std::string("tcp") ? 3e-3 : 1e-6;
    Json answers[2];
    for (const char* fidelity : {"message", "flow"}) {
      file["fidelity"] = fidelity;
      Json& answer = answers[fidelity[0] == 'f' ? 1 : 0];
      answer = json_of_run({"jobs", file.dump(), "--format", "json"});
      CHECK(faults_of_value(embedded_shelf(), "sgdsim/jobs-result/1", answer) ==
            std::vector<std::string>{});
      CHECK(answer["fidelity"] == fidelity);
    }
    for (std::size_t job = 0; job < mixed_jobs["jobs"].size(); ++job)
      for (const char* field : {"iteration_us", "alone_us", "end_us", "slowdown"}) {
        CAPTURE(job);
        CHECK(answers[0]["jobs"][job][field].get<double>() ==
              doctest::Approx(answers[1]["jobs"][job][field].get<double>()).epsilon(off));
      }
    CHECK(answers[0]["jobs"][1]["slowdown"].get<double>() > 1.1);
  }
}

// Links inside nodes and cards are apart, so that a layout takes what it takes on wires.
TEST_CASE("at ports: layouts") {
  for (const char* text : {"tp8 dp2 zero1 mbs1", "tp4 dp4 zero1 mbs1"}) {
    const double us =
        json_of_run({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--layout", text, "--fidelity",
                     "flow", "--format", "json"})["layouts"][0]["step_us"]
            .get<double>();
    const Json job = {{"workers", 16}, {"layout", {{"model", "llama3.1_8b"}, {"layout", text}}}};
    const Json file = {{"cluster", "dgx_h100_4"}, {"jobs", {job}}};
    CHECK(at_ports({"jobs", file.dump()})["jobs"][0]["iteration_us"].get<double>() ==
          doctest::Approx(us).epsilon(1e-6));
  }
}

TEST_CASE("at ports: a layout beside others is a job beside them") {
  const char* text = "tp4 dp4 zero1 mbs1";
  const Json flows = listed({flow(0, 8, "2 GB"), flow(9, 1, "4 GB", "100 ms")});
  const Json job = {{"workers", 16}, {"layout", {{"model", "llama3.1_8b"}, {"layout", text}}}};
  Json file = {{"cluster", "dgx_h100_4"}, {"jobs", {job}}, {"traffic", traffic_at_ports(flows)}};
  const double us = at_ports({"jobs", file.dump()})["jobs"][0]["iteration_us"].get<double>();
  const std::vector<std::string> words = {
      "layout",   "llama3.1_8b", "-c",        "dgx_h100_4",
      "--layout", text,          "--traffic", traffic_at_ports(flows).dump()};
  const Json answer = at_ports(words);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", answer) ==
        std::vector<std::string>{});
  CHECK(answer["layouts"][0]["step_us"].get<double>() == doctest::Approx(us).epsilon(1e-9));
  CHECK(answer["layouts"][0]["messages"].get<int>() > 0);
  CHECK_FALSE(answer["layouts"][0].contains("busiest"));
  CHECK(answer["warnings"].dump().find("compare with --fidelity flow") != std::string::npos);
}

TEST_CASE("at ports: a message inside a node is not held up by its card") {
  const std::string text =
      traffic_at_ports(listed({flow(0, 1, "1 MB"), flow(0, 2, "1 MB")})).dump();
  const Json answer = at_ports({"traffic", text, "-c", shared_cards().dump()});
  // A tenth of the GPU's link is taken by what goes to the card, as at fidelity `flow`.
  CHECK(answer["flows"][0]["end_ps"].get<double>() / 1e6 == doctest::Approx(100 / 0.9 + 2));
  CHECK(answer["flows"][1]["end_ps"].get<double>() / 1e6 == doctest::Approx(1000).epsilon(0.01));
}

TEST_CASE("at ports: traffic beside a step, a collective and a schedule") {
  const std::string cluster = star(4).dump();
  const std::string traffic =
      traffic_at_ports(listed({flow(0, 1, "5 GB"), flow(3, 1, "5 GB")})).dump();
  const auto alike = [&](std::vector<std::string> words, const char* path) {
    words.insert(words.end(), {"--traffic", traffic, "--format", "json"});
    double values[2];
    for (const char* fidelity : {"message", "flow"}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--fidelity", fidelity});
      values[fidelity[0] == 'f' ? 1 : 0] =
          json_of_run(all).at(Json::json_pointer(path)).get<double>();
    }
    CAPTURE(words.front());
    CHECK(values[0] == doctest::Approx(values[1]).epsilon(1e-6));
    return values[0];
  };
  const std::vector<std::string> collective = {"collective", "-n", "40 MB", "-c", cluster};
  // Worker 0's way to 1 has three messages on it: of its own 60 MB in six rounds, a third.
  CHECK(alike(collective, "/time_us") > 2 * at_ports(collective)["time_us"].get<double>());
  alike({"run", "resnet50_v100", "-c", cluster}, "/metrics/iteration_us/mean");
  alike({"run", "resnet50_v100", "-c", cluster, "--set", "collective=parameter_server"},
        "/metrics/iteration_us/mean");
  alike({"run", "resnet50_v100", "-c", cluster, "--set", "collective=parameter_server", "--set",
         "synchronization=async_ps", "--set", "strategy=sync_easgd"},
        "/metrics/iteration_us/mean");
  alike({"run", "resnet50_v100", "-c", cluster, "--set", "strategy=p3"},
        "/metrics/iteration_us/mean");
  alike({"replay", "app/schedules/ring_4.goal", "-c", cluster}, "/makespan_ps");
  for (const char* layout :
       {"tp4 mbs1 ga2", "pp2 dp2 ga4 zero1 recompute=full", "tp2 dp2 mbs1 zero3 recompute=full"})
    alike({"layout", "llama3.1_8b", "-c", cluster, "--layout", layout}, "/layouts/0/step_us");
  Json slow = star(4);
  slow["nic"]["latency"] = "100 us";
  alike({"run", "resnet50_v100", "-c", slow.dump(), "--set", "collective=nccl", "--set",
         "strategy=wfbp"},
        "/metrics/iteration_us/mean");
}

TEST_CASE("at ports: who has no ports to himself shares them") {
  const Json cluster = shared_cards();
  const std::vector<std::string> words = {"replay", "app/schedules/ring_4.goal", "-c",
                                          cluster.dump()};
  std::vector<std::string> shared = words;
  shared.insert(shared.end(), {"--ports", "shared"});
  CHECK(at_ports(words)["makespan_ps"] == at_ports(shared)["makespan_ps"]);
  std::vector<std::string> turns = words;
  turns.insert(turns.end(), {"--ports", "turns"});
  CHECK(refusal_at_ports(turns).find("leave turns out, or say shared") != std::string::npos);
}

TEST_CASE("at ports: what is refused") {
  const std::string cluster = star(4).dump();
  const std::string traffic = traffic_at_ports(listed({flow(0, 1, "1 MB")})).dump();
  const std::string changes =
      R"({"changes": [{"at": "0 us", "vertex": "node0", "bandwidth": 0.5}]})";
  const Json job = {{"workers", 2},
                    {"collective", {{"operation", "allreduce"}, {"bytes", "8 MB"}}}};
  const std::string jobs = Json({{"cluster", star(4)}, {"jobs", {job}}}).dump();
  Json in_turns = job;
  in_turns["collective"]["options"] = {{"ports", "turns"}};
  const Json in_turns_too = {
      {"workers", 2},
      {"experiment",
       {{"trace", "resnet50_v100"},
        {"collective", {{"algorithm", "ring"}, {"options", {{"ports", "turns"}}}}}}}};
  struct Row {
    std::vector<std::string> words;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{"traffic", traffic, "-c", cluster, "--links", "3"}, "--links: has no effect at"},
           {{"traffic", traffic, "-c", cluster, "--bins", "3", "--format", "json"},
            "--bins: has no effect at"},
           {{"traffic", traffic, "-c", cluster, "--routing", "split"}, "--routing: has no effect"},
           {{"traffic", traffic, "-c", cluster, "--transport", "ndp"}, "--transport: has no effe"},
           {{"jobs", jobs, "--routing", "split"}, "--routing: has no effect"},
           {{"jobs", jobs, "--traffic", changes}, "links change on wires"},
           {{"jobs", jobs, "--bins", "4", "--format", "json"}, "--bins: has no effect at"},
           {{"jobs", Json({{"cluster", star(4)}, {"jobs", {in_turns}}}).dump()},
            "are of all that shares the network; leave them out"},
           {{"jobs", Json({{"cluster", star(4)}, {"jobs", {in_turns_too}}}).dump()},
            "leave ports=turns out, or say shared"},
           {{"run", "resnet50_v100", "-c", cluster, "--traffic", traffic, "--ports", "turns"},
            "leave ports=turns out, or say shared"},
           {{"collective", "-n", "1 MB", "-c", cluster, "--traffic", traffic, "--option",
             "ports=turns"},
            "leave ports=turns out, or say shared"},
           {{"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--layout", "tp8", "--traffic", changes},
            "links change on wires"}}) {
    std::vector<std::string> words = row.words;
    words.insert(words.end(), {"--fidelity", "message"});
    const std::string log = refusal_at_ports(words);
    CHECK_MESSAGE(log.find(row.sentence) != std::string::npos, log);
  }
  Json closed = Json::parse(jobs);
  closed["fidelity"] = "closed_form";
  CHECK(refusal_at_ports({"jobs", closed.dump()}).find("jobs meet by their messages") !=
        std::string::npos);
}

}  // namespace
}  // namespace sgdsim
