// The closed form, asked with unit constants.
#include "models/link/from_collective.h"

#include <cmath>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// Large units: the closed form rounds each of its terms to a picosecond.
constexpr Duration unit_latency = Duration::ms(1);
constexpr double unit_rate_ps = 1000;

Job job_of(const MeasuredCollective& measured, const CollectiveOptions& options) {
  Job job;
  job.operation = measured.operation;
  job.team = {.size = measured.ranks, .stride = 1};
  job.share = {.total = measured.size, .fractional = options.fractional_chunks, .split = {}};
  job.block = measured.block;
  job.options = options;
  return job;
}

double time_ps(const Algorithm& algorithm, Job job, const PairCost& cost) {
  job.cost = cost;
  const auto time = closed_form_of(algorithm, job);
  if (!time)
    throw InputError("", "no closed form is known for the " + std::string(name_of(job.operation)) +
                             " of " + std::string(algorithm.name) + " among " +
                             std::to_string(job.size()) + " ranks");
  return static_cast<double>(time->ps());
}

}  // namespace

FitRow link_row(const Algorithm& algorithm, const MeasuredCollective& measured,
                const CollectiveOptions& options) {
  const Job job = job_of(measured, options);
  const PairCost start_up{unit_latency, {}, {}};
  const PairCost transfer{{}, PerByte::ps(unit_rate_ps), {}};
  const PairCost fold{{}, {}, PerByte::ps(unit_rate_ps)};
  const PairCost all{unit_latency, transfer.per_byte, fold.reduce};
  const double alphas_ps = time_ps(algorithm, job, start_up);
  const double bytes_ps = time_ps(algorithm, job, transfer);
  const double folded_ps = time_ps(algorithm, job, fold);
  const double sum_ps = alphas_ps + bytes_ps + folded_ps;
  if (std::abs(time_ps(algorithm, job, all) - sum_ps) > 1e-6 * sum_ps)
    throw InputError("",
                     "the cost of " + std::string(algorithm.name) +
                         " is not a sum of start-ups, bytes and folded bytes here" +
                         (algorithm.takes_block ? "; give the block size that was measured" : ""));
  Job real = job;
  real.cost = all;
  const Traffic traffic = traffic_of(schedule_of(algorithm, real), measured.ranks);
  return {.size_B = traffic.messages == 0
                        ? 0
                        : std::round(traffic.wire_B / static_cast<double>(traffic.messages)),
          .alphas = alphas_ps / static_cast<double>(unit_latency.ps()),
          .bytes = bytes_ps / unit_rate_ps,
          .folded = folded_ps / unit_rate_ps,
          .time_ps = static_cast<double>(measured.time.ps())};
}

}  // namespace sgdsim
