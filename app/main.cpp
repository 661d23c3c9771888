// sgdsim: how long would a training step take, and why, on another cluster?
#include <iostream>

#include "app/commands.h"

int main(int argc, char** argv) {
  return sgdsim::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
