// Bidirectional exchange in MPICH's order.
//
// All-reduce (Rabenseifner): ranks beyond a power of two fold into a neighbour; reduce-scatter with
// partners at distance 1, 2, ... that exchange n/2, n/4, ...; all-gather back; unfold. Reduce: the
// same reduce-scatter, then the windows are gathered at rank 0. Broadcast: binomial scatter of P
// chunks, then, when everybody has its chunk, a ring all-gather.
//
// Copies read the sender's data where it lies. A part that somebody still reads is overwritten only
// by what that reader sends back, which it does after reading.
#include <algorithm>
#include <bit>

#include "calibrate/plan/algorithms.h"

namespace sgdsim::calibrate {
namespace {

class Exchange {
 public:
  explicit Exchange(const Collective& collective)
      : collective_(collective),
        writer_(collective.ranks, 1),
        core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(collective.ranks)))),
        done_(static_cast<std::size_t>(collective.ranks), -1) {}

  // Pairs among the first 2 r ranks; `odd_stays` says who goes on.
  void fold(bool odd_stays) {
    odd_stays_ = odd_stays;
    const int64_t slot_B = writer_.reserve_slot(extra() > 0 ? collective_.bytes : 0);
    for (int pair = 0; pair < extra(); ++pair) {
      const int stays = 2 * pair + (odd_stays ? 1 : 0);
      const int leaves = 2 * pair + (odd_stays ? 0 : 1);
      take_and_sum(stays, leaves, {0, collective_.bytes}, slot_B);
      done(stays) = writer_.mark(writer_.stream(stays));
    }
  }

  void unfold() {
    for (int pair = 0; pair < extra(); ++pair) {
      const int stays = 2 * pair + (odd_stays_ ? 1 : 0);
      const int left = 2 * pair + (odd_stays_ ? 0 : 1);
      take(left, stays, {0, collective_.bytes});
    }
  }

  void reduce_scatter() {
    const int64_t slot_B = writer_.reserve_slot(window(0, 2).bytes);  // the larger half
    for (int mask = 1; mask < core_; mask *= 2)
      exchange(mask, [&](int number, int partner) {
        take_and_sum(member(number), member(partner), window(number, 2 * mask), slot_B);
      });
  }

  void allgather() {
    for (int mask = core_ / 2; mask > 0; mask /= 2)
      exchange(mask, [&](int number, int partner) {
        take(member(number), member(partner), window(partner, 2 * mask));
      });
  }

  // Windows grow towards core number 0, which is rank 0 when even ranks stay.
  void gather() {
    for (int mask = core_ / 2; mask > 0; mask /= 2)
      for (int number = 0; number < mask; ++number) {
        const int rank = member(number);
        take(rank, member(number + mask), window(number + mask, 2 * mask));
        done(rank) = writer_.mark(writer_.stream(rank));
      }
  }

  void scatter() {
    const int size = collective_.ranks;
    const auto top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)) / 2);
    for (int mask = top; mask > 0; mask /= 2)
      for (int parent = 0; parent + mask < size; parent += 2 * mask) {
        const int child = parent + mask;
        take(child, parent, part_of(collective_, child, std::min(mask, size - child), size));
        done(parent) = done(child) = writer_.mark(writer_.stream(child));
      }
  }

  void ring_allgather() {
    const int size = collective_.ranks;
    writer_.barrier();
    done_.assign(done_.size(), -1);
    for (int k = 0; k + 1 < size; ++k) {
      for (int rank = 0; rank < size; ++rank) {
        const int sender = (rank + size - 1) % size;
        take(rank, sender, part_of(collective_, (sender - k + size) % size, 1, size));
      }
      for (int rank = 0; rank < size; ++rank) done(rank) = writer_.mark(writer_.stream(rank));
    }
  }

  Plan take() { return writer_.take(); }

 private:
  int extra() const { return collective_.ranks - core_; }
  int& done(int rank) { return done_[static_cast<std::size_t>(rank)]; }
  int member(int number) const {
    return number >= extra() ? number + extra() : 2 * number + (odd_stays_ ? 1 : 0);
  }

  // What core number v holds after the exchanges at distances 1 to width / 2: the half of the data
  // that the lowest bit of v chooses, of that the half that the next bit chooses, and so on.
  Part window(int number, int width) const {
    int first = 0;
    int count = core_;
    for (int mask = 1; mask < width; mask *= 2) {
      count /= 2;
      if ((number & mask) != 0) first += count;
    }
    return part_of(collective_, first, count, core_);
  }

  template <class F>
  void exchange(int mask, const F& one_side) {
    for (int number = 0; number < core_; ++number) one_side(number, number ^ mask);
    for (int number = 0; number < core_; ++number)
      done(member(number)) = writer_.mark(writer_.stream(member(number)));
  }

  void take(int rank, int sender, const Part& part) {
    const int stream = writer_.stream(rank);
    writer_.await(stream, done(sender));
    writer_.copy(stream, {rank, Buffer::data, part.at_B}, {sender, Buffer::data, part.at_B},
                 part.bytes);
  }

  void take_and_sum(int rank, int sender, const Part& part, int64_t slot_B) {
    const int stream = writer_.stream(rank);
    const Place mine{rank, Buffer::data, part.at_B};
    const Place slot{rank, Buffer::scratch, alike_B(slot_B, part.at_B)};
    writer_.await(stream, done(sender));
    writer_.copy(stream, slot, {sender, Buffer::data, part.at_B}, part.bytes);
    writer_.sum(stream, mine, mine, slot, part.bytes);
  }

  const Collective& collective_;
  PlanWriter writer_;
  int core_;
  bool odd_stays_ = true;
  std::vector<int> done_;  // the event after which a rank's data may be read
};

}  // namespace

Plan plan_be(const Collective& collective) {
  Exchange exchange(collective);
  if (collective.operation == "broadcast") {
    exchange.scatter();
    exchange.ring_allgather();
    return exchange.take();
  }
  const bool is_reduce = collective.operation == "reduce";
  exchange.fold(!is_reduce);
  exchange.reduce_scatter();
  if (is_reduce) {
    exchange.gather();
  } else {
    exchange.allgather();
    exchange.unfold();
  }
  return exchange.take();
}

}  // namespace sgdsim::calibrate
