// A step in the units of people who train: tokens, FLOP and days.
#pragma once

#include <optional>
#include <string>

#include "sim/core/json.h"
#include "sim/core/units.h"
#include "study/goodput/training_end.h"

namespace sgdsim {

// "15T", "1.4 T", "300B", "2000000": whole tokens, from 1 to a million T.
int64_t parse_tokens(const std::string& text, const std::string& where,
                     const char* what = "tokens");
std::string tokens_text(int64_t tokens);   // "15T", "4.194M"
std::string gpu_hours_text(double hours);  // "3.206M", below ten "0.0032"

struct LayoutRates {
  double tokens_per_s = 0;  // of a GPU
  double flops = 0;         // of a GPU, those of the model, causal attention halved
  std::optional<double> days = {};
  std::optional<double> gpu_hours = {};
  std::optional<TrainingEnd> end = {};
};

// What a step is measured by. `tokens`: of the whole training; 0: not asked.
struct StepSize {
  int64_t gpus = 1;
  int64_t batch = 1;     // sequences of a step
  int64_t sequence = 1;  // tokens of one
  int64_t tokens = 0;
  int64_t of_step() const { return batch * sequence; }
  int64_t steps() const { return (tokens + of_step() - 1) / of_step(); }
};

LayoutRates rates_of(const StepSize& size, Duration time, double mfu, double peak_flops);
double days_of(const StepSize& size, double step_us);
std::string days_text(double days);  // "256.5 days", "7.31 h"
Fields fields_of(const LayoutRates& rates);

}  // namespace sgdsim
