// What was learned: a table and curves for people, JSON and a picture.
#pragma once

#include <ostream>

#include "app/learn/lessons.h"

namespace sgdsim {

void print_learned(std::ostream& out, const LearnQuestion& question, const Learned& learned);
// sgdsim/learn/1.
Json learned_json(const LearnQuestion& question, const Learned& learned);
// Loss over simulated time, a curve for each method: the first seed's.
std::string learned_svg(const LearnQuestion& question, const Learned& learned);

}  // namespace sgdsim
