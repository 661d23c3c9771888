// Jobs of the scheduler of Acme (InternLM/AcmeTrace; Hu et al., NSDI 2024), or of Slurm's sacct. A
// job is a spell of its nodes: it failed, or was completed or cancelled before it could.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

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

// Other states of Slurm.
constexpr std::array other_states = {"boot_fail", "completing", "configuring",   "deadline",
                                     "failed",    "node_fail",  "out_of_memory", "pending",
                                     "requeued",  "resizing",   "revoked",       "special_exit",
                                     "stopped"};

// The state that is this word, or the only one that begins with it; empty: there is none.
std::string state_of(std::string_view word, bool is_cut) {
  std::set<std::string> found;
  const auto look = [&](const auto& states) {
    for (const std::string state : states)
      if (state == word || (is_cut && state.starts_with(word))) found.insert(state);
  };
  look(harmless);
  look(other_states);
  return found.size() == 1 ? *found.begin() : "";
}

// sacct says "CANCELLED by 1003", and cuts what is longer than its column: "CANCELLED+",
// "OUT_OF_ME+".
std::string state_in(const std::string& cell) {
  const std::string all = lower(cell);
  std::string_view word = std::string_view(all).substr(0, all.find(' '));
  const bool is_cut = word.ends_with('+');
  if (is_cut) word.remove_suffix(1);
  const std::string state = word.empty() ? "" : state_of(word, is_cut);
  return state.empty() ? all : state;
}

// sacct says "Unknown" of what is not over, and "None" of what has not begun.
bool is_no_moment(const std::string& cell) {
  const std::string word = lower(cell);
  return word.empty() || word == "unknown" || word == "none";
}

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
    if (is_no_moment(cell("start_time")) || is_no_moment(cell("end_time"))) {
      ++without_times_;
      return;
    }
    const double from_s = stamps_.read(cell("start_time"), where);
    const double to_s = stamps_.read(cell("end_time"), where);
    if (to_s < from_s) throw InputError(where, "ends before it starts");
    const std::string state = state_in(cell("state"));
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
