// Threads and shards.
#include "study/sweep/sweep_options.h"

#include "sim/core/error.h"
#include "sim/core/worked_on.h"
#include "study/collective/ranges.h"

namespace sgdsim {

int threads_of(const std::string& text) {
  constexpr int64_t most_threads = 4096;
  if (text.empty()) return all_cores();
  return threads_with_room(static_cast<int>(parse_whole(text, 1, most_threads, "-j")));
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
