// Bytes of what each GPU alone holds, and what steps leave of the time that they take.
#include "models/training/sites.h"

#include <algorithm>
#include <cmath>

#include "models/training/hybrid_step.h"
#include "models/training/memory.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double most_bits = 64;
constexpr double outer_state_B = 8;  // a parameter and its momentum, of 4 bytes each

// Of all GPUs of a site together.
double trained_parameters(const TrainingStep& step) {
  const Layout& layout = step.layout;
  double all = 0;
  for (int64_t stage = 0; stage < layout.pipeline; ++stage)
    all += own_parameters(step.model, layout, stage);
  return all * real(layout.gpus() / layout.pipeline);
}

// In a step of the mean. Where the next exchanges begin before one must have ended, what they are
// waited for is time for it, too; together they have the time from one to the next.
double exposed_of_changes_s(const Sites& sites, const SiteExchange& one, double step_s) {
  const double overlap = real(sites.overlap);
  const double beside = std::max(1.0, std::ceil(overlap * sites.passes()));
  const double waits = std::max(
      {0.0, (one.all_s - overlap * step_s) / beside, one.bytes_s - step_s / sites.passes()});
  return sites.passes() * waits;
}

double exposed_of_gradients_s(const TrainingStep& step, const SiteExchange& one, int64_t stage,
                              double backward_s) {
  const int64_t layers = layers_of_stage(step.model, step.layout, stage).layers();
  const double last = step.layout.overlaps ? 1 / real(std::max<int64_t>(layers, 1)) : 1;
  return std::max(last * one.bytes_s, one.bytes_s - (1 - last) * backward_s) + one.all_s -
         one.bytes_s;
}

}  // namespace

double Sites::bits_of(const Layout& layout) const {
  return bits.value_or(has_outer_steps() ? 32 : 8 * layout.gradient_B());
}

Fields fields_of(Sites& o) {
  return {
      Field("sites", o.sites, "how many, each with the same part of the GPUs and sequences")
          .needed()
          .from(2, most_sites),
      Field("bandwidth", o.bandwidth, "of the way from one site to all others, in each direction")
          .needed(),
      Field("latency", o.latency, "of a message from one site to another").needed(),
      Field("every", o.every,
            "steps from one exchange of a parameter to the next (default: 1, gradients of each "
            "step); above 1 an outer optimizer takes what the steps between have changed")
          .from(1, 1'000'000),
      Field("fragments", o.fragments,
            "parts of the model that are exchanged one after another, evenly over these steps")
          .from(1, 1'000'000),
      Field("overlap", o.overlap,
            "steps that go on while a fragment is exchanged; what takes longer is waited for")
          .from(0, 1'000'000),
      Field("bits", o.bits,
            "of each parameter that is sent (default: 32, or those of the layout's gradients "
            "where these are exchanged)")
          .from(0.01, most_bits)};
}

Sites load_sites(const std::string& file_or_json) {
  const Document document = Document::read(file_or_json);
  const Value root = document.root();
  auto sites = read_record<Sites>(root);
  if (sites.fragments > sites.every)
    root.child("fragments")
        .fail("expected at most one in each of the " + std::to_string(sites.every) +
              " steps of `every`, got " + std::to_string(sites.fragments));
  if (sites.overlap > sites.every)
    root.child("overlap").fail("expected at most the " + std::to_string(sites.every) +
                               " steps of `every`, after which the same parameters are sent "
                               "again, got " +
                               std::to_string(sites.overlap));
  return sites;
}

SiteExchange exchange_of(const TrainingStep& step) {
  const Sites& sites = *step.sites;
  const double bytes = trained_parameters(step) * sites.bits_of(step.layout) / 8;
  const double others = real(sites.sites - 1) / real(sites.sites);
  SiteExchange exchange;
  exchange.sent_B = 2 * others * bytes / real(sites.fragments);
  exchange.bytes_s = exchange.sent_B / sites.bandwidth.Bps();
  exchange.all_s = exchange.bytes_s + 2 * sites.latency.s();
  return exchange;
}

double outer_states_B(const TrainingStep& step) {
  return step.sites->has_outer_steps() ? outer_state_B * trained_parameters(step) : 0;
}

Duration add_sites(const TrainingStep& step, double backward_s, HybridStep& result) {
  if (step.sites == nullptr) return {};
  const Sites& sites = *step.sites;
  const SiteExchange one = exchange_of(step);
  const double takes_s = sites.passes() * one.all_s;
  const double exposed_s =
      sites.has_outer_steps() ? exposed_of_changes_s(sites, one, result.time.s())
                              : exposed_of_gradients_s(step, one, result.slowest_stage, backward_s);
  result.parts.sites = exposed_s;
  result.hidden.sites = std::max(0.0, takes_s - exposed_s);
  const auto longer = Duration::nearest_ps(exposed_s * 1e12);
  if (longer == Duration()) return longer;
  result.time += longer;
  set_quality(step, result.time.s(), result);
  return longer;
}

}  // namespace sgdsim
