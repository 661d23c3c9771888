// sgdsim-calibrate: measures collectives and their parts on this machine.
#include <iostream>

#include "calibrate/command.h"

int main(int count, char** values) {
  return sgdsim::calibrate::run({values + 1, values + count}, std::cout, std::cerr);
}
