// What the time of each rank goes into: computing, messages and collectives behind that, and those,
// or waiting for them, alone. The rest is idle.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

struct RankShare {
  Duration computing;
  Duration overlapped;  // of that: something is sent, asked for, or called, too
  Duration exposed;     // something is, and nothing is computed
  Time until;           // what began or ended last
};

class RankShares {
 public:
  explicit RankShares(uint32_t ranks) : ranks_(ranks) {}

  void begin(uint32_t rank, RankVerb verb, Time now) { count(rank, verb, 1, now); }
  void end(uint32_t rank, RankVerb verb, Time now) { count(rank, verb, -1, now); }
  const RankShare& of(uint32_t rank) const { return ranks_[rank].share; }

 private:
  struct Rank {
    RankShare share;
    int32_t computing = 0;  // operations
    int32_t others = 0;
  };

  void count(uint32_t rank, RankVerb verb, int by, Time now) {
    if (verb == RankVerb::until) return;
    Rank& one = ranks_[rank];
    const Duration passed = now - one.share.until;
    one.share.until = now;
    if (one.computing > 0) one.share.computing += passed;
    if (one.others > 0) (one.computing > 0 ? one.share.overlapped : one.share.exposed) += passed;
    (verb == RankVerb::compute ? one.computing : one.others) += by;
  }

  std::vector<Rank> ranks_;
};

}  // namespace sgdsim
