// A picture (SVG) of the best points of a sweep: one cell per group, coloured by what is best
// there.
//
// The first of the two other axes goes down, the second to the right. The further the next value
// is behind, the stronger the colour; what hardly matters is pale.
#pragma once

#include <string>

#include "sim/core/json.h"

namespace sgdsim {

// An InputError if the name says that it is something else than SVG.
void check_picture_name(const std::string& file);
// An InputError unless there are one or two other axes.
void check_can_be_drawn(std::size_t other_axes);

// Of sgdsim/best/1.
std::string winners_svg(const Json& best, const std::string& title);

}  // namespace sgdsim
