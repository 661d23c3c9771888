// `sgdsim import FORMAT FILE...` for every registered format of logs that say how long steps took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "sim/core/json.h"

namespace sgdsim {

struct StepsFormat;

struct StepsImport {
  std::vector<std::string> files;
  std::string out;  // JSON goes there, if not empty
  std::string format = "table";
  std::optional<int64_t> batch;           // what a log may leave out: samples of a step,
  std::optional<int64_t> tokens_per_gpu;  // and tokens of a step and GPU
  bool force = false;
};

Json schema_of_steps();  // sgdsim/steps/1
void import_steps(const StepsFormat& format, const StepsImport& arguments, Streams streams);

void add_steps_imports(CLI::App& import, Streams streams);

}  // namespace sgdsim
