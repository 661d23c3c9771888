// sgdsim: how long would a training step take, and why, on another cluster?
#include <csignal>
#include <iostream>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

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

// Lessons and sweeps take the same few megabytes again and again. glibc would give those back each
// time, and the system clear them each time: a quarter of a transformer's lesson.
void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kept_B = 64 << 20;
  constexpr int largest_B = 32 << 20;  // of what is not mapped by itself
  mallopt(M_TRIM_THRESHOLD, kept_B);
  mallopt(M_MMAP_THRESHOLD, largest_B);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  take(SIGINT);
  take(SIGTERM);
  keep_freed_memory();
  return sgdsim::run_program({argv + 1, argv + argc}, {std::cout, std::cerr});
}
