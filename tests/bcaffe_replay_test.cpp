// Measured exchanges of GoogLeNet on K80 GPUs, layer by layer, played again under WFBP: what they
// add to the iteration must be what follows from the same figures by hand.
//
// An exchange costs what was measured for its layer, whatever its size. Sizes therefore only number
// the layers here: layer l has l bytes, and the curve gives l bytes the time of layer l.
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <sstream>

#include "study/step/experiment.h"

namespace sgdsim {
namespace {

constexpr int layers = 64;

// Lines of cells; comments and the heading left out.
std::vector<std::vector<std::string>> cells_of(const std::string& file) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('#') || line.starts_with("layer")) continue;
    std::istringstream cells(line);
    auto& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
  }
  return rows;
}

// The log of columns `column` (backward) and `column` + 1 (exchange) as an experiment without
// forward times.
Json experiment_of(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  Json trace_layers = Json::array();
  Json samples = Json::array();
  for (const auto& row : rows) {
    trace_layers.push_back({{"name", row.at(0)},
                            {"parameters", 0},
                            {"gradient", row.at(0) + " B"},
                            {"forward", "0 us"},
                            {"backward", row.at(column) + " us"}});
    samples.push_back({{"size", row.at(0) + " B"}, {"time", row.at(column + 1) + " us"}});
  }
  return {{"trace", {{"layers", trace_layers}}},
          {"cluster",
           {{"shape", "single_switch"},
            {"nodes", 2},
            {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}}},
          {"collective", {{"samples", samples}}},
          {"strategy", "wfbp"},
          {"fidelity", "closed_form"}};
}

StepResult replay(const Json& json) {
  const Experiment experiment =
      read_experiment(resolve_experiment(Value(json, "replay", ""), std::vector<std::string>{}));
  return simulate_step(experiment.question());
}

TEST_CASE("b-caffe: replaying measured exchanges under WFBP gives what is not overlapped") {
  const auto rows =
      cells_of(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/googlenet_k80_exchanges.csv");
  REQUIRE(rows.size() == layers);
  // The recurrence over the logs, in ms to one digit: backward, sum of exchanges, end, what
  // is not overlapped. From throughput, 117.0 ms were measured for 8 nodes.
  struct Row {
    std::string log;
    std::size_t column;
    double backward_ms;
    double exchanges_ms;
    double end_ms;
    double exposed_ms;
  };
  const std::vector<Row> logs = {{"tmp2comm, 2 nodes", 1, 200.3, 154.0, 200.7, 0.4},
                                 {"tmp4comm, 4 nodes", 3, 206.8, 261.5, 262.0, 55.2},
                                 {"tmp8comm, 8 nodes", 5, 205.3, 310.7, 311.2, 105.9},
                                 {"tmp8ocomm, 8 nodes", 7, 202.3, 319.4, 319.9, 117.6},
                                 {"tmpcomm, nodes not stated", 9, 201.5, 166.8, 202.1, 0.5}};
  for (const Row& log : logs) {
    INFO(log.log);
    const StepResult result = replay(experiment_of(rows, log.column));
    auto to_one_digit = [](Duration time) { return std::round(time.us() / 100) / 10; };
    CHECK(to_one_digit(result.mean.backward) == log.backward_ms);
    CHECK(to_one_digit(result.mean.communication) == log.exchanges_ms);
    CHECK(to_one_digit(result.iterations.front()) == log.end_ms);
    CHECK(to_one_digit(result.mean.exposed) == log.exposed_ms);
    CHECK(result.messages.size() == layers);
  }
}

}  // namespace
}  // namespace sgdsim
