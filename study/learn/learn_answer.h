// What was learned: a table and curves for people, JSON and a picture.
#pragma once

#include <ostream>

#include "study/learn/lessons.h"

namespace sgdsim {

void print_learned(std::ostream& out, const LearnQuestion& question, const Learned& learned);
// sgdsim/learn/1.
Json learned_json(const LearnQuestion& question, const Learned& learned);

Answer answer_learn(const Value& question, const Watch& watch);

}  // namespace sgdsim
