// Residuals into the alarm; causes beside them.
#include "study/diagnose/follow.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/name_order.h"
#include "study/table.h"

namespace sgdsim {
namespace {

// "+3.1 %". Steps are means of whole picoseconds: what is less than 1e-9 is rounding.
std::string change_text(double residual) {
  const double part = std::abs(residual) < 1e-9 ? 0 : std::expm1(residual);
  return (part < 0 ? "-" : "+") + part_text(std::abs(part));
}

}  // namespace

bool Follower::add(FoundRecord found) {
  const std::string file = found.record.file;
  DiagnoseAnswer answer;
  answer.file = file;
  answer.worker_names = found.record.workers;
  answer.work =
      diagnose::clocked_work(std::move(found.record), diagnose::ClockRule::by_record, found.clocks)
          .work;
  check_alike(answer.work, prediction_, file);
  std::vector<diagnose::Part> causes = causes_of(answer.work);
  if (causes_.empty()) {
    causes_ = std::move(causes);
    usual_.assign(causes_.size() + 1, 0);
  } else if (causes.size() != causes_.size() || answer.work.replicas != names_.work.replicas) {
    throw InputError(file, "has other workers or links than the records before: " +
                               std::to_string(answer.work.replicas) + " replicas of " +
                               std::to_string(answer.work.stages) + " stages");
  }
  const std::vector<diagnose::StepTimes> steps = step_times_of(answer.work);
  for (const std::string& note : answer.work.left_out) out_ << "note: " << note << '\n';
  names_ = std::move(answer);
  return std::any_of(steps.begin(), steps.end(),
                     [&](const diagnose::StepTimes& step) { return add_step(step); });
}

bool Follower::add_step(const diagnose::StepTimes& step) {
  if (!(step.time_s > 0)) return false;
  const double residual = std::log(step.time_s / prediction_.step_s);
  const bool is_reference = !alarm_.is_ready();
  alarm_.add(residual);
  numbers_.push_back(step.step);
  last_s_ = step.time_s;
  std::vector<double> causes = step.causes;
  causes.push_back(step.times[static_cast<std::size_t>(diagnose::TimePart::launch)]);
  if (is_reference) {
    for (std::size_t i = 0; i < causes.size(); ++i) usual_[i] += causes[i];
  } else if (alarm_.since() == 0) {
    recent_.clear();
  } else {
    if (alarm_.since() == 1) recent_.clear();
    recent_.push_back(std::move(causes));
  }
  out_ << "step " << step.step << ": " << short_duration(step.time_s * 1e6, 4) << ", "
       << change_text(residual) << " of the prediction, smoothed "
       << change_text(alarm_.smoothed());
  if (is_reference)
    out_ << ", reference\n";
  else
    out_ << ", cusum " << rounded(std::max(alarm_.up(), alarm_.down()), 3) << " of "
         << rounded(rule_.h, 3) << '\n';
  if (alarm_.sign() == 0) return false;
  alarm_text_ = std::string("steps have become ") + (alarm_.sign() > 0 ? "slower" : "faster") +
                " since step " + std::to_string(first_since()) + ": " + blamed();
  return true;
}

int64_t Follower::first_since() const {
  const auto since = static_cast<std::size_t>(std::max(1, alarm_.since()));
  return numbers_[numbers_.size() - std::min(since, numbers_.size())];
}

// Which cause moved most, the way the steps did.
std::string Follower::blamed() const {
  std::size_t most = 0;
  double most_s = 0;
  for (std::size_t i = 0; i < usual_.size(); ++i) {
    double now_s = 0;
    for (const std::vector<double>& one : recent_) now_s += one[i];
    now_s /= static_cast<double>(std::max<std::size_t>(1, recent_.size()));
    const double by_s = (now_s - usual_[i] / rule_.reference) * alarm_.sign();
    if (by_s > most_s) {
      most_s = by_s;
      most = i;
    }
  }
  if (most_s == 0) return "no part that was recorded";
  const std::string part =
      most == causes_.size() ? "delays between operations" : part_words(names_, causes_[most]);
  return part + ", by " + short_duration(most_s * 1e6) + " a step";
}

void Follower::print_prometheus(std::ostream& out) const {
  out << "# TYPE sgdsim_step_seconds gauge\n"
      << "sgdsim_step_seconds{of=\"measured\"} " << Json(last_s_).dump() << '\n'
      << "sgdsim_step_seconds{of=\"predicted\"} " << Json(prediction_.step_s).dump() << '\n'
      << "# TYPE sgdsim_cusum gauge\n"
      << "sgdsim_cusum{side=\"slower\"} " << Json(alarm_.up()).dump() << '\n'
      << "sgdsim_cusum{side=\"faster\"} " << Json(alarm_.down()).dump() << '\n'
      << "# TYPE sgdsim_steps_total counter\n"
      << "sgdsim_steps_total " << numbers_.size() << '\n'
      << "# TYPE sgdsim_alarm gauge\n"
      << "sgdsim_alarm " << (has_alarm() ? 1 : 0) << '\n';
}

std::vector<std::string> new_files(const std::string& folder, std::set<std::string>& seen) {
  std::vector<std::string> files;
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none))
    throw InputError("--follow", "\"" + folder + "\" is no folder");
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().string();
    const bool may_be_record =
        entry.is_directory(none) || name.ends_with(".json") || name.ends_with(".json.gz");
    if (may_be_record && !seen.contains(name)) files.push_back(name);
  }
  std::sort(files.begin(), files.end(), counts_before);
  seen.insert(files.begin(), files.end());
  return files;
}

}  // namespace sgdsim
