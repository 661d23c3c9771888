// Whole counts of ranks that a second fit leaves out, and what is learned from that.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/link/fit.h"

namespace sgdsim {

// A count that was measured; on so many nodes, 0 where nobody said.
struct RanksOf {
  int ranks = 0;
  int nodes = 0;
};

struct HeldRanks {
  std::set<int> held;
  std::vector<RanksOf> measured;  // each once, ascending

  bool holds(int ranks) const { return held.contains(ranks); }
  // "about more nodes: from 8 and 16 ranks (1 and 2 nodes) ...", where the errors are those of what
  // was held out.
  std::string sentence(const PredictionError& errors) const;
};

// Of --holdout: "ranks=8,16" are these counts; "ranks" is the larger half of those measured;
// nothing otherwise. InputError if none of the counts was measured, or if nothing is left to fit;
// counts that were not measured, and a single count, become notes.
HeldRanks held_ranks(const std::string& holdout, std::vector<RanksOf> measured,
                     std::vector<std::string>& notes);

}  // namespace sgdsim
