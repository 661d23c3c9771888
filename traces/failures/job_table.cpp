// Jobs of the scheduler of Acme (InternLM/AcmeTrace; Hu et al., NSDI 2024). A job is a spell of its
// nodes: it failed, or was completed or cancelled before it could.
#include <algorithm>
#include <array>

#include "sim/core/error.h"
#include "traces/failures/log_kinds.h"
#include "traces/failures/record_writer.h"
#include "traces/failures/time_stamp.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::array needed = {"node_num", "gpu_num", "state", "start_time", "end_time"};
// Ends that say nothing against the machine; a job that reached its time limit ran until then.
constexpr std::array harmless = {"completed", "cancelled", "preempted",
                                 "running",   "suspended", "timeout"};

class JobTable {
 public:
  JobTable(const LogText& log, const FailureScope& scope)
      : stamps_(log.file), writer_(record_), of_gpus_(unit_of_jobs(scope) == "gpu") {
    record_.file = log.file;
    record_.format = "jobs of Acme";
    record_.unit = of_gpus_ ? "gpu" : "node";
    record_.runs = "job";
    read_rows(log, [this](const auto& cells, const TableHead& head, const std::string& where) {
      read_row(cells, head, where);
    });
  }
  FailureRecord take() {
    if (record_.spells.empty()) throw InputError(record_.file, "has no job that ran on GPUs");
    writer_.note_left_out(without_gpus_, "jobs without GPUs were left out");
    writer_.note_left_out(without_times_, "jobs without a start or an end were left out");
    record_.notes.emplace_back(
        "a job that FAILED may have failed by a mistake of its own; only NODE_FAIL names the "
        "machine");
    writer_.finish();
    return std::move(record_);
  }

 private:
  void read_row(const std::vector<std::string>& cells, const TableHead& head,
                const std::string& where) {
    const auto cell = [&](const char* name) -> const std::string& {
      return cells[head.find(name)->second];
    };
    constexpr double most = 1e7;
    const double nodes = number_in(cell("node_num"), "a number of nodes", where);
    const double gpus = number_in(cell("gpu_num"), "a number of GPUs", where);
    if (nodes > most || gpus > most)
      throw InputError(where, "has more nodes or GPUs than there are");
    if (gpus == 0 || nodes == 0) {
      ++without_gpus_;
      return;
    }
    if (cell("start_time").empty() || cell("end_time").empty()) {
      ++without_times_;
      return;
    }
    const double from_s = stamps_.read(cell("start_time"), where);
    const double to_s = stamps_.read(cell("end_time"), where);
    if (to_s < from_s) throw InputError(where, "ends before it starts");
    const std::string state = lower(cell("state"));
    const bool failed = std::find(harmless.begin(), harmless.end(), state) == harmless.end();
    const double units = of_gpus_ ? gpus : nodes;
    writer_.run(from_s, to_s, units, failed ? writer_.cause(state, where) : -1);
  }

  TimeStamps stamps_;
  FailureRecord record_;
  RecordWriter writer_;
  bool of_gpus_;
  int64_t without_gpus_ = 0;
  int64_t without_times_ = 0;
};

}  // namespace

bool is_job_table(const TableHead& head) {
  return std::all_of(needed.begin(), needed.end(),
                     [&](const char* name) { return head.contains(name); });
}

FailureRecord read_job_table(const LogText& log, const FailureScope& scope) {
  return JobTable(log, scope).take();
}

}  // namespace sgdsim
