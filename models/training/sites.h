// One training at several sites far apart: each has a copy of the model, with the same layout, and
// trains on its part of a step's sequences. All sites exchange over ways that are slower than any
// network inside of them: gradients in every step, or every so many steps what parameters have
// changed by, which an outer optimizer takes as gradients (DiLoCo, arXiv 2311.08105), in several
// fragments one after another and beside further steps (Streaming DiLoCo, arXiv 2501.18512).
//
// Each site sends a part of what it has to each other one, adds up the part that it gets from all,
// and sends that to all: 2 (S - 1) / S of the bytes of all parameters leave each site, with two
// latencies. Every GPU sends what it alone holds in its site, so that no two send the same. Copies
// to hosts and the outer step itself, some hundredths of a second every so many steps, cost nothing
// here.
#pragma once

#include <optional>
#include <string>

#include "models/training/layout.h"
#include "sim/core/fields.h"
#include "sim/core/units.h"

namespace sgdsim {

struct HybridStep;
struct TrainingStep;

struct Sites {
  int64_t sites = 2;
  Bandwidth bandwidth;  // of a site's way to the others, in each direction
  Duration latency;     // one way
  int64_t every = 1;    // steps from one exchange of a parameter to the next
  int64_t fragments = 1;
  int64_t overlap = 0;              // steps beside which a fragment is exchanged
  std::optional<double> bits = {};  // of a parameter on its way

  // Without this, gradients of the step are exchanged before the optimizer's step.
  bool has_outer_steps() const { return every > 1 || overlap > 0; }
  double bits_of(const Layout& layout) const;
  double passes() const { return static_cast<double>(fragments) / static_cast<double>(every); }
};
inline constexpr int64_t most_sites = 1024;

Fields fields_of(Sites& sites);
// The text of a JSON object, or a file of one.
Sites load_sites(const std::string& file_or_json);

// One exchange: of all parameters, or of a fragment of them.
struct SiteExchange {
  double sent_B = 0;  // that leave a site
  double bytes_s = 0;
  double all_s = 0;  // with latencies
};
SiteExchange exchange_of(const TrainingStep& step);
// Bytes that the outer optimizer keeps in the memory of the hosts, of all parameters: what they
// were after the last exchange, and its momentum.
double outer_states_B(const TrainingStep& step);

// Adds to a step what it waits for them in the mean, where there are several sites. `backward_s`:
// the last backward pass of its slowest stage, under which the gradients of all layers but the last
// one can be exchanged. How much longer it takes.
Duration add_sites(const TrainingStep& step, double backward_s, HybridStep& result);

}  // namespace sgdsim
