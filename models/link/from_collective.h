// A measured collective as a row of the fit of its link: how often its cost pays alpha, for how
// many bytes it pays beta, for how many it pays gamma.
//
// The counts are read off the algorithm's own closed form, by asking it for the time with only one
// of the three constants above zero, so that a new algorithm needs nothing here. The piece of the
// link that a row belongs to is decided by the size of the messages that the algorithm sends, which
// for the ring is the P-th part of the whole.
//
// When it is wrong: for algorithms whose messages differ in size (be, halving_doubling) the mean
// size decides the piece; with one piece that does not matter.
#pragma once

#include <optional>

#include "models/collective/collective.h"
#include "models/link/fit.h"

namespace sgdsim {

struct MeasuredCollective {
  Operation operation = Operation::allreduce;
  int ranks = 2;
  Bytes size;
  std::optional<Bytes> block;
  Duration time;
};

// InputError if no closed form is known, or if it is no sum of the three: that of lp with a block
// size that it chooses itself.
FitRow link_row(const Algorithm& algorithm, const MeasuredCollective& measured,
                const CollectiveOptions& options);

}  // namespace sgdsim
