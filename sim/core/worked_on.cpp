// How many threads there may be, and who is one of them.
#include "sim/core/worked_on.h"

#include <sys/resource.h>
#include <thread>

namespace sgdsim {
namespace {

thread_local bool helps = false;

}  // namespace

// Where the address space is limited (ulimit -v), no more than there is room for stacks and heaps:
// a thread that runs out of it late cannot even clean up.
int threads_with_room(int wanted) {
  constexpr double first_B = 300e6;           // the program and its first thread
  constexpr double each_B = 2 * 72 * 0x1p20;  // 8 MiB of stack and 64 MiB of heap, twice to be safe
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const double room = (static_cast<double>(limit.rlim_cur) - first_B) / each_B;
  return static_cast<int>(std::clamp(room, 1., static_cast<double>(wanted)));
}

int all_cores() {
  return threads_with_room(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

Helping::Helping() { helps = true; }
Helping::~Helping() { helps = false; }
bool Helping::is_here() { return helps; }

}  // namespace sgdsim
