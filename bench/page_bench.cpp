// Speed of the what-if page's map, natively: 448 points of a trace of 161 tensors. What a browser
// needs for the same question is measured by tests/page/speed.mjs.
#include <benchmark/benchmark.h>
#include <stdexcept>
#include <string>

#include "app/page/page.h"
#include "sim/core/json.h"

namespace {

using namespace sgdsim;

void page_map(benchmark::State& state) {
  const Json question = {
      {"ask", "grid"},
      {"input",
       {{"experiment", SGDSIM_SOURCE_DIR "/traces/data/resnet50_v100.json"},
        {"cluster", SGDSIM_SOURCE_DIR "/topologies/data/10gbe_16.json"},
        {"settings", {"fidelity=closed_form"}}}},
      {"axes",
       {{"cluster.nodes", {2, 4, 8, 16, 32, 64, 128, 256}},
        {"cluster.nic.bandwidth",
         {"1 Gbps", "2 Gbps", "5 Gbps", "10 Gbps", "25 Gbps", "50 Gbps", "100 Gbps"}},
        {"strategy",
         {"wfbp", "sync_easgd", "mg_wfbp", "optimal", "ddp", "horovod", "bytescheduler", "p3"}}}}};
  const std::string text = question.dump();
  const Json first = Json::parse(page_answer(text));
  if (first.value("points", 0) != 448 || !first["errors"].empty())
    throw std::logic_error("wrong answer: " + first.dump().substr(0, 200));
  for (auto _ : state) benchmark::DoNotOptimize(page_answer(text));
}
BENCHMARK(page_map)->Unit(benchmark::kMillisecond);

}  // namespace
