// What a picture shows: panels of curves, taken from the rows of a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/plot/plot_table.h"

namespace sgdsim {

struct CurveSpot {
  double x = 0;
  double y = 0;
};
struct PlotCurve {
  std::size_t name = 0;          // of PlotData::names
  std::vector<CurveSpot> spots;  // by x
};
struct PlotPanel {
  std::string title;
  std::vector<PlotCurve> curves;
};

struct PlotData {
  Measure x, y;
  std::vector<std::string> x_words;  // texts have places from 0 on; empty: x are numbers
  std::vector<std::string> names;    // of curves; one that is empty if nothing is compared
  std::string panels_by;             // "bandwidth"; empty: one panel
  std::vector<PlotPanel> panels;
  LeftOut left_out;
  std::vector<std::string> notes = {};  // what else was left out, or is not as it seems
};

PlotData plot_data(const PlotRequest& request);

}  // namespace sgdsim
