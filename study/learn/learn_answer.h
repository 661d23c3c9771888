// What was learned: a table and curves for people, JSON and a picture.
#pragma once

#include <ostream>

#include "study/learn/lessons.h"

namespace sgdsim {

void print_learned(std::ostream& out, const LearnQuestion& question, const Learned& learned);

// "loss 0.8835".
std::string goal_text(const LearnTarget& target);
// "120 (100 to 140)"; empty: most did not reach it.
std::string range_of_seeds(const OverSeeds& values, std::string (*text)(double));
// Why the curve of a seed ended before its time; empty: none did.
std::string end_of(const LearnedRate& rate);
inline constexpr char edge_of_ladder[] =
    "its best rate is at the edge of the ladder, so a better one may lie beyond";

// sgdsim/learn/1, with `axis` a list of sgdsim/learn-point/1, with `batches` learn-batches/1.
Answer answer_learn(const Value& question, const Watch& watch);

}  // namespace sgdsim
