// What sites exchange, of the first layout of an answer: for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "study/layout/layout_output.h"

namespace sgdsim {

struct ToldSites {
  int64_t sites = 2;
  int64_t gpus = 1;       // of each
  int64_t sequences = 1;  // likewise
  int64_t every = 1;
  int64_t fragments = 1;
  double bits = 0;
  double sent_B = 0;  // of a site, in each exchange
  Duration exchange;
  double busy = 0;                      // of the step
  std::optional<double> host_GiB = {};  // of a GPU
};
// Nothing where all GPUs are at one.
std::optional<ToldSites> told_sites(const LayoutQuestion& question, const LayoutAnswer& answer);
Fields fields_of(const ToldSites& told);
std::string text_of(const ToldSites& told);
// What the times of a training do not say.
std::vector<std::string> notes_on(const Sites& sites);

}  // namespace sgdsim
