// Many simulations of the same jobs: of each two of them, and at other places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "study/jobs/jobs_file.h"
#include "study/jobs/played_jobs.h"
#include "study/limits.h"
#include "study/watch.h"

namespace sgdsim {

inline constexpr int64_t most_jobs_in_pairs = 100;
inline constexpr int64_t most_placements = 10'000;

// What simulations are made from, each with jobs of its own, on all cores.
struct JobTrials {
  JobsSource source;
  SimulationLimits limits;
};

// Of each job (row) how much it is slowed down by each other one (column) alone; 1 by itself.
using PairSlowdowns = std::vector<std::vector<double>>;
void check_pairs(const Json& file);  // InputError if there are no pairs, or too many
PairSlowdowns slowdowns_in_pairs(const JobTrials& trials, const std::vector<Duration>& alone,
                                 const Watch& watch);

struct TriedPlacement {
  std::vector<std::string> words;     // of each job; "nodes by chance" and "as given" are no words
  std::vector<std::string> settings;  // of the file, to have the jobs there
  std::vector<double> slowdowns;      // against the fastest that the job was alone at any places
  double worst = 1;
  double mean = 1;
};
struct TriedPlacements {
  std::vector<TriedPlacement> best_first = {};
  int64_t unfit = 0;     // words of which there are not enough free nodes or leaves
  int64_t repeated = 0;  // that came to the same places as one before
};
// So many: all jobs by the same word first, then other combinations of words for up to a half of
// them, then whole nodes by chance. Jobs whose file names their workers stay where they are.
TriedPlacements try_placements(const JobTrials& trials, int64_t count, const Watch& watch);
Fields fields_of(const TriedPlacement& tried);

}  // namespace sgdsim
