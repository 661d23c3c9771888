// Groups of tasks with the same ranks share buffers; time is divided among groups by their tasks.
#include "calibrate/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "calibrate/tasks/pattern.h"
#include "sim/core/quantity.h"

namespace sgdsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_ups = 2;
constexpr int samples_a_visit = 5;
constexpr double resolutions_a_sample = 50;  // then a step of the clock is 2 % at most
constexpr int most_rounds = 50;
// So many tasks that no gate has waited for, and none that it has, are no matter of one task.
constexpr int misses_that_tell = 3;
// In which a GPU does not lower its clock rate.
constexpr std::chrono::milliseconds longest_pause{20};

// Whether runs begin at the gate. Launches beyond the length of a queue wait until the gate opens,
// which it then does not.
struct Gates {
  int most_rounds = calibrate::most_rounds;  // as many launches fit into the queue
  bool has_waited = false;                   // for any run
  int misses = 0;                            // tasks
};

class Group {
 public:
  Group(Backend& backend, const std::vector<Task>& tasks, std::size_t from, std::size_t end,
        const MeasureOptions& options, const Watcher& watcher, Gates& gates, Outcome& outcome)
      : backend_(backend),
        tasks_(tasks),
        from_(from),
        end_(end),
        options_(options),
        watcher_(watcher),
        gates_(gates),
        outcome_(outcome) {}

  void prepare() {
    doing_ = "making buffers for " + std::to_string(tasks_[from_].plan.ranks) + " ranks";
    Room room;
    for (std::size_t i = from_; i < end_; ++i) room.grow_to(tasks_[i].plan.room);
    backend_.prepare(tasks_[from_].plan.ranks, room);
  }

  // Until the time is over: what was not verified is not timed.
  void verify(Clock::time_point deadline) {
    for (std::size_t i = from_; i < end_; ++i) {
      if (is_over(deadline)) return;
      const Task& task = tasks_[i];
      doing_ = "verifying " + text_of(task);
      backend_.load(task.plan, task.type);
      write(task, task.before);
      backend_.play();
      const bool is_right = check(task);
      outcome_.points[i].verified = is_right;
      outcome_.points[i].is_wrong = !is_right;
    }
  }

  // Until every task is sure of its median, or the group's time is over; every task is visited once
  // before that counts, if there is time at all.
  void repeat(Clock::time_point deadline, Clock::time_point end_of_all) {
    bool any_left = true;
    for (bool first = true; any_left; first = false) {
      any_left = false;
      for (std::size_t i = from_; i < end_; ++i) {
        Measured& point = outcome_.points[i];
        if (!point.verified || point.cannot_be_timed) continue;
        if (options_.rule.is_enough(point.samples_us.size(), point.medians_us())) continue;
        if (is_over(first ? end_of_all : deadline)) return;
        visit(tasks_[i], point);
        any_left = true;
      }
    }
  }

  const std::string& doing() const { return doing_; }

 private:
  bool is_over(Clock::time_point deadline) {
    const bool is_over = backend_.any(watcher_.is_interrupted() || Clock::now() > deadline);
    outcome_.is_complete = outcome_.is_complete && !is_over;
    return is_over;
  }

  // content(rank), of every rank that is here.
  template <class F>
  void write(const Task& task, const F& content) {
    for (int rank = 0; rank < task.plan.ranks; ++rank)
      if (backend_.has(rank, task.plan.ranks))
        for (const Stretch& stretch : content(rank)) backend_.write(rank, stretch);
  }

  bool check(const Task& task) {
    std::vector<std::string> lines;
    for (int rank = 0; rank < task.plan.ranks; ++rank) {
      if (!backend_.has(rank, task.plan.ranks)) continue;
      const int64_t wrong = first_wrong(task, rank);
      if (wrong >= 0)
        lines.push_back(text_of(task) + ": element " + std::to_string(wrong) + " of rank " +
                        std::to_string(rank) + " is wrong");
    }
    lines = backend_.of_all(lines);
    outcome_.wrong.insert(outcome_.wrong.end(), lines.begin(), lines.end());
    return lines.empty();
  }

  int64_t first_wrong(const Task& task, int rank) {
    if (task.first_broken)
      return task.first_broken(rank, backend_.read(rank, task.plan.room.data_B));
    for (const Stretch& stretch : task.after(rank))
      if (const int64_t wrong_B = backend_.first_difference(rank, stretch); wrong_B >= 0)
        return wrong_B / size_of(task.type);
    return -1;
  }

  void visit(const Task& task, Measured& point) {
    watcher_.progress(text_of(task));
    doing_ = "timing " + text_of(task);
    backend_.load(task.plan, task.type);
    // Anew, because sums of sums end as infinities, which draw less power and which a CPU adds
    // slowly.
    write(task, [&](int rank) {
      return task.plan.room.data_B > 0 ? Stretches{noise(task.type, rank, task.plan.room.data_B)}
                                       : Stretches{};
    });
    if (Clock::now() - idle_since_ > longest_pause) backend_.warm_up();
    bool is_first = true;
    for (int i = 0; i < warm_ups + samples_a_visit; ++i) {
      if (backend_.any(watcher_.is_interrupted())) break;
      if (options_.cold && i >= warm_ups) backend_.flush_caches();
      const double us = run_us(point);
      if (std::isnan(us)) return miss(task, point);
      is_first = is_first || point.visits.empty();
      if (i + 1 == warm_ups && point.rounds == 0) point.rounds = rounds_for(us);
      if (i < warm_ups) continue;
      if (std::exchange(is_first, false)) point.visits.push_back(0);
      point.samples_us.push_back(us / task.repeats);
      if (const double clock_MHz = backend_.clock_MHz(); clock_MHz > 0)
        point.clocks_MHz.push_back(clock_MHz);
      ++point.visits.back();
    }
    idle_since_ = Clock::now();
  }

  // Of one run. Where the launches of several do not begin together, half as many are tried, of
  // this task and of all after it; samples of more rounds are then those of something else.
  double run_us(Measured& point) {
    const int at_first = std::max(point.rounds, 1);
    for (int rounds = at_first;; rounds /= 2) {
      const double us = backend_.run_us(rounds);
      if (std::isnan(us) && rounds > 1 && !backend_.any(watcher_.is_interrupted())) continue;
      if (std::isnan(us)) return us;
      gates_.has_waited = true;
      if (rounds < at_first) {
        gates_.most_rounds = std::min(gates_.most_rounds, rounds);
        point = {.samples_us = {}, .verified = true, .rounds = rounds};
      }
      return us;
    }
  }

  // Caches are cold for one run only.
  int rounds_for(double us) const {
    const double least_us = resolutions_a_sample * backend_.resolution_us();
    if (options_.cold || us >= least_us) return 1;
    const double rounds = std::ceil(least_us / std::max(us, 1e-9));
    return static_cast<int>(std::min(rounds, static_cast<double>(gates_.most_rounds)));
  }

  // Streams that do not begin together give no time, and every try takes as long as the gate waits:
  // the task is not visited again. What was measured before stays.
  void miss(const Task& task, Measured& point) {
    point.cannot_be_timed = true;
    outcome_.is_complete = false;
    outcome_.notes.push_back("not timed: " + text_of(task) + ": the GPU did not wait until its " +
                             std::to_string(task.plan.steps.size()) +
                             " steps were queued, as where they are more than the queue takes");
    if (++gates_.misses >= misses_that_tell && !gates_.has_waited)
      throw std::runtime_error(
          "the GPU did not wait for the start of any run: launches block, as under "
          "CUDA_LAUNCH_BLOCKING, a profiler or a sanitizer. Without them times can be measured; "
          "with --verify-only results are checked under them, too");
  }

  Backend& backend_;
  const std::vector<Task>& tasks_;
  std::size_t from_;
  std::size_t end_;
  const MeasureOptions& options_;
  const Watcher& watcher_;
  Gates& gates_;
  Outcome& outcome_;
  std::string doing_;
  Clock::time_point idle_since_;  // long ago, as nothing has been timed yet
};

Clock::time_point after(Clock::time_point start, double seconds) {
  return start + std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(std::min(seconds, 1e9)));
}

// "4 KiB to 16 MiB", of tasks in ascending order.
std::string sizes_text(const std::vector<const Task*>& tasks) {
  if (tasks.front()->bytes == 0) return "";
  std::string text = ", " + to_text(Bytes(tasks.front()->bytes));
  if (tasks.size() > 1) text += " to " + to_text(Bytes(tasks.back()->bytes));
  return text;
}

// Whether a series of the same operation and algorithm differs in its note.
bool has_ways(const Task& task) { return task.operation == "copy" || task.algorithm == "nccl"; }

}  // namespace

void Task::fill(int rank, std::vector<std::byte>& data) const {
  data.resize(static_cast<std::size_t>(plan.room.data_B));
  for (const Stretch& stretch : before(rank)) write(stretch, data.data());
}

int64_t Task::first_wrong(int rank, const std::vector<std::byte>& data) const {
  if (first_broken) return first_broken(rank, data);
  for (const Stretch& stretch : after(rank))
    if (const int64_t wrong_B = first_difference(stretch, data.data()); wrong_B >= 0)
      return wrong_B / size_of(type);
  return -1;
}

std::string text_of_series(const Task& task) {
  Task without = task;
  without.bytes = 0;
  std::string text = text_of(without);
  if (task.bytes > 0) text += ", " + std::string(name_of(task.type));
  return text;
}

std::vector<std::string> missing_of(const std::vector<Task>& tasks, const Outcome& outcome,
                                    bool verify_only) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < tasks.size();) {
    std::size_t end = from;
    std::vector<const Task*> missing;
    for (; end < tasks.size() && is_same_series(tasks[from], tasks[end]); ++end) {
      const Measured& point = outcome.points[end];
      const bool is_there = verify_only ? point.verified : !point.samples_us.empty();
      if (!is_there && !point.is_wrong) missing.push_back(&tasks[end]);
    }
    if (!missing.empty())
      lines.push_back(std::string(verify_only ? "not verified: " : "not measured: ") +
                      text_of_series(tasks[from]) + sizes_text(missing) + " (" +
                      std::to_string(missing.size()) + " of " + std::to_string(end - from) + ")");
    from = end;
  }
  return lines;
}

std::vector<std::string> leave_out_what_has_no_room(const Backend& backend,
                                                    std::vector<Task>& tasks) {
  std::vector<std::string> reasons;
  std::vector<Task> kept;
  Room room;
  int ranks = 0;
  for (Task& task : tasks) {
    if (task.plan.ranks != ranks) room = {};
    ranks = task.plan.ranks;
    Room with = room;
    with.grow_to(task.plan.room);
    const std::string why_not = backend.why_no_room(ranks, with);
    if (!why_not.empty()) {
      reasons.push_back("left out: " + text_of(task) + ": " + why_not);
      continue;
    }
    room = with;
    kept.push_back(std::move(task));
  }
  tasks = std::move(kept);
  return reasons;
}

bool is_same_series(const Task& a, const Task& b) {
  return a.operation == b.operation && a.algorithm == b.algorithm && a.type == b.type &&
         a.plan.ranks == b.plan.ranks && a.note == b.note && a.block_B == b.block_B;
}

std::string text_of(const Task& task) {
  std::string text = task.operation;
  if (!task.algorithm.empty()) text += " " + task.algorithm;
  if (has_ways(task) && !task.note.empty()) text += " (" + task.note + ")";
  text += ", " + std::to_string(task.plan.ranks) + (task.plan.ranks == 1 ? " rank" : " ranks");
  if (task.bytes > 0)
    text += ", " + to_text(Bytes(task.bytes)) + " of " + std::string(name_of(task.type));
  if (task.block_B) text += ", blocks of " + to_text(Bytes(*task.block_B));
  return text;
}

Outcome measure(Backend& backend, const std::vector<Task>& tasks, const MeasureOptions& options,
                const Watcher& watcher) {
  Outcome outcome;
  Gates gates;
  outcome.points.resize(tasks.size());
  backend.set_interrupt(watcher.is_interrupted);
  const Clock::time_point start = Clock::now();
  const Clock::time_point end_of_all = after(start, options.time_limit_s);
  for (std::size_t from = 0; from < tasks.size();) {
    std::size_t end = from;
    while (end < tasks.size() && tasks[end].plan.ranks == tasks[from].plan.ranks) ++end;
    Group group(backend, tasks, from, end, options, watcher, gates, outcome);
    try {
      group.prepare();
      const double share = static_cast<double>(end) / static_cast<double>(tasks.size());
      const Clock::time_point end_of_group = after(start, options.time_limit_s * share);
      group.verify(end_of_group);
      if (!options.verify_only) group.repeat(end_of_group, end_of_all);
      outcome.is_interrupted = backend.any(watcher.is_interrupted());
    } catch (const std::exception& error) {
      outcome.failure = group.doing() + ": " + error.what();
      outcome.is_interrupted = watcher.is_interrupted();
    }
    if (outcome.is_interrupted || !outcome.failure.empty()) {
      outcome.is_complete = false;
      break;
    }
    from = end;
  }
  return outcome;
}

}  // namespace sgdsim::calibrate
