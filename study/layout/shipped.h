// The models and GPUs that ship, carried inside the program, so that a name is enough. The build
// writes the tables behind this header; names are file names without ".json", in alphabetical
// order.
#pragma once

#include <span>
#include <string_view>

namespace sgdsim {

struct ShippedFile {
  std::string_view name;
  std::string_view text;
};

std::span<const ShippedFile> shipped_models();
std::span<const ShippedFile> shipped_gpus();

}  // namespace sgdsim
