// Formats of other programs that become traces: one file and one line each. The name is what
// `sgdsim import` calls it; with _ for - it is the file name and the function name.
#pragma once

#include <array>
#include <string_view>

#include "traces/log_text.h"

namespace sgdsim {

Trace layers_csv(const LogText& log);
Trace b_caffe_log(const LogText& log);
Trace netai_log(const LogText& log);
Trace mgwfbp_log(const LogText& log);

struct TraceFormat {
  std::string_view name;
  std::string_view description;
  std::string_view example;  // a file to try it on
  Trace (*read)(const LogText& log) = nullptr;
};

inline constexpr std::array<TraceFormat, 4> trace_formats{{
    {"layers-csv", "A table of layers: index,name,params,bytes,fwd_us,bwd_us",
     "tests/data/layers.csv", layers_csv},
    {"b-caffe-log", "A log of B-Caffe: [param_id, parameters, backward_us, comm_us]",
     "tests/data/b_caffe.log", b_caffe_log},
    {"netai-log", "Waits per gradient of the NetAI'20 study: wait_us,bytes",
     "tests/data/netai.bk.log", netai_log},
    {"mgwfbp-log", "A log of MG-WFBP for PyTorch: layerwise backward times and sizes",
     "tests/data/mgwfbp.log", mgwfbp_log},
}};

}  // namespace sgdsim
