// Traces as files of other programs, and what those files cannot hold.
#pragma once

#include <string>
#include <vector>

#include "sim/work/trace.h"

namespace sgdsim {

struct ExportedTrace {
  std::string text;
  std::vector<std::string> lost;  // sentences
};

// A table that `sgdsim import layers-csv` reads back to the same layers. InputError for a name that
// no cell can hold.
ExportedTrace to_layers_csv(const Trace& trace, const std::string& where);

// A workload of ASTRA-sim and SimAI with data parallelism. The backward time of a layer is that of
// its weight gradient, so that the gradient is ready when it ends. Times are whole nanoseconds,
// rounded so that sums are off by at most half of one; blanks in names become underscores.
ExportedTrace to_astra_text(const Trace& trace);

}  // namespace sgdsim
