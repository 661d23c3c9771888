// The arithmetic of phases: who talks to whom in a round, and which chunks travel.
#include "sim/work/schedule.h"

#include <algorithm>
#include <cassert>

namespace sgdsim {
namespace {

int sum_of_window_starts(int number, int parts, int bits) {
  int start = 0;
  for (int bit = 0; bit < bits; ++bit) start += (number >> bit & 1) * (parts >> (bit + 1));
  return start;
}

// Where the window of core worker `number` starts when it is `width` of `parts` chunks wide. Masks
// that go up while windows shrink (MPICH's order) put windows in bit-reversed places.
int window_start(int number, int parts, int width, bool reversed) {
  if (!reversed) return number & ~(width - 1);
  return sum_of_window_starts(number, parts, log2_down(parts / width));
}

// `number` modulo size, in 0 .. size - 1. Rounds go around once or twice; a division costs as much
// as the rest of a message.
int around(int64_t number, int size) {
  if (number < 0) number += size;
  if (number >= size) number -= size;
  if (number < 0 || number >= size) number = (number % size + size) % size;
  return static_cast<int>(number);
}

int blocks_with_bit(int blocks, int bit) {
  const int period = 2 << bit;
  const int half = 1 << bit;
  return blocks / period * half + std::max(0, blocks % period - half);
}

}  // namespace

int Phase::core_number(int member) const {
  const int r = extra();
  if (member >= 2 * r) return member - r;
  return (member % 2 == 1) == odd_stays ? member / 2 : -1;
}

int Phase::mask(int round) const {
  if (talk == Talk::tree_down) return 1 << (rounds - 1 - round);
  if (talk == Talk::tree_up) return 1 << round;
  return far_first ? core() >> (round + 1) : 1 << round;
}

int Phase::shift_distance(int round) const {
  const int64_t far = doubles ? static_cast<int64_t>(distance) << round
                              : distance + static_cast<int64_t>(distance_step) * round;
  return around(far, team.size);
}

int Phase::receiver(int round, int v) const {
  const int size = team.size;
  switch (talk) {
    case Talk::shift: {
      const int to = v + shift_distance(round);
      return to >= size ? to - size : to;
    }
    case Talk::exchange:
    case Talk::gather: {
      const int number = core_number(v);
      const int m = mask(round);
      if (number < 0) return -1;
      if (talk == Talk::gather && (number < m || number >= 2 * m)) return -1;
      return core_member(number ^ m);
    }
    case Talk::tree_down: {
      const int m = mask(round);
      return v % (2 * m) == 0 && v + m < size ? v + m : -1;
    }
    case Talk::tree_up: {
      const int m = mask(round);
      return v % (2 * m) == m ? v - m : -1;
    }
    case Talk::star_out:
      return v == 0 ? round + 1 : -1;
    case Talk::star_in:
      return v == round + 1 ? 0 : -1;
    case Talk::fold:
      return v < 2 * extra() && core_number(v) < 0 ? v ^ 1 : -1;
    case Talk::unfold:
      return v < 2 * extra() && core_number(v) >= 0 ? v ^ 1 : -1;
  }
  assert(false);
  return -1;
}

int Phase::sender(int round, int v) const {
  const int size = team.size;
  switch (talk) {
    case Talk::shift: {
      const int from = v - shift_distance(round);
      return from < 0 ? from + size : from;
    }
    case Talk::exchange:
      return receiver(round, v);
    case Talk::gather: {
      const int number = core_number(v);
      const int m = mask(round);
      return number >= 0 && number < m ? core_member(number + m) : -1;
    }
    case Talk::tree_down: {
      const int m = mask(round);
      return v % (2 * m) == m ? v - m : -1;
    }
    case Talk::tree_up: {
      const int m = mask(round);
      return v % (2 * m) == 0 && v + m < size ? v + m : -1;
    }
    case Talk::star_out:
      return v == round + 1 ? 0 : -1;
    case Talk::star_in:
      return v == 0 ? round + 1 : -1;
    case Talk::fold:
      return v < 2 * extra() && core_number(v) >= 0 ? v ^ 1 : -1;
    case Talk::unfold:
      return v < 2 * extra() && core_number(v) < 0 ? v ^ 1 : -1;
  }
  assert(false);
  return -1;
}

ChunkRange Phase::range(int round, int v) const {
  const int size = team.size;
  switch (load) {
    case Load::whole:
      return {0, 1, 1};
    case Load::chunk: {
      const int64_t chunk = v + chunk_offset + static_cast<int64_t>(chunk_slope) * round;
      return {around(chunk, size), 1, size};
    }
    case Load::half: {  // the window has p' >> round chunks; windows shrink
      const int parts = core();
      const int kept = parts >> (round + 1);
      const int number = core_number(v);
      const int start = window_start(number, parts, parts >> round, !far_first);
      return {start + ((number & mask(round)) != 0 ? 0 : kept), kept, parts};
    }
    case Load::window: {  // windows grow
      const int parts = core();
      return {window_start(core_number(v), parts, 1 << round, far_first), 1 << round, parts};
    }
    case Load::subtree: {
      const int m = mask(round);
      const int first = talk == Talk::tree_down ? v + m : v;
      return {first, std::min(m, size - first), size};
    }
    case Load::bruck_window:
      return {v, std::min(1 << round, size - (1 << round)), size};
    case Load::bruck_blocks:
      return {0, blocks_with_bit(size, round), size};
  }
  assert(false);
  return {};
}

double Phase::sent_B(int round, int v, int lane) const {
  const double total_B = share.bytes(lane);
  if (load == Load::whole) return total_B;
  const ChunkRange chunks = range(round, v);
  if (padded_chunks && !share.fractional) return std::ceil(total_B / chunks.parts) * chunks.count;
  return chunks.bytes(total_B, share.fractional);
}

}  // namespace sgdsim
