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
Trace astra_text(const LogText& log);
Trace kineto(const LogText& log);

// Whether a content looks like the format.
bool is_layers_csv(std::string_view text);
bool is_b_caffe_log(std::string_view text);
bool is_netai_log(std::string_view text);
bool is_mgwfbp_log(std::string_view text);
bool is_astra_text(std::string_view text);
bool is_kineto(std::string_view text);

struct TraceFormat {
  std::string_view name;
  std::string_view description;
  std::string_view example;  // a file to try it on
  Trace (*read)(const LogText& log) = nullptr;
  bool (*fits)(std::string_view text) = nullptr;
  bool has_own_command = false;  // several files, or options of its own
};

inline constexpr std::array<TraceFormat, 6> trace_formats{{
    {"layers-csv", "A table of layers: index,name,params,bytes,fwd_us,bwd_us",
     "tests/data/layers.csv", layers_csv, is_layers_csv},
    {"b-caffe-log", "A log of B-Caffe: [param_id, parameters, backward_us, comm_us]",
     "tests/data/b_caffe.log", b_caffe_log, is_b_caffe_log},
    {"netai-log", "Waits per gradient of the NetAI'20 study: wait_us,bytes",
     "tests/data/netai.bk.log", netai_log, is_netai_log},
    {"mgwfbp-log", "A log of MG-WFBP for PyTorch: layerwise backward times and sizes",
     "tests/data/mgwfbp.log", mgwfbp_log, is_mgwfbp_log},
    {"astra-text", "A workload of ASTRA-sim 1 or SimAI as text", "tests/data/astra_text.txt",
     astra_text, is_astra_text},
    {"kineto", "Traces of PyTorch's profiler (Kineto), one file per rank", "tests/data/kineto.json",
     kineto, is_kineto, true},
}};

}  // namespace sgdsim
