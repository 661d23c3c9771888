// sgdsim: how long would a training step take, and why, on another cluster?
#include <csignal>
#include <iostream>
#include <unistd.h>

#include "app/commands.h"

namespace {

// Where no loop asks for the signals (app/interrupt.h): the same sentence and the same code.
extern "C" void end_interrupted(int) {
  constexpr char sentence[] = "sgdsim: interrupted\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, sentence, sizeof sentence - 1);
  _exit(sgdsim::exit_interrupted);
}

// One that is ignored (nohup, a shell's background) stays so.
void take(int signal) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) return;
  now.sa_handler = end_interrupted;
  sigaction(signal, &now, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  take(SIGINT);
  take(SIGTERM);
  return sgdsim::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
