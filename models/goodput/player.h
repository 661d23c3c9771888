// One run of a training job, from failure to failure: what every hour of it was.
//
// The job computes whole steps, saves after so many of them, and rolls back to its last durable
// save when something stops it. Whole intervals are jumped over (work.h): a run costs what its
// failures cost, not what its steps cost. Sources of failures that are one too many (a node that
// fails while it is replaced) are not told apart from others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/named.h"

namespace sgdsim::goodput {

// Picoseconds beyond 64 bits, which end after 106 days. Trainings may take longer.
__extension__ typedef __int128 LongPs;
inline constexpr double never_s = 1e24;  // about 3e16 years
inline constexpr int64_t most_steps = 1'000'000'000'000;
LongPs to_ps(double seconds);  // the nearest; at most `never_s`
double to_s(LongPs time);

// Every moment of a run belongs to one of these.
enum class Part : uint8_t {
  productive,  // steps whose result was kept, at their full pace
  recomputed,  // steps that were lost
  stalled,     // saving
  detecting,
  restarting,
  waiting,  // for a node
  slow,     // the further time of steps with a degraded part
  planned,
};
inline constexpr std::size_t part_count = 8;
inline constexpr std::array<std::string_view, part_count> part_names = {
    "productive", "recomputed", "stalled", "detecting", "restarting", "waiting", "slow", "planned"};
using Account = std::array<LongPs, part_count>;

enum class Effect : uint8_t { stop, slow, corrupt };
inline constexpr Named<Effect, 3> effects{
    {{"stop", Effect::stop}, {"slow", Effect::slow}, {"corrupt", Effect::corrupt}}};
inline const auto& names_of(Effect) { return effects; }

struct Cause {
  std::string name;
  Effect effect = Effect::stop;
  // How often: the mean time between two of one unit, and how many units there are. A Weibull law
  // (shape other than 1) starts again at each failure of a unit, and units have run for long when
  // the job begins, so that as many fail at any time; `at` is a record in place of a law.
  double mean_s = never_s;
  int64_t units = 1;
  double shape = 1;
  std::vector<double> at_s = {};
  double detect_s = 0;
  bool needs_node = false;  // else it is restarted where it was
  int64_t nodes = 1;        // that are lost with it
  double repair_s = 0;
  bool memory_survives = true;  // of the nodes that are not lost
  double factor = 1;            // slow: of the step's time
  double lasts_s = 0;           // slow: mean
  bool lasts_varies = true;     // exponentially
  double rate() const { return static_cast<double>(units) / mean_s; }
};

struct Shrinking {
  int64_t replicas = 1;
  double stall_s = 0;                     // of all, when one is lost and its step is thrown away
  std::vector<double> step_factors = {};  // with one, two, ... fewer; G/(G - d) where it ends
};

struct Plan {
  int64_t steps = 1;
  double step_s = 1;
  int64_t interval = 1;  // steps between saves
  double stall_s = 0;
  double durable_s = 0;
  int64_t store_every =
      0;  // every so many saves go to the store as well; 0: every save is in the store
  double store_stall_s = 0;
  double store_durable_s = 0;
  int64_t nodes = 1;
  int64_t copy_group = 1;  // nodes that hold copies of each other's memory, where store_every > 0
  int64_t keep = 1;        // saves that are kept, for what is detected late; 0: all
  double restart_s = 0;
  double node_restart_s = 0;   // on a new node
  double store_restart_s = 0;  // further, where the store is read instead of memory
  // While restarting. If not, a recorded failure within it is none, and those that are drawn wait.
  bool can_fail = true;
  std::optional<int64_t> spares;  // nodes; nothing: there is always one
  std::optional<Shrinking> shrink;
  double planned_every_s = 0;  // 0: never
  double planned_s = 0;
  std::vector<Cause> causes = {};

  double work_s() const { return static_cast<double>(steps) * step_s; }
  double interval_s() const { return static_cast<double>(interval) * step_s; }
};

// Exactly so many failures within the first `horizon_s` at which failures can happen; those that
// stop the job are then drawn together. For rare events.
struct GivenFailures {
  int64_t count = 0;
  double horizon_s = 0;
};

struct PlayedRun {
  LongPs wall = 0;
  Account account{};
  int64_t failures = 0;  // that stopped it
  int64_t events = 0;    // failures, repairs and whatever else happened
  bool is_done = true;   // else it was still running at the time asked
};

// The run of this number. `until_s`: look no further. Once `is_over` is set, which another thread
// may do, it ends where it is.
PlayedRun play(const Plan& plan, uint64_t seed, uint64_t run, double until_s = never_s,
               const std::optional<GivenFailures>& given = {},
               const std::atomic<bool>* is_over = nullptr);
// How much of its work is kept at moments that grow: what play() until each of them says.
std::vector<LongPs> productive_at(const Plan& plan, uint64_t seed, uint64_t run,
                                  const std::vector<double>& moments_s,
                                  const std::atomic<bool>* is_over = nullptr);

}  // namespace sgdsim::goodput
