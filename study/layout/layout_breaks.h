// What a layout loses when links or a GPU are at half of their rate or gone, and how slow links may
// get until another layout is faster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/layout/layout_output.h"

namespace sgdsim {

// At the fidelity of the question. A slow GPU of the closed form is simulated by passes, and what
// it costs there is taken over in proportion.
Breaks breaks_of(const LayoutQuestion& question, const LayoutLine& line);

// Of the first of these layouts, the fastest one, in closed form: down to a twentieth of each kind
// of link. Compared are these and what a search finds with a link that slow.
std::vector<Margin> margins_of(const LayoutQuestion& question,
                               const std::vector<FoundLayout>& layouts);

}  // namespace sgdsim
