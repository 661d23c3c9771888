// Numbers first, since names differ in length.
#include "calibrate/summary.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

// To four digits.
std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// Bytes per us of the largest copy within a rank; 0 if there is none.
double copy_rate(const std::vector<Task>& tasks, const Outcome& outcome) {
  double rate = 0;
  int64_t largest_B = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!is_copy_within_a_rank(tasks[i]) || outcome.points[i].samples_us.empty()) continue;
    if (tasks[i].bytes <= largest_B) continue;
    largest_B = tasks[i].bytes;
    rate = static_cast<double>(tasks[i].plan.moved_B().value_or(0)) / outcome.points[i].time_us();
  }
  return rate;
}

std::string line_of(const Task& task, const Measured& measured, double memory_rate) {
  const double time_us = measured.time_us();
  std::string line = padded(number(time_us) + " us", 16);
  const double rate = static_cast<double>(task.bytes) / time_us / 1e3;
  const std::string speed = task.plan.flop() > 0
                                ? " " + number(task.plan.flop() / time_us / 1e6) + " TFLOP/s"
                                : number(rate) + " GB/s";
  line += padded(task.bytes > 0 ? speed : "", 16);
  const auto moved_B = static_cast<double>(task.plan.moved_B().value_or(0));
  if (memory_rate > 0 && moved_B > 0)
    line += padded(number(time_us / (moved_B / memory_rate)), 8) + " x memory traffic";
  return line + "  " + text_of(task);
}

// "product beside copy engines, 2 ranks, 1 MiB of float32: 1.07 times what it takes alone".
void add_overlaps(const std::vector<Task>& tasks, const Outcome& outcome,
                  std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string& what = tasks[i].algorithm;
    const std::size_t word = what.find(" beside ");
    if (tasks[i].operation != "overlap" || word == std::string::npos ||
        outcome.points[i].samples_us.empty())
      continue;
    for (std::size_t j = 0; j < tasks.size(); ++j)
      if (tasks[j].operation == "overlap" &&
          tasks[j].algorithm == what.substr(0, word) + " alone" && tasks[j].type == tasks[i].type &&
          tasks[j].bytes == tasks[i].bytes && tasks[j].plan.ranks == tasks[i].plan.ranks &&
          !outcome.points[j].samples_us.empty())
        lines.push_back(text_of(tasks[i]) + ": " +
                        number(outcome.points[i].time_us() / outcome.points[j].time_us()) +
                        " times what it takes alone");
  }
}

}  // namespace

std::vector<std::string> summary_of(const std::vector<Task>& tasks, const Outcome& outcome,
                                    const std::function<int(int)>& memories) {
  const double rate = copy_rate(tasks, outcome);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (outcome.points[i].samples_us.empty()) continue;
    std::size_t next = i + 1;
    while (next < tasks.size() && outcome.points[next].samples_us.empty()) ++next;
    if (next == tasks.size() || !is_same_series(tasks[i], tasks[next]))
      lines.push_back(line_of(tasks[i], outcome.points[i], rate * memories(tasks[i].plan.ranks)));
  }
  add_overlaps(tasks, outcome, lines);
  if (rate > 0 && memories(1) > 0)
    lines.push_back("memory traffic at " + number(rate / 1e3) +
                    " GB/s, the rate of the largest copy within a rank; one that caches can hold "
                    "tells too much");
  return lines;
}

}  // namespace sgdsim::calibrate
