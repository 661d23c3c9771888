// How much of some wires is in use, and how much waits for some, interval by interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

class LinkWatch {
 public:
  // Of so many intervals; what happens later is not told.
  LinkWatch(std::vector<uint32_t> resources, Duration interval, int64_t intervals,
            std::vector<uint32_t> queues = {})
      : resources_(std::move(resources)),
        queues_(std::move(queues)),
        interval_(interval),
        end_(Time() + interval * intervals),
        lines_(resources_.size()),
        waiting_B_(queues_.size()) {}

  const std::vector<uint32_t>& resources() const { return resources_; }
  const std::vector<uint32_t>& queues() const { return queues_; }
  // So much of a wire, by its place among those that are watched, was in use.
  void add(std::size_t place, Time from, Time to, double part) {
    add_to(lines_[place], from, to, part);
  }
  // So many bytes waited, by the place among the queues.
  void add_waiting(std::size_t place, Time from, Time to, double size_B) {
    add_to(waiting_B_[place], from, to, size_B);
  }
  std::vector<std::vector<double>> take() { return std::move(lines_); }
  std::vector<std::vector<double>> take_waiting_B() { return std::move(waiting_B_); }

 private:
  // To the means of the intervals.
  void add_to(std::vector<double>& line, Time from, Time to, double value) const {
    to = std::min(to, end_);
    while (from < to) {
      const auto number = static_cast<std::size_t>(from.ps() / interval_.ps());
      const Time end = std::min(to, Time() + interval_ * static_cast<int64_t>(number + 1));
      if (line.size() <= number) line.resize(number + 1);
      line[number] += value * ((end - from) / interval_);
      from = end;
    }
  }

  std::vector<uint32_t> resources_;
  std::vector<uint32_t> queues_;
  Duration interval_;
  Time end_;
  std::vector<std::vector<double>> lines_;
  std::vector<std::vector<double>> waiting_B_;
};

}  // namespace sgdsim
