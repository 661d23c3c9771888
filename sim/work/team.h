// Teams of workers, the share of a message that a team works on, and the chunks it is cut into.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

// Members lie `stride` apart; the workers between them belong to other teams, the `lanes`. A worker
// number is lane + stride * (member + size * block).
struct Team {
  int size = 1;
  int stride = 1;
  int root = 0;        // the member with relative number 0
  int only_lane = -1;  // if set, the other lanes stand aside

  bool takes_part(int worker) const { return only_lane < 0 || lane(worker) == only_lane; }
  int lane(int worker) const { return stride == 1 ? 0 : worker % stride; }
  int relative(int worker) const {
    const int v = worker / stride % size - root;
    return v < 0 ? v + size : v;
  }
  // The worker number of relative member v, in the team of `worker`; the second form is for one
  // whose own relative number is known.
  int colleague(int worker, int v) const { return colleague(worker, relative(worker), v); }
  int colleague(int worker, int own, int v) const {
    return worker + (member(v) - member(own)) * stride;
  }
  int member(int v) const { return v + root < size ? v + root : v + root - size; }
};

// Calls f(base) for every team among so many workers: `base` is one of its workers.
template <class F>
void for_each_lane(const Team& team, int workers, const F& f) {
  for (int block = 0; block < workers; block += team.size * team.stride)
    for (int lane = 0; lane < team.stride; ++lane)
      if (team.takes_part(lane)) f(block + lane);
}

// `count` chunks from `first` on, of `parts`; it may run over the end and wrap around. Whole
// chunks: the first n mod parts are one byte larger. Fractional ones have exactly n / parts bytes.
struct ChunkRange {
  int first = 0;
  int count = 1;
  int parts = 1;
  bool operator==(const ChunkRange&) const = default;

  double bytes(double total_B, bool fractional) const {
    if (count == parts) return total_B;
    if (fractional) return total_B * count / parts;  // not a difference: equal chunks stay equal
    // Sizes are not negative, and cutting the digits off is faster than std::floor.
    const auto base = static_cast<double>(static_cast<int64_t>(total_B / parts));
    const auto larger = static_cast<int>(total_B - base * parts);
    const int end = first + count;
    const int larger_ones =
        std::max(0, std::min(end, larger) - first) + std::max(0, std::min(end - parts, larger));
    return base * count + larger_ones;
  }
};

// The bytes that a team works on: a message, or (`split`) the chunk of it that belongs to the
// team's lane after reduce-scatters over dimensions of these sizes, first dimension fastest.
struct Share {
  Bytes total;
  bool fractional = false;
  std::vector<int> split;

  double bytes(int lane) const {
    auto size_B = static_cast<double>(total.count());
    for (const int parts : split) {
      const int chunk = lane % parts;
      lane /= parts;
      size_B = ChunkRange{chunk, 1, parts}.bytes(size_B, fractional);
    }
    return size_B;
  }
  // All lanes have the same number of bytes, and so have the `parts` chunks of each.
  bool even(int64_t parts = 1) const {
    if (fractional) return true;
    for (const int part : split) parts *= part;
    return total.count() % parts == 0;
  }
};

}  // namespace sgdsim
