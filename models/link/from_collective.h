// A measured collective as a row of the fit of its link: how often its cost pays alpha, for how
// many bytes it pays beta, for how many it pays gamma.
//
// The counts are read off the algorithm's own closed form, by asking it for the time with only one
// of the three constants above zero, so that a new algorithm needs nothing here. Where no closed
// form is known, or only an approximate one, messages are played instead. Where the cost is no sum
// of the three (the later of two things counts), the counts are its slopes about constants that are
// given: twice the constants cost twice the time, so that the slopes at the right constants add up
// to the time itself, and a fit that is repeated about its own result ends there.
//
// The piece of the link that a row belongs to is decided by the size of the messages that the
// algorithm sends, which for the ring is the P-th part of the whole.
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
  double acknowledged = 0;  // of its network (PairCost)
};

// Constants of one message, about which slopes are taken.
struct LinkGuess {
  double alpha_ps = 10e6;
  double beta_ps = 100;
  double gamma_ps = 25;
};

struct LinkRow {
  FitRow row;
  bool is_slope = false;  // it depends on the guess
};

// InputError if the algorithm does not offer the operation, if it chooses its block size itself and
// the cost depends on it, and if there are too many messages to play.
LinkRow link_row(const Algorithm& algorithm, const MeasuredCollective& measured,
                 const CollectiveOptions& options, const LinkGuess& about = {});

}  // namespace sgdsim
