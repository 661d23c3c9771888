// How slow every worker makes the step, as a map: stages go down, replicas go across.
#pragma once

#include <string>
#include <vector>

#include "app/plot/drawing.h"
#include "app/terminal.h"

namespace sgdsim {

struct HeatMap {
  int stages = 1;
  int replicas = 1;
  std::vector<double> slowdown;  // of each worker: replica * stages + stage
  std::string title;
};

std::string heat_text(const HeatMap& map, const Terminal& terminal);
Drawing heat_drawing(const HeatMap& map);

}  // namespace sgdsim
