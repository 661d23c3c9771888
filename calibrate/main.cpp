// sgdsim-calibrate: measures collectives and their parts on this machine.
#include <cstdlib>
#include <iostream>

#include "calibrate/command.h"

int main(int count, char** values) {
  const int code = sgdsim::calibrate::run({values + 1, values + count}, std::cout, std::cerr);
  std::cout.flush();
  std::cerr.flush();
  // Not by a return: what CUDA's runtime does at the end of a process waits for a GPU that hangs.
  std::_Exit(code);
}
