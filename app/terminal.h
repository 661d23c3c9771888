// What standard output is, for pictures in text.
#pragma once

namespace sgdsim {

struct Terminal {
  int columns = 100;    // of a pipe or file: a fixed width, so that two runs print the same
  bool colour = false;  // on a terminal, unless NO_COLOR is set or TERM is dumb
};

Terminal standard_output();

}  // namespace sgdsim
