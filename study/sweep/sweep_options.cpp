// Threads and shards.
#include "study/sweep/sweep_options.h"

#include <algorithm>
#include <sys/resource.h>
#include <thread>

#include "sim/core/error.h"
#include "study/collective/ranges.h"

namespace sgdsim {

namespace {

// Where the address space is limited (ulimit -v), no more threads than there is room for their
// stacks and heaps: a thread that runs out of it late cannot even clean up.
int threads_with_room() {
  constexpr double first_B = 300e6;           // the program and its first thread
  constexpr double each_B = 2 * 72 * 0x1p20;  // 8 MiB of stack and 64 MiB of heap, twice to be safe
  constexpr double most = 4096;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return static_cast<int>(most);
  const double room = (static_cast<double>(limit.rlim_cur) - first_B) / each_B;
  return static_cast<int>(std::clamp(room, 1., most));
}

}  // namespace

int threads_of(const std::string& text) {
  constexpr int64_t most_threads = 4096;
  const auto wanted = text.empty()
                          ? static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))
                          : static_cast<int>(parse_whole(text, 1, most_threads, "-j"));
  return std::min(wanted, threads_with_room());
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    throw InputError("--shard", "expected I/N, as in 0/7, got \"" + text.substr(0, 60) + "\"");
  Shard shard;
  shard.count = parse_whole(text.substr(slash + 1), 1, int64_t{1} << 40, "--shard");
  shard.index = parse_whole(text.substr(0, slash), 0, shard.count - 1, "--shard");
  return shard;
}

}  // namespace sgdsim
