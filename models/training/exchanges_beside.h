// Exchanges between replicas, and what passes hide of them, in closed form.
#pragma once

#include "models/training/gpu.h"
#include "models/training/stage_costs.h"

namespace sgdsim {

// Whether what the last rank sends goes on to the first one, for its next virtual stage.
bool goes_around(const Layout& layout);

// What passes take of a rank, for all its layers and one micro-batch.
struct PassSeconds {
  double forward_s = 0;
  double backward_s = 0;
  double weight_s = 0;      // that part of the backward pass which makes gradients of weights
  double overlapped_s = 0;  // of a forward and a backward pass at once (dualpipe)
  PassSeconds& operator+=(const PassSeconds& other);
};

// While passes and exchanges go on, both take longer, so that a pass does not hide as much of an
// exchange as it is long.
struct PassesOfRank {
  PassSeconds alone;
  Interference both = {};
  // Of each pass, what lies under another one where they overlap.
  double forward_under_s = 0;
  double backward_under_s = 0;
  double exposed_s(double exchange_s, double pass_s) const;
  // By how much longer products take while so much of exchanges lies beside them.
  double slowed_s(double hidden_s) const {
    return hidden_s * both.exchange * (1 - 1 / both.products);
  }
  // By how much later a pass ends with an exchange that begins with it: it takes longer until one
  // of them has ended, and waits for what is left of the exchange.
  double longer_s(double exchange_s, double pass_s) const {
    const double exposed = exposed_s(exchange_s, pass_s);
    return exposed + slowed_s(exchange_s - exposed);
  }
};

// With zero2 and zero3 every pass has exchanges beside it: by how much later these make its end,
// and what a micro-batch waits for them, and hides of them, in the passes of the rank, which
// alternate for the most part.
struct LongerPasses {
  PassSeconds ends;
  double micro_batch_s = 0;
  double hidden_s = 0;
  // What a pass of a chunk waits for beside what is sent to it.
  double forward_waits_s = 0;
  double backward_waits_s = 0;
  double first_s = 0;  // the first weights of all
};
LongerPasses longer_passes(const Layout& layout, const StageExchange& exchange,
                           const PassesOfRank& passes);

// Of the exchanges of a stage at the first and the last passes (with zero2 and zero3, of one
// micro-batch), what nothing hides, and the rest. `send_s`: from a stage to the next.
struct DataTimes {
  double exposed = 0;
  double hidden = 0;
};
DataTimes data_s(const Layout& layout, const StageExchange& exchange, const PassesOfRank& passes,
                 double send_s);

}  // namespace sgdsim
