// An experiment for formulas: one layer, whose gradient of 100 MB is ready when 30 ms have passed,
// and a ring of 16 workers at 10 Gbit/s, two links of 10 us apart.
#pragma once

#include "sim/core/json.h"

namespace sgdsim {

inline Json one_layer() {
  return {{"schema", "sgdsim/experiment/1"},
          {"name", "one"},
          {"trace",
           {{"schema", "sgdsim/trace/1"},
            {"name", "t"},
            {"model", "m"},
            {"batch", 8},
            {"layers",
             {{{"name", "a"},
               {"parameters", 25000000},
               {"forward", "10 ms"},
               {"backward", "20 ms"}}}}}},
          {"cluster",
           {{"schema", "sgdsim/cluster/1"},
            {"name", "c"},
            {"shape", "single_switch"},
            {"nodes", 16},
            {"nic", {{"latency", "10 us"}, {"bandwidth", "10 Gbps"}}}}},
          {"collective", "ring"},
          {"strategy", "wfbp"},
          {"fidelity", "closed_form"}};
}

}  // namespace sgdsim
