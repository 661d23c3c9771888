// Axes, methods and settings of which one would take back what another says: the answer would be
// about something that nobody asked.
#pragma once

#include <string>
#include <vector>

#include "study/sweep/sweep_file.h"
#include "study/wire_words.h"

namespace sgdsim {

// InputError where two axes, or an axis and a method, set the same field, or one sets a field in
// all that another says. `cluster=a,b` and `cluster.nodes=2,4` go together: each is set within the
// other's values.
void check_apart(const Sweep& sweep);

// InputError where one of these (as of --set) is overwritten at every point. What an axis sets
// within goes; so does the field of an axis itself, where what stands is a point of its own.
void check_settings(const Sweep& sweep, const std::vector<std::string>& settings,
                    bool has_what_stands = false);

// What options set in all points. InputError where one has no effect in any.
void note_options(Sweep& sweep, const WireWords& words);

}  // namespace sgdsim
