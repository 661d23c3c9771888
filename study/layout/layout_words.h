// The words of a question about layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/limits.h"
#include "study/question_fields.h"

namespace sgdsim {

struct LayoutWords {
  std::string model;
  std::string cluster;
  std::vector<std::string> settings;  // of the cluster
  std::string gpu;                    // empty: the cluster's
  std::string precision = "bf16";
  std::string gradients;                // nothing: fp32
  std::vector<std::string> algorithms;  // of collectives
  std::string memory;
  std::string reserve;
  std::string layout;
  std::string near;  // a layout
  std::string with;  // words of all layouts of a search
  std::string documents;
  std::string tokens;
  std::string goodput;
  std::string sites;
  std::string program = "any";
  int64_t gpus = 0;
  int64_t sequence = 0;
  int64_t batch = 0;
  std::optional<int64_t> lines;
  std::string fidelity = "closed_form";
  std::string routing;
  std::string transport;
  std::string traffic;
  std::string workers;
  std::optional<uint64_t> seed;
  LimitArguments limits;
  int iterations = 0;
  std::vector<std::string> axes;
  bool breaks = false;
  bool margins = false;
};

Fields layout_fields(LayoutWords& words);

}  // namespace sgdsim
