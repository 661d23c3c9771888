// Counts with a letter, and division.
#include "study/layout/layout_rates.h"

#include <array>
#include <cmath>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/goodput/spans.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr double hours_of_day = 24;
constexpr double most_tokens = 1e18;

struct Letter {
  char letter;
  double factor;
};
constexpr std::array<Letter, 4> letters{{{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'K', 1e3}}};

// 0 where it is no such letter. Of small ones only "k" means one thing.
double factor_of(const std::string& letter) {
  if (letter.empty()) return 1;
  if (letter == "k") return 1e3;
  for (const Letter& one : letters)
    if (letter.size() == 1 && letter[0] == one.letter) return one.factor;
  return 0;
}

}  // namespace

int64_t parse_tokens(const std::string& text, const std::string& where, const char* what) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = read_decimal(text.data(), end, number);
  const char* letter = stopped;
  while (letter < end && *letter == ' ') ++letter;
  const double tokens = number * factor_of(std::string(letter, end));
  // Not a number, and what is no letter, are not in this range either.
  if (problem != std::errc() || !(tokens >= 1 && tokens <= most_tokens))
    throw InputError(where, "expected a number of " + std::string(what) +
                                " from 1 to 1000000T, as 15T, 300B, 2.5M or 1000000, got \"" +
                                text.substr(0, 40) + "\"");
  return std::llround(tokens);
}

std::string tokens_text(int64_t tokens) {
  const auto number = static_cast<double>(tokens);
  for (const Letter& one : letters)
    if (number >= one.factor) return number_text(with_digits(number / one.factor, 4)) + one.letter;
  return std::to_string(tokens);
}

std::string gpu_hours_text(double hours) {
  constexpr double few = 10;
  return hours < few ? rounded(hours, 3) : tokens_text(std::llround(hours));
}

double days_of(const StepSize& size, double step_us) {
  return static_cast<double>(size.steps()) * step_us / 1e6 / seconds_of_hour / hours_of_day;
}

std::string days_text(double days) {
  return days >= 1 ? rounded(days) + " days" : rounded(days * hours_of_day, 3) + " h";
}

LayoutRates rates_of(const StepSize& size, Duration time, double mfu, double peak_flops) {
  const auto gpus = static_cast<double>(size.gpus);
  LayoutRates rates{.tokens_per_s = static_cast<double>(size.of_step()) / (time.us() / 1e6) / gpus,
                    .flops = mfu * peak_flops};
  if (size.tokens == 0) return rates;
  rates.days = days_of(size, time.us());
  rates.gpu_hours = *rates.days * hours_of_day * gpus;
  return rates;
}

Fields fields_of(const LayoutRates& rates) {
  return {
      Field("tokens_per_s_per_gpu", rates.tokens_per_s, "tokens of a second and GPU").at_least(0),
      Field("tflops_per_gpu", rates.flops / 1e12,
            "FLOP of the model of a second and GPU, in units of 1e12")
          .at_least(0),
      Field("days", rates.days, "days of the whole training; with --tokens").at_least(0),
      Field("gpu_hours", rates.gpu_hours, "hours of the whole training, of all GPUs together")
          .at_least(0),
      {"end", rates.end, "of the whole training on a machine that fails; with --goodput"}};
}

}  // namespace sgdsim
