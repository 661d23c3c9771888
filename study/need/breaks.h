// What a step loses when a part of the machine is at half of its rate, or gone: one line for each
// part, the worst first.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/fields.h"

namespace sgdsim {

// Part of a step, by what takes it.
using PartTimes = std::vector<std::pair<std::string, double>>;  // us

// What a step takes, of how many GPUs; what it does counts as 1.
struct StepTaken {
  double step_us = 0;
  PartTimes parts = {};
  double work = 1;  // a replica that is away does nothing
};

struct Break {
  std::string part;  // "nic", "gpu", "worker"
  std::string says;  // "network card (nic)"
  std::string left;  // "half", "gone"
  double step_us = 0;
  double change_percent = 0;
  double gpu_hours_a_day = 0;  // lost, of all GPUs
  std::string grew = {};       // the part of the step that grew most; empty: none
  double grew_us = 0;
};

struct Breaks {
  std::vector<Break> all = {};            // the worst first
  std::vector<std::string> carried = {};  // others carry what went over these, at a price not known
  std::vector<std::string> stops = {};    // without these nothing goes on
};

inline constexpr double crawling_rate = 0.01;

class BreakList {
 public:
  BreakList(StepTaken base, int64_t gpus) : base_(std::move(base)), gpus_(gpus) {}
  void add(const std::string& part, const std::string& says, const std::string& left,
           const StepTaken& taken);
  void add_stop(const std::string& says) { breaks_.stops.push_back(says); }
  void add_carried(const std::string& says) { breaks_.carried.push_back(says); }
  // Whether a step differs where the part is slower; `crawling` takes the step where it hardly
  // moves any more.
  template <class Crawling>
  bool is_used(double at_half_us, const Crawling& crawling) const {
    return at_half_us != base_.step_us || crawling().step_us != base_.step_us;
  }
  Breaks breaks() &&;

 private:
  StepTaken base_;
  int64_t gpus_;
  Breaks breaks_;
};

std::string change_text(double change_percent);  // "+12.3 %"
Fields fields_of(const Break& one);
Fields fields_of(const Breaks& breaks);
Json schema_of_breaks();
void print(std::ostream& out, const Breaks& breaks);

}  // namespace sgdsim
