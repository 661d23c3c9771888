// How much of some wires is in use, interval by interval.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

class LinkWatch {
 public:
  LinkWatch(std::vector<uint32_t> resources, Duration interval)
      : resources_(std::move(resources)), interval_(interval), lines_(resources_.size()) {}

  const std::vector<uint32_t>& resources() const { return resources_; }
  // So much of a wire, by its place among those that are watched, was in use.
  void add(std::size_t place, Time from, Time to, double part) {
    std::vector<double>& line = lines_[place];
    while (from < to) {
      const auto number = static_cast<std::size_t>(from.ps() / interval_.ps());
      const Time end = std::min(to, Time() + interval_ * static_cast<int64_t>(number + 1));
      if (line.size() <= number) line.resize(number + 1);
      line[number] += part * ((end - from) / interval_);
      from = end;
    }
  }
  std::vector<std::vector<double>> take() { return std::move(lines_); }

 private:
  std::vector<uint32_t> resources_;
  Duration interval_;
  std::vector<std::vector<double>> lines_;
};

}  // namespace sgdsim
