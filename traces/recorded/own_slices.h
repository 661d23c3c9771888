// The slices of a timeline of sgdsim, and what they are of.
#pragma once

#include <string>
#include <vector>

#include "sim/core/byte_source.h"

namespace sgdsim {

struct OwnSlice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t process = 0;
  int64_t iteration = 0;
  int64_t chunk = 0;
  int64_t micro_batch = -1;
  int64_t layer = -1;
  int64_t first_layer = -1;  // of messages
  int64_t last_layer = -1;
  std::string name;
  std::string category;
  std::string pass;
};

struct OwnSlices {
  std::string config;   // a layout, or the digest of an experiment
  std::string command;  // that wrote it; empty: not said, as of older versions
  std::vector<OwnSlice> slices;
  std::vector<std::pair<int64_t, std::string>> processes;
  bool is_cut_off = false;
};

OwnSlices read_own_slices(ByteSource& source);

}  // namespace sgdsim
