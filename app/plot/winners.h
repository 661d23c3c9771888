// A map of winners for terminals: over two columns the method that is best, in its colour.
#pragma once

#include <ostream>

#include "app/plot/plot_table.h"
#include "app/terminal.h"

namespace sgdsim {

// `best`: the column by which a method wins; the least wins but of speed-ups, rates and the like.
// x goes across, y down.
// Returns what is not on it.
LeftOut print_winners(std::ostream& out, const PlotRequest& request, const std::string& best,
                      const Terminal& terminal);

}  // namespace sgdsim
