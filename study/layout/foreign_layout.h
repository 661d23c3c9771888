// Layouts as training programs say them: flags of Megatron-LM, YAML of NeMo, axolotl and others,
// JSON of DeepSpeed, TOML of torchtitan, variables of NVIDIA's scripts for MLPerf.
//
// What they leave open is the number of GPUs. Settings that change how a step is laid out and that
// are not modelled are refused by name; all others are passed over.
#pragma once

#include <optional>

#include "models/training/layout.h"
#include "study/layout/flat_settings.h"

namespace sgdsim {

struct ForeignLayout {
  std::string program;  // "Megatron-LM"
  Layout layout;
  std::optional<int64_t> sequence = {};
  std::vector<std::string> notes = {};  // what was assumed
  bool is_text = false;                 // the short text, which need not say everything
  bool says_attention = false;          // a text or file of ours, flash or unfused
};

// On how many GPUs: as the user says, as the file says, or as is usual; 0: nobody says.
struct GpuCount {
  int64_t given = 0;
  int64_t usual = 0;
  int64_t of_node = 0;  // of the cluster
};

// Layers of the model make virtual stages of a number of layers.
ForeignLayout foreign_layout(const FlatSettings& settings, const GpuCount& gpus,
                             const Transformer& model);

}  // namespace sgdsim
