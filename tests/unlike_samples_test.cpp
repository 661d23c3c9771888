// Steps with other numbers of samples, in what is learned and in the whole of a training; and what
// MLT knows of a link after a pause.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

using namespace sgdsim;

TEST_CASE("unlike samples: lessons have the samples of one micro-batch") {
  const Ran refused = run_sgdsim({"learn", "resnet50_v100", "-c", "10gbe_16", "--set",
                                  "cluster.nodes=4", "--task", "logistic", "--seeds", "1",
                                  "--iterations", "20", "--also", "acc: accumulation=4"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.log.find("\"acc\": steps take the time of several micro-batches") !=
        std::string::npos);
}

TEST_CASE("unlike samples: a training's days say what they are of, and of which batch") {
  const auto log_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"layout", "llama3.1_8b", "-c", "dgx_h100_4"};
    words.insert(words.end(), more.begin(), more.end());
    return run_sgdsim(words).log;
  };
  const std::string usual = log_of({"--tokens", "1T"});
  CHECK(usual.find("a step has a sequence for each GPU, 262.1K tokens here") != std::string::npos);
  CHECK(usual.find("days and GPU-hours are of steps alone") != std::string::npos);
  const std::string given = log_of({"--tokens", "1T", "--global-batch", "64"});
  CHECK(given.find("no --global-batch") == std::string::npos);
  CHECK(given.find("days and GPU-hours are of steps alone") != std::string::npos);
  CHECK(log_of({}).find("GPU-hours are") == std::string::npos);
}

// 1 MB at a tenth of the link, which is whole again at 8.1 ms; 30 MB soon after that take what they
// take alone.
TEST_CASE("unlike samples: MLT after a pause sends at what the link has now") {
  const auto took_us = [](bool is_slow_before) {
    const Json cluster = {{"shape", "single_switch"},
                          {"nodes", 2},
                          {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
    const Json first = {{"from", 0}, {"to", 1}, {"size", "1 MB"}, {"start", "0 us"}};
    const Json second = {{"from", 0}, {"to", 1}, {"size", "30 MB"}, {"start", "8.3 ms"}};
    Json list = Json::array();
    if (is_slow_before) list.push_back(first);
    list.push_back(second);
    Json traffic = {{"flows", {{"generator", "listed"}, {"list", list}}}};
    if (is_slow_before)
      for (const auto& [at, part] : {std::pair("0 us", 0.1), std::pair("8.1 ms", 1.)})
        traffic["changes"].push_back(
            {{"at", at}, {"link", {"node0", "switch"}}, {"bandwidth", part}});
    const Json answer = json_of_run({"traffic", traffic.dump(), "-c", cluster.dump(), "--fidelity",
                                     "packet", "--transport", "mlt", "--format", "json"});
    const Json& last = answer["flows"].back();
    return (last["end_ps"].get<double>() - last["start_ps"].get<double>()) / 1e6;
  };
  CHECK(took_us(true) == doctest::Approx(took_us(false)).epsilon(0.02));
}
