// What files of training programs say of fine-tuning and of the host.
#pragma once

#include <string>
#include <vector>

#include "study/layout/foreign_layout.h"

namespace sgdsim {

// Names of a program for adapters with frozen weights.
struct AdapterNames {
  std::vector<std::string> methods;  // "lora", or none
  std::vector<std::string> ranks;
  std::vector<std::string> targets;    // matrices that have some
  std::vector<std::string> bits = {};  // of frozen weights
  int64_t usual_rank = 8;              // where nothing is said
  bool by_rank = true;                 // a rank alone means adapters: no method needs to be said
};
AdapterNames adapters_of_nemo();
AdapterNames adapters_of_axolotl();
AdapterNames adapters_of_factory();
AdapterNames adapters_of_swift();
AdapterNames adapters_of_slime();

void read_adapters(const FlatSettings& settings, const AdapterNames& names, ForeignLayout& found);

// What goes to the host: `cpu_offloading` of layers, and the optimizer. The stages are known.
void read_offload(const FlatSettings& settings, const Transformer& model, ForeignLayout& found);

}  // namespace sgdsim
