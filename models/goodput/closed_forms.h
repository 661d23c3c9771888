// How long a run takes that fails, where a formula says so: saves every `interval`, failures of the
// whole job at random (exponential) with a mean time between them.
//
// All times are in one unit, whichever. The exact forms hold for every rate; Young's, Daly's and
// RSC's are approximations that are here by their names, because papers quote them. Sources: Young,
// CACM 17(9), 1974; Daly, FGCS 22(3), 2006; Kokolis et al. ("RSC"), HPCA 2025. Wrong where
// failures cluster (Weibull), where nodes must be waited for, or where steps become slow: that is
// the player's (player.h).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sgdsim::goodput {

// Approximations of the best work between two saves.
double young_interval(double save, double mean_to_failure);
double daly_interval(double save, double mean_to_failure);
// The exact one: M (1 + W0(-exp(-save/M - 1))), with Lambert's W. It does not depend on restarts,
// nor on how long a save takes to become durable after its stall.
double best_interval(double save, double mean_to_failure);

// What a save and a failure cost. A save stops the job for `stall` and is durable `durable` later,
// at most one interval; a failure before that loses two intervals.
struct SaveTimes {
  double stall = 0;
  double durable = 0;
};

// Ways in which a job goes down, each with its part of all failures and the time until it runs
// again. May failures hit a job that is being restarted? Then all have to be waited for.
struct Downtimes {
  std::vector<std::pair<double, double>> parts_and_times;
  bool can_fail = true;
  // Of further ways that nothing can hit, whatever `can_fail` says, the sum of their parts times
  // their times.
  double safe_time = 0;
  // The mean time between the end of work and work again, with failures in between.
  double mean(double mean_to_failure) const;
};

// The wall time for a unit of work of a run without end.
double wall_per_work(double interval, const SaveTimes& save, const Downtimes& down,
                     double mean_to_failure);
// The expected wall time of a whole run, from a start without a restart until its last save is
// durable.
double expected_wall(double work, double interval, const SaveTimes& save, const Downtimes& down,
                     double mean_to_failure);

// The intervals at which the wall time is at most `factor` of the best one's.
std::pair<double, double> flat_region(double best, double factor, const SaveTimes& save,
                                      const Downtimes& down, double mean_to_failure);

// The mean time until failure of an attempt of this length that failed.
double mean_lost(double attempt, double mean_to_failure);

// The time of one interval with its save, with restarts that cannot fail.
struct MeanDeviation {
  double mean = 0;
  double deviation = 0;
};
MeanDeviation interval_time(double attempt, double restart, double mean_to_failure);
// Of so many; the sum is nearly normal.
MeanDeviation intervals_time(double count, double attempt, double restart, double mean_to_failure);
// The value that a normal one stays below with this probability.
double normal_quantile(const MeanDeviation& of, double probability);

// RSC's first-order formula of the productive part; negative beyond its range.
double rsc_productive(double interval, double save, double restart, double mean_to_failure);
double rsc_interval(double save, double mean_to_failure);

// P(N > count) of a Poisson number, and of a binomial one.
double poisson_above(double mean, int64_t count);
double binomial_above(int64_t trials, double probability, int64_t count);
// P(work + N per_failure > deadline), where failures happen during work only.
double late(double work, double per_failure, double mean_to_failure, double deadline);

// The part of time that is kept where each failure throws away the step that it hits: failures
// every `gap`, with gaps of which each length up to `longest` is equally likely (a gap longer than
// a step keeps what is beyond it, weighed by the gaps' lengths), or at random.
double kept_at_fixed_gaps(double step, double gap);
double kept_at_uniform_gaps(double step, double longest);
double kept_at_random(double step, double mean_to_failure);

// ---- nodes and copies

double mean_to_failure(int64_t nodes, double failures_per_node_and_time);
// The part of time that a node is being repaired.
double part_down(double failures_per_time, double repair);
// Units that are down independently of each other, so many nodes at a time: a leaf takes all of its
// nodes along.
struct Outages {
  int64_t nodes = 1;
  int64_t units = 1;
  double part_down = 0;  // of the time, each
};
// The chance that more nodes than that are down at a time.
double nodes_down_above(std::span<const Outages> outages, int64_t count);
// The fewest spares, of so many nodes, so that more are down with at most this probability.
int64_t spares_for(int64_t nodes, std::span<const Outages> outages, double risk);
int64_t spares_for(int64_t nodes, double part_down, double risk);
// The chance that no group of copies loses all its members when so many nodes of all die together.
// Those beyond the last whole group have copies that always survive. At most 500 die together.
inline constexpr int64_t most_dead_together = 500;
double copies_survive(int64_t nodes, int64_t group, int64_t dead);

struct TwoLevels {
  double near_interval = 0;
  double far_interval = 0;
  double waste = 0;  // of all time
};
// First order: near saves serve all failures but `far_part`.
TwoLevels two_levels(double near_save, double far_save, double near_restart, double far_restart,
                     double far_part, double mean_to_failure);
// First order: the throughput of so many replicas, one of which is away for `repair` after a
// failure that stops all of them for `stall`.
double shrunk_throughput(double stall, double repair, int64_t replicas, double mean_to_failure);

struct SlowPart {
  double probability = 0;  // that any node is slow
  double step_factor = 1;
};
// Nodes become slow at a rate, for a mean time of any law, and slow the step by a factor.
SlowPart slow_part(int64_t nodes, double rate, double mean_length, double factor);
// How much more often those few nodes fail that have this part of all failures.
double lemon_factor(double part_of_nodes, double part_of_failures);
// The rate of all failures, of what it was, with others in their place.
double rate_without_lemons(double part_of_nodes, double part_of_failures);

}  // namespace sgdsim::goodput
