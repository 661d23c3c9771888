// Binomial tree towards and from rank 0. Broadcast: masks from the largest to 1, every holder sends
// everything to the rank `mask` further on, one message after another. Reduce: masks from 1, a rank
// with that bit sends its partial sum to the rank `mask` before it, which takes its children one
// after another.
#include <bit>

#include "calibrate/plan/algorithms.h"

namespace sgdsim::calibrate {
namespace {

class Tree {
 public:
  explicit Tree(const Collective& collective)
      : collective_(collective),
        writer_(collective.ranks, 1),
        done_(static_cast<std::size_t>(collective.ranks), -1) {}

  void reduce() {
    const int64_t slot_B = writer_.reserve(collective_.bytes);
    for (int mask = 1; mask < collective_.ranks; mask *= 2)
      for (int parent = 0; parent + mask < collective_.ranks; parent += 2 * mask) {
        const int stream = writer_.stream(parent);
        const Place mine{parent, Buffer::data, 0};
        const Place slot{parent, Buffer::scratch, slot_B};
        writer_.await(stream, done(parent + mask));
        writer_.copy(stream, slot, {parent + mask, Buffer::data, 0}, collective_.bytes);
        writer_.sum(stream, mine, mine, slot, collective_.bytes);
        done(parent) = writer_.mark(stream);
      }
  }

  void broadcast() {
    const int size = collective_.ranks;
    const auto top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)) / 2);
    for (int mask = top; mask > 0; mask /= 2)
      for (int parent = 0; parent + mask < size; parent += 2 * mask) {
        // done(parent) is when it has the data and its last message has been taken.
        const int stream = writer_.stream(parent + mask);
        writer_.await(stream, done(parent));
        writer_.copy(stream, {parent + mask, Buffer::data, 0}, {parent, Buffer::data, 0},
                     collective_.bytes);
        done(parent) = done(parent + mask) = writer_.mark(stream);
      }
  }

  Plan take() { return writer_.take(); }

 private:
  int& done(int rank) { return done_[static_cast<std::size_t>(rank)]; }

  const Collective& collective_;
  PlanWriter writer_;
  std::vector<int> done_;  // the event after which a rank may send
};

}  // namespace

Plan plan_mst(const Collective& collective) {
  Tree tree(collective);
  if (collective.operation != "broadcast") tree.reduce();
  if (collective.operation != "reduce") tree.broadcast();
  return tree.take();
}

}  // namespace sgdsim::calibrate
