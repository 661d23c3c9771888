// A picture for a paper: panels of curves with axes, marks, units and one legend.
#pragma once

#include "app/plot/drawing.h"
#include "app/plot/plot_data.h"

namespace sgdsim {

Drawing figure_of(const PlotData& data, const PlotRequest& request);

}  // namespace sgdsim
