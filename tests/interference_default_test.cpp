// How much computing is slowed down beside exchanges where nobody said it: by the multiprocessors
// that NCCL's channels take, on networks that NCCL sends over.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

// Two layers on sixteen V100, each with a card of 12 GB/s. The second layer's gradient, of
// 800 MB, is ready at 30 ms and exchanged longer than the rest of the backward pass takes: 20 ms.
// NCCL's search finds one channel of 12 GB/s, on which two blocks run: 2 of 80 multiprocessors.
constexpr const char* slowed_trace =
    R"({"trace": {"name": "two", "device": "NVIDIA V100", "layers": [
  {"name": "first", "parameters": 0, "forward": "5 ms", "backward": "20 ms"},
  {"name": "second", "parameters": 200000000, "forward": "5 ms", "backward": "20 ms"}]EXTRA}})";
constexpr const char* slowed_cluster = R"({"shape": "single_switch", "nodes": 16,
  "nic": {"bandwidth": "12 GB/s", "latency": "0 us"}, "network": "NETWORK"})";
constexpr const char* slowed_box = R"({"shape": "nvlink_box", "nodes": 1, "gpus_per_node": 8,
  "gpu_link": {"bandwidth": "WIDTH", "latency": "0 us"},
  "nic": {"bandwidth": "12 GB/s", "latency": "0 us"}, "network": "nccl"})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

Json slowed_run(const std::string& trace, const std::string& cluster,
                const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run",      trace, "-c", cluster, "--set", "collective=ring",
                                    "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return json_of_run(words);
}

double slowed_backward(const std::string& trace, const std::string& cluster,
                       const std::vector<std::string>& more) {
  return slowed_run(trace, cluster, more)["metrics"]["backward_us"].get<double>() / 1e3;
}

double backward_ms(const std::string& network, const std::string& extra,
                   const std::vector<std::string>& more) {
  return slowed_backward(replaced(slowed_trace, "EXTRA", extra),
                         replaced(slowed_cluster, "NETWORK", network), more);
}

bool is_assumed(const std::string& network, const std::vector<std::string>& more) {
  const Json run = slowed_run(replaced(slowed_trace, "EXTRA", ""),
                              replaced(slowed_cluster, "NETWORK", network), more);
  return run["warnings"].dump().find("computing is assumed to take") != std::string::npos;
}

}  // namespace

TEST_CASE("interference by default: what NCCL's channels take, at every fidelity") {
  for (const char* fidelity : {"closed_form", "message", "flow"}) {
    CAPTURE(fidelity);
    const std::vector<std::string> at = {"--fidelity", fidelity};
    CHECK(backward_ms("nccl", "", at) == doctest::Approx(20 + 20 * 80.0 / 78).epsilon(1e-9));
    CHECK(is_assumed("nccl", at));
    CHECK(backward_ms("paper", "", at) == doctest::Approx(40).epsilon(1e-9));
    CHECK(!is_assumed("paper", at));
  }
}

TEST_CASE("interference by default: not where it is said, was measured, or hides nothing") {
  const auto whole = [](std::vector<std::string> more) { return backward_ms("nccl", "", more); };
  CHECK(whole({"--set", "interference=1"}) == doctest::Approx(40).epsilon(1e-9));
  CHECK(whole({"--set", "interference=1.5"}) == doctest::Approx(50).epsilon(1e-9));
  CHECK(backward_ms("nccl", R"(, "beside_exchanges": true)", {}) ==
        doctest::Approx(40).epsilon(1e-9));
  CHECK(whole({"--set", "strategy=naive"}) == doctest::Approx(40).epsilon(1e-9));
  CHECK(!is_assumed("nccl", {"--set", "strategy=naive"}));
  // With several channels every message would have to be played: 1,024 workers took minutes.
  CHECK(whole({"--set", "channels=2"}) == doctest::Approx(40).epsilon(1e-9));
  CHECK(!is_assumed("nccl", {"--set", "channels=2"}));
  // One GPU has nobody to exchange with.
  CHECK(whole({"--set", "cluster.nodes=1"}) == doctest::Approx(40).epsilon(1e-9));
}

TEST_CASE("interference by default: what cannot be answered with it is answered without") {
  for (const char* field : {"strategy=bytescheduler", "strategy=p3", "synchronization=pipe_sgd"}) {
    CAPTURE(field);
    CHECK(!is_assumed("nccl", {"--fidelity", "closed_form", "--set", field}));
  }
}

// NVLinks of 120 GB/s hold 6 channels of 20, on which 12 blocks run; of 600 GB/s 15 of 40, whose
// 30 of 80 multiprocessors are more than was ever published.
TEST_CASE("interference by default: inside a node it is more, and never above what was published") {
  const auto inside = [](const std::string& width) {
    return slowed_backward(replaced(slowed_trace, "EXTRA", ""),
                           replaced(slowed_box, "WIDTH", width),
                           {"--set", "trace.layers.1.parameters=10000000000"});
  };
  CHECK(inside("120 GB/s") == doctest::Approx(20 + 20 * 80.0 / 68).epsilon(1e-9));
  CHECK(inside("600 GB/s") == doctest::Approx(20 + 20 * 1.19).epsilon(1e-9));
}

}  // namespace sgdsim
