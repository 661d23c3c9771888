// Attempts of the jobs of Philly (msr-fiddle/philly-traces; Jeon et al., ATC 2019). An attempt that
// is followed by another one failed; the last one ended as its job did.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "traces/failures/log_kinds.h"
#include "traces/failures/record_writer.h"
#include "traces/failures/time_stamp.h"

namespace sgdsim {
namespace {

class AttemptLog {
 public:
  AttemptLog(const LogText& log, const FailureScope& scope)
      : stamps_(log.file), writer_(record_), of_gpus_(unit_of_jobs(scope) == "gpu") {
    record_.file = log.file;
    record_.format = "attempts of Philly";
    record_.unit = of_gpus_ ? "gpu" : "node";
    record_.runs = "attempt";
    record_.named = "machine";
    const Json json = foreign_json(log.text, log.file);
    const Value jobs(json, log.file, "");
    for (const Value& job : jobs.items()) read_job(job);
  }
  FailureRecord take() {
    if (record_.spells.empty()) throw InputError(record_.file, "has no attempt that ran on GPUs");
    writer_.note_left_out(without_times_, "attempts without a start or an end were left out");
    writer_.note_left_out(without_gpus_, "attempts without GPUs were left out");
    record_.notes.emplace_back(
        "an attempt may have failed by a mistake of its own, and it counts for each of its "
        "machines");
    record_.unit_count = static_cast<double>(record_.units.size());
    writer_.finish();
    return std::move(record_);
  }

 private:
  // "None" and null stand for what was not recorded.
  std::optional<double> moment(const Value& attempt, const char* name) {
    const Json& json = attempt.json();
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) return {};
    const Value value = attempt.child(name);
    if (value.text() == "None" || value.text().empty()) return {};
    return stamps_.read(value.text(), value.where());
  }
  void read_job(const Value& job) {
    const std::string status = job.child("status").text();
    const Value attempts = job.child("attempts");
    const std::size_t count = attempts.size();
    std::size_t number = 0;
    for (const Value& attempt : attempts.items()) {
      const bool is_last = ++number == count;
      read_attempt(attempt, !is_last ? "retried" : status == "Failed" ? "failed" : "");
    }
  }
  // `cause`: empty if it did not fail.
  void read_attempt(const Value& attempt, const std::string& cause) {
    const auto from_s = moment(attempt, "start_time");
    const auto to_s = moment(attempt, "end_time");
    if (!from_s || !to_s) {
      ++without_times_;
      return;
    }
    if (*to_s < *from_s) attempt.fail("ends before it starts");
    const double length_s = *to_s - *from_s;
    double units = 0;
    for (const Value& machine : attempt.child("detail").items()) {
      const auto gpus = static_cast<double>(machine.child("gpus").size());
      if (gpus == 0) continue;
      units += of_gpus_ ? gpus : 1;
      FailureRecord::Unit& unit = writer_.unit(machine.child("ip").text());
      unit.seen_s += of_gpus_ ? gpus * length_s : length_s;
      unit.failures += cause.empty() ? 0 : 1;
    }
    if (units == 0) {
      ++without_gpus_;
      return;
    }
    writer_.run(*from_s, *to_s, units, cause.empty() ? -1 : writer_.cause(cause, attempt.where()));
  }

  TimeStamps stamps_;
  FailureRecord record_;
  RecordWriter writer_;
  bool of_gpus_;
  int64_t without_times_ = 0;
  int64_t without_gpus_ = 0;
};

}  // namespace

bool is_attempt_log(std::string_view text) {
  return first_of_json(text) == '[' && text.find("\"attempts\"") != std::string_view::npos &&
         text.find("\"jobid\"") != std::string_view::npos;
}

FailureRecord read_attempt_log(const LogText& log, const FailureScope& scope) {
  return AttemptLog(log, scope).take();
}

}  // namespace sgdsim
