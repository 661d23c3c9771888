// What formulas say of a training that fails: how often it stops, whether it ends, and how often it
// should save.
#pragma once

#include <vector>

#include "models/goodput/closed_forms.h"
#include "models/goodput/player.h"

namespace sgdsim {

// A run takes at most so many times the time of its work; else it never ends.
inline constexpr double most_wall_per_work = 1000;
// Whether it strikes by a law, and ever.
bool is_at_random(const goodput::Cause& cause);
// The mean time between failures that stop the job, or make it go back; longest where there are
// none.
double mean_to_stop_s(const goodput::Plan& plan);
// The same of all that is known: of records, as long as they last, too.
double mean_between_stops_s(const goodput::Plan& plan);
// Nodes that fail and are repaired, each by itself or with its leaf, in the long run.
struct NodesDown {
  std::vector<goodput::Outages> outages = {};  // with the most nodes first
  double mean = 0;                             // nodes
  double repair_s = 0;                         // the mean
};
NodesDown nodes_down_of(const goodput::Plan& plan);
// Whether there are so few spares that it hardly ever runs.
bool waits_for_ever(const goodput::Plan& plan);
// Ways in which it goes down, where nodes need not be waited for. What is corrupt is wrong until it
// is detected, and then restarted: nothing else can make that longer.
goodput::Downtimes downtimes_of(const goodput::Plan& plan);
// Does the formula hold exactly for this plan?
bool has_closed_form(const goodput::Plan& plan);
double closed_form_s(const goodput::Plan& plan);
// For how long a save stops the job in the mean: some go to the store as well.
double mean_stall_s(const goodput::Plan& plan);
// How many times the work is done because it is lost where corruption is older than all saves.
double repeats_for_lost_saves(const goodput::Plan& plan);
// The best number of whole steps between saves: that of the exact formula, or where saves that far
// apart would not reach back beyond corruption a longer one.
int64_t best_interval_steps(const goodput::Plan& plan);
// Is each save durable before the next, and does it end in sensible time? The same that a question
// is refused for.
bool can_save_and_end(const goodput::Plan& plan);
// Time over that of the work, where saves are this far apart.
double wall_per_work_of(const goodput::Plan& plan);
// Saves of which one is older than any corruption that is detected.
int64_t saves_to_keep(const goodput::Plan& plan);
// How often, on average, corruption is older than all saves during the work, which is then lost.
double lost_works(const goodput::Plan& plan);
bool loses_all_too_often(const goodput::Plan& plan);
// Whether hardly anything gets done for failures; saves take what they take.
bool fails_too_often(const goodput::Plan& plan);

}  // namespace sgdsim
