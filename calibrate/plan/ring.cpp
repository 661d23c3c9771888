// Ring: P chunks go round. Reduce-scatter step k: rank i sends chunk i - 1 - k to i + 1, which adds
// it to its own, so that rank i ends with chunk i; all-gather step k: rank i sends chunk i - k.
// Nobody overwrites a chunk that is still being read: it comes back only after it went all around.
#include "calibrate/plan/algorithms.h"

namespace sgdsim::calibrate {
namespace {

class Ring {
 public:
  explicit Ring(const Collective& collective)
      : collective_(collective),
        writer_(collective.ranks, 1),
        ready_(static_cast<std::size_t>(collective.ranks), -1) {}

  void reduce_scatter() {
    const int64_t slot_B =
        writer_.reserve_slot(part_of(collective_, 0, 1, collective_.ranks).bytes);
    for (int k = 0; k + 1 < collective_.ranks; ++k)
      round(-1 - k, [&](int stream, const Place& mine, const Place& from, int64_t bytes) {
        const Place slot{mine.rank, Buffer::scratch, alike_B(slot_B, mine.at_B)};
        writer_.copy(stream, slot, from, bytes);
        writer_.sum(stream, mine, mine, slot, bytes);
      });
  }

  void allgather() {
    for (int k = 0; k + 1 < collective_.ranks; ++k)
      round(-k, [&](int stream, const Place& mine, const Place& from, int64_t bytes) {
        writer_.copy(stream, mine, from, bytes);
      });
  }

  Plan take() { return writer_.take(); }

 private:
  // Every rank takes a chunk from the one before it: the sender's number plus `offset`.
  template <class F>
  void round(int offset, const F& take_chunk) {
    const int size = collective_.ranks;
    for (int rank = 0; rank < size; ++rank) {
      const int sender = (rank + size - 1) % size;
      const int chunk = ((sender + offset) % size + size) % size;
      const Part part = part_of(collective_, chunk, 1, size);
      const int stream = writer_.stream(rank);
      writer_.await(stream, ready_[static_cast<std::size_t>(sender)]);
      take_chunk(stream, {rank, Buffer::data, part.at_B}, {sender, Buffer::data, part.at_B},
                 part.bytes);
    }
    for (int rank = 0; rank < size; ++rank)
      ready_[static_cast<std::size_t>(rank)] = writer_.mark(writer_.stream(rank));
  }

  const Collective& collective_;
  PlanWriter writer_;
  std::vector<int> ready_;  // the event after which a rank's latest chunk may be read
};

}  // namespace

Plan plan_ring(const Collective& collective) {
  Ring ring(collective);
  if (collective.operation != "allgather") ring.reduce_scatter();
  if (collective.operation != "reduce_scatter") ring.allgather();
  return ring.take();
}

}  // namespace sgdsim::calibrate
