// Groups of tasks with the same ranks share buffers; time is divided among groups by their tasks.
#include "calibrate/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "sim/core/quantity.h"

namespace sgdsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_ups = 2;
constexpr int samples_a_visit = 5;

class Group {
 public:
  Group(Backend& backend, const std::vector<Task>& tasks, std::size_t from, std::size_t end,
        const MeasureOptions& options, const Watcher& watcher, Outcome& outcome)
      : backend_(backend),
        tasks_(tasks),
        from_(from),
        end_(end),
        options_(options),
        watcher_(watcher),
        outcome_(outcome) {}

  void prepare() {
    Room room;
    for (std::size_t i = from_; i < end_; ++i) room.grow_to(tasks_[i].plan.room);
    backend_.prepare(tasks_[from_].plan.ranks, room);
  }

  void verify() {
    for (std::size_t i = from_; i < end_ && !watcher_.is_interrupted(); ++i) {
      const Task& task = tasks_[i];
      backend_.load(task.plan, task.type);
      fill(task);
      backend_.run_us();
      outcome_.points[i].verified = true;
      for (int rank = 0; rank < task.plan.ranks; ++rank) check(task, rank, outcome_.points[i]);
    }
  }

  // Until every task is sure of its median, or the time is over.
  void repeat(Clock::time_point deadline) {
    bool any_left = true;
    for (bool first = true; any_left; first = false) {
      any_left = false;
      for (std::size_t i = from_; i < end_; ++i) {
        Measured& point = outcome_.points[i];
        if (!point.verified || options_.rule.is_enough(point.samples_us)) continue;
        if (watcher_.is_interrupted() || (!first && Clock::now() > deadline)) {
          outcome_.is_complete = false;
          return;
        }
        visit(tasks_[i], point);
        any_left = true;
      }
    }
  }

 private:
  void fill(const Task& task) {
    std::vector<std::byte> data;
    for (int rank = 0; rank < task.plan.ranks; ++rank) {
      task.fill(rank, data);
      backend_.write(rank, data);
    }
  }

  void check(const Task& task, int rank, Measured& point) {
    const int64_t wrong = task.first_wrong(rank, backend_.read(rank, task.plan.room.data_B));
    if (wrong < 0) return;
    point.verified = false;
    outcome_.wrong.push_back(text_of(task) + ": element " + std::to_string(wrong) + " of rank " +
                             std::to_string(rank) + " is wrong");
  }

  void visit(const Task& task, Measured& point) {
    watcher_.progress(text_of(task));
    backend_.load(task.plan, task.type);
    if (backend_.is_slowed_by_numbers()) fill(task);
    for (int i = 0; i < warm_ups; ++i) backend_.run_us();
    for (int i = 0; i < samples_a_visit && !watcher_.is_interrupted(); ++i) {
      if (options_.cold) backend_.flush_caches();
      if (const double us = backend_.run_us(); !std::isnan(us))
        point.samples_us.push_back(us / task.repeats);
    }
  }

  Backend& backend_;
  const std::vector<Task>& tasks_;
  std::size_t from_;
  std::size_t end_;
  const MeasureOptions& options_;
  const Watcher& watcher_;
  Outcome& outcome_;
};

}  // namespace

bool is_same_series(const Task& a, const Task& b) {
  return a.operation == b.operation && a.algorithm == b.algorithm && a.type == b.type &&
         a.plan.ranks == b.plan.ranks && a.note == b.note && a.block_B == b.block_B;
}

std::string text_of(const Task& task) {
  std::string text = task.operation;
  if (!task.algorithm.empty()) text += " " + task.algorithm;
  text += ", " + std::to_string(task.plan.ranks) + (task.plan.ranks == 1 ? " rank" : " ranks");
  if (task.bytes > 0)
    text += ", " + to_text(Bytes(task.bytes)) + " of " + std::string(name_of(task.type));
  if (task.block_B) text += ", blocks of " + to_text(Bytes(*task.block_B));
  return text;
}

Outcome measure(Backend& backend, const std::vector<Task>& tasks, const MeasureOptions& options,
                const Watcher& watcher) {
  Outcome outcome;
  outcome.points.resize(tasks.size());
  const Clock::time_point start = Clock::now();
  for (std::size_t from = 0; from < tasks.size();) {
    std::size_t end = from;
    while (end < tasks.size() && tasks[end].plan.ranks == tasks[from].plan.ranks) ++end;
    Group group(backend, tasks, from, end, options, watcher, outcome);
    group.prepare();
    group.verify();
    const double share = static_cast<double>(end) / static_cast<double>(tasks.size());
    const std::chrono::duration<double> until(options.time_limit_s * share);
    if (!options.verify_only)
      group.repeat(start + std::chrono::duration_cast<Clock::duration>(until));
    if (watcher.is_interrupted()) {
      outcome.is_complete = false;
      break;
    }
    from = end;
  }
  return outcome;
}

}  // namespace sgdsim::calibrate
