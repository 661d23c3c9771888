// Known by how they begin or what they are called.
#include "traces/unread.h"

#include "traces/flows_csv.h"
#include "traces/goal.h"
#include "traces/htsim_matrix.h"

namespace sgdsim {

std::string why_unread(std::string_view text, const std::string& file) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  const std::string instead =
      ", which no command reads; record the steps with torch.profiler: sgdsim advise, import "
      "kineto and diagnose read its files";
  const bool is_sqlite = text.starts_with("SQLite format 3");
  if (file.ends_with(".nsys-rep") || file.ends_with(".qdrep") || is_sqlite || has("CUPTI_ACTIVITY"))
    return "is a recording of Nsight Systems (nsys) or another database" + instead;
  const std::string_view first_line = text.substr(0, text.find('\n'));
  for (const char* column : {"Duration (ns)", "Total Time (ns)"})
    if (first_line.find(column) != std::string_view::npos)
      return "is a table of Nsight Systems (nsys stats)" + instead;
  if (is_goal(text)) return "is a schedule in GOAL; `sgdsim replay FILE` simulates it";
  const bool is_matrix = is_htsim_matrix(text) && has("->");
  if (is_matrix || is_flows_csv(text))
    return std::string("is ") + (is_matrix ? "a connection matrix of htsim" : "a table of flows") +
           "; `sgdsim traffic FILE -c CLUSTER` simulates it";
  if (file.ends_with(".et") || file.ends_with(".et.gz"))
    return "is the trace of one rank by Chakra; `sgdsim replay FILE...` simulates those of all "
           "ranks, and `sgdsim diagnose FOLDER` compares the ranks if the traces have times";
  if (has(" NCCL INFO "))
    return "is what NCCL prints with NCCL_DEBUG, which holds no times; record NCCL's Inspector "
           "(NCCL_INSPECTOR_ENABLE=1, NCCL_INSPECTOR_DUMP_VERBOSE=1), and give its logs";
  return "";
}

}  // namespace sgdsim
