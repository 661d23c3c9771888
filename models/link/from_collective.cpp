// The cost, asked with one constant at a time.
#include "models/link/from_collective.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/error.h"
#include "sim/play/play.h"

namespace sgdsim {
namespace {

// Large units: each term of a time is rounded to a picosecond.
constexpr Duration unit_latency = Duration::ms(1);
constexpr double unit_rate_ps = 1000;
// A second or two of playing for each point of a series.
constexpr int64_t most_messages = 1 << 20;

CollectiveJob job_of(const MeasuredCollective& measured, const CollectiveOptions& options) {
  CollectiveJob job;
  job.operation = measured.operation;
  job.team = {.size = measured.ranks, .stride = 1};
  job.share = {.total = measured.size, .fractional = options.fractional_chunks, .split = {}};
  job.block = measured.block;
  job.options = options;
  job.cost.smallest.acknowledged = measured.acknowledged;
  return job;
}

// Played if the closed form is not the cost itself, and the blocks that were measured are known.
bool is_played(const Algorithm& algorithm, const CollectiveJob& job) {
  if (algorithm.takes_block && !job.block) return false;
  return !algorithm.closed_form_note.empty() || !closed_form_of(algorithm, job);
}

double time_ps(const Algorithm& algorithm, CollectiveJob job, PairCost cost, bool played) {
  cost.acknowledged = job.cost.smallest.acknowledged;
  job.cost = cost;
  if (played) {
    const Program program = schedule_of(algorithm, job);
    const PlayOptions options = to_play(job.options);
    const Played answer = play(program, Network::uniform(job.size(), cost), options);
    return static_cast<double>(answer.last_end().since_start().ps());
  }
  const auto time = closed_form_of(algorithm, job);
  if (!time)
    throw InputError(
        "", "no closed form is known for the " + std::string(name_of(job.operation)) + " of " +
                std::string(algorithm.name) + " among " + std::to_string(job.size()) + " ranks" +
                (algorithm.takes_block ? "; give the block size that was measured" : ""));
  return static_cast<double>(time->ps());
}

// How often a cost pays each constant.
struct Counts {
  double alphas = 0;
  double bytes = 0;
  double folded = 0;
  double sum_ps(double alpha_ps, double beta_ps, double gamma_ps) const {
    return alphas * alpha_ps + bytes * beta_ps + folded * gamma_ps;
  }
};

bool are_same(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// With each constant alone, and then with all: the counts, if the cost is a sum.
std::optional<Counts> counts_of_sum(const Algorithm& algorithm, const CollectiveJob& job,
                                    bool played) {
  const PairCost all{unit_latency, PerByte::ps(unit_rate_ps), PerByte::ps(unit_rate_ps)};
  const auto alone = [&](const PairCost& cost) { return time_ps(algorithm, job, cost, played); };
  const auto unit_ps = static_cast<double>(unit_latency.ps());
  const Counts counts{alone({all.latency, {}, {}}) / unit_ps,
                      alone({{}, all.per_byte, {}}) / unit_rate_ps,
                      alone({{}, {}, all.reduce}) / unit_rate_ps};
  if (!are_same(alone(all), counts.sum_ps(unit_ps, unit_rate_ps, unit_rate_ps), 1e-6)) return {};
  return counts;
}

// Central differences would straddle the places where another thing becomes the later one; forward
// ones see one side of them.
Counts slopes_at(const Algorithm& algorithm, const CollectiveJob& job, bool played,
                 const LinkGuess& about) {
  constexpr double scale = 1000;  // against rounding
  constexpr double step = 1e-3;
  const auto at = [&](double alpha_ps, double beta_ps, double gamma_ps) {
    const PairCost cost{Duration::nearest_ps(alpha_ps * scale), PerByte::ps(beta_ps * scale),
                        PerByte::ps(gamma_ps * scale)};
    return time_ps(algorithm, job, cost, played) / scale;
  };
  const double base_ps = at(about.alpha_ps, about.beta_ps, about.gamma_ps);
  const double alpha_step = step * std::max(about.alpha_ps, 1e5);
  const double beta_step = step * std::max(about.beta_ps, 1.);
  const double gamma_step = step * std::max(about.gamma_ps, 1.);
  return {(at(about.alpha_ps + alpha_step, about.beta_ps, about.gamma_ps) - base_ps) / alpha_step,
          (at(about.alpha_ps, about.beta_ps + beta_step, about.gamma_ps) - base_ps) / beta_step,
          (at(about.alpha_ps, about.beta_ps, about.gamma_ps + gamma_step) - base_ps) / gamma_step};
}

// Whether blocks depend on the costs, which are yet to be found.
bool chooses_blocks(const Algorithm& algorithm, CollectiveJob job) {
  if (!algorithm.takes_block || job.block) return false;
  const auto messages_at = [&](const PairCost& cost) {
    job.cost = cost;
    return traffic_of(schedule_of(algorithm, job), job.size()).messages;
  };
  return messages_at({Duration::ns(1), PerByte::ps(1e6), {}}) !=
         messages_at({Duration::s(1), PerByte::ps(1), {}});
}

}  // namespace

LinkRow link_row(const Algorithm& algorithm, const MeasuredCollective& measured,
                 const CollectiveOptions& options, const LinkGuess& about) {
  const CollectiveJob job = job_of(measured, options);
  CollectiveJob real = job;  // one that costs something
  real.cost = PairCost{unit_latency, PerByte::ps(unit_rate_ps), PerByte::ps(unit_rate_ps)};
  const bool played = is_played(algorithm, real);
  const Traffic traffic = traffic_of(schedule_of(algorithm, real), measured.ranks);
  if (played && traffic.messages > most_messages)
    throw InputError("", "no exact closed form is known for the " +
                             std::string(name_of(job.operation)) + " of " +
                             std::string(algorithm.name) + " among " + std::to_string(job.size()) +
                             " ranks, and its " + std::to_string(traffic.messages) +
                             " messages are too many to simulate again and again");
  if (chooses_blocks(algorithm, real))
    throw InputError("", "the cost of " + std::string(algorithm.name) +
                             " is not a sum of start-ups, bytes and folded bytes where it "
                             "chooses its blocks itself; give the block size that was measured");
  auto counts = counts_of_sum(algorithm, job, played);
  const bool is_slope = !counts;
  if (is_slope) counts = slopes_at(algorithm, job, played, about);
  const double size_B = traffic.messages == 0
                            ? 0
                            : std::round(traffic.wire_B / static_cast<double>(traffic.messages));
  return {{.size_B = size_B,
           .alphas = counts->alphas,
           .bytes = counts->bytes,
           .folded = counts->folded,
           .time_ps = static_cast<double>(measured.time.ps())},
          is_slope};
}

}  // namespace sgdsim
