// The answer to a question about layouts: the given one priced, or those that the search found.
#pragma once

#include "study/layout/layout_output.h"

namespace sgdsim {

// The one layout that was given.
LayoutAnswer price_layout(const LayoutQuestion& question, const Layout& layout, bool wants_slices);
// `lines`: so many of the fastest; without it the best of each family, and of each program.
LayoutAnswer find_layouts(const LayoutQuestion& question, std::optional<int64_t> lines);

}  // namespace sgdsim
