// What a user is told to type for NCCL's kernels, which take multiprocessors from computing, where
// nobody said it.
#include <doctest/doctest.h>

#include "tests/json_of_run.h"

namespace sgdsim {
namespace {

// Two layers on sixteen V100, each with a card of 12 GB/s. The second layer's gradient, of 800 MB,
// is ready at 30 ms and exchanged longer than the rest of the backward pass takes: 20 ms.
constexpr const char* hinted_trace = R"({"trace": {"name": "two", "device": "DEVICE", "layers": [
  {"name": "first", "parameters": 0, "forward": "5 ms", "backward": "20 ms"},
  {"name": "second", "parameters": 200000000, "forward": "5 ms", "backward": "20 ms"}]EXTRA}})";
constexpr const char* hinted_switch = R"({"shape": "single_switch", "nodes": 16,
  "nic": {"bandwidth": "12 GB/s", "latency": "0 us"}, "network": "NETWORK"})";
constexpr const char* hinted_box = R"({"shape": "nvlink_box", "nodes": 1, "gpus_per_node": 8,
  "gpu_link": {"bandwidth": "WIDTH", "latency": "0 us"},
  "nic": {"bandwidth": "12 GB/s", "latency": "0 us"}, "network": "nccl"})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t found = text.find(from);
  return found == text.npos ? text : text.replace(found, from.size(), to);
}

std::string trace_on(const std::string& device, const std::string& extra = "") {
  return replaced(replaced(hinted_trace, "DEVICE", device), "EXTRA", extra);
}

Json hinted_run(const std::string& trace, const std::string& cluster,
                const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run",      trace, "-c", cluster, "--set", "collective=ring",
                                    "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return json_of_run(words);
}

// The number behind `--set interference=`; empty: there is no warning.
std::string hint_of(const Json& run) {
  const std::string warnings = run["warnings"].dump(), before = "--set interference=";
  const std::size_t found = warnings.find(before);
  if (found == warnings.npos) return "";
  const std::size_t from = found + before.size();
  return warnings.substr(from, warnings.find(' ', from) - from);
}

std::string hint(const std::string& network, const std::string& trace,
                 const std::vector<std::string>& more = {}) {
  return hint_of(hinted_run(trace, replaced(hinted_switch, "NETWORK", network), more));
}

}  // namespace

// NCCL's search finds one channel of 12 GB/s, on which two blocks run: of 80, 108, 132, 148
// multiprocessors. A device that it does not know counts as Hopper.
TEST_CASE("interference hint: by the multiprocessors that NCCL's channels hold") {
  CHECK(hint("nccl", trace_on("NVIDIA V100")) == "1.03");     // 80 / 78 = 1.0256
  CHECK(hint("nccl", trace_on("A100-SXM4-80GB")) == "1.02");  // 108 / 106 = 1.0189
  CHECK(hint("nccl", trace_on("somebody's")) == "1.02");      // 132 / 130 = 1.0154
  CHECK(hint("nccl", trace_on("NVIDIA B200")) == "1.01");     // 148 / 146 = 1.0137
  for (const char* fidelity : {"closed_form", "flow"})
    CHECK(hint("nccl", trace_on("NVIDIA V100"), {"--fidelity", fidelity}) == "1.03");
  // Eight cards of 400 Gbit/s for eight H100: 8 channels of 45 GB/s, 16 blocks: 132 / 116 = 1.138.
  CHECK(hint_of(hinted_run(trace_on("NVIDIA H100"), "dgx_h100_4", {})) == "1.14");
  // NVLinks of 120 GB/s hold 6 channels of 20, on which 12 blocks run: 80 / 68 = 1.176; of 600 GB/s
  // 15 of 40, whose 30 multiprocessors would be more than the published mean.
  for (const auto& [width, factor] : {std::pair("120 GB/s", "1.18"), std::pair("600 GB/s", "1.19")})
    CHECK(hint_of(hinted_run(trace_on("NVIDIA V100"), replaced(hinted_box, "WIDTH", width),
                             {"--set", "trace.layers.1.parameters=10000000000"})) == factor);
}

TEST_CASE("interference hint: not where it is said, was measured, or nothing is hidden") {
  const std::string trace = trace_on("NVIDIA V100");
  for (const char* network : {"paper", "tcp", "gloo", "mpi"}) CHECK(hint(network, trace).empty());
  CHECK(hint("nccl", trace_on("NVIDIA V100", R"(, "beside_exchanges": true)")).empty());
  for (const char* setting :
       {"interference=1", "interference=1.5", "strategy=naive", "cluster.nodes=1"}) {
    CAPTURE(setting);
    CHECK(hint("nccl", trace, {"--set", setting}).empty());
  }
  // What has no closed form with it.
  for (const char* setting :
       {"strategy=p3", "strategy=bytescheduler", "synchronization=pipe_sgd"}) {
    CAPTURE(setting);
    CHECK(hint("nccl", trace, {"--fidelity", "closed_form", "--set", setting}).empty());
  }
  // Workers of asynchronous training compute and exchange in turns.
  CHECK(hint("nccl", trace,
             {"--set", "synchronization=ssp", "--set", R"(collective={"parameter_server": {}})"})
            .empty());
}

TEST_CASE("interference hint: what is typed counts, and what is not does not") {
  const std::string trace = trace_on("NVIDIA V100");
  const auto backward_ms = [&](const std::vector<std::string>& more) {
    const Json run = hinted_run(trace, replaced(hinted_switch, "NETWORK", "nccl"), more);
    return run["metrics"]["backward_us"].get<double>() / 1e3;
  };
  CHECK(backward_ms({}) == doctest::Approx(40).epsilon(1e-9));
  CHECK(backward_ms({"--set", "interference=1.03"}) ==
        doctest::Approx(20 + 20 * 1.03).epsilon(1e-9));
}

}  // namespace sgdsim
