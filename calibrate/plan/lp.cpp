// The linear pipeline of Wang et al. (arXiv 1611.04255): a chain 0, 1, ..., P-1 whose last rank is
// the root. The message is cut into blocks; every rank passes block j on while block j + 1 arrives.
//
// Reduce: the incoming block goes to one of two inbox slots; its sum with the local block is
// written to one of two outgoing slots, which the next rank copies from, so that the local data
// stays as it is; the root sums into its data. With one stream a rank copies and sums in turns,
// with two it sums block j while block j + 1 arrives. All-reduce: each block that the root has
// summed goes back down the chain at once.
#include <algorithm>
#include <array>

#include "calibrate/plan/algorithms.h"

namespace sgdsim::calibrate {
namespace {

class Chain {
 public:
  explicit Chain(const Collective& collective)
      : collective_(collective),
        writer_(collective.ranks, lanes()),
        block_B_(std::max(collective.element_B,
                          collective.block_B / collective.element_B * collective.element_B)) {
    for (int64_t at_B = 0; at_B < collective.bytes; at_B += block_B_)
      blocks_.push_back({at_B, std::min(block_B_, collective.bytes - at_B)});
  }

  void reduce() {
    for (auto* slots : {&inbox_, &outgoing_})
      for (int64_t& slot : *slots) slot = writer_.reserve_slot(block_B_);
    // taken[rank][slot]: the next rank has copied what lies there.
    std::vector<std::array<int, 2>> taken(ranks(), {-1, -1});
    std::vector<std::array<int, 2>> summed(ranks(), {-1, -1});
    summed_at_root_.assign(blocks_.size(), -1);
    for (std::size_t j = 0; j < blocks_.size(); ++j)
      for (int rank = 1; rank < collective_.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const int copy_stream = writer_.stream(rank, 0);
        const int sum_stream = writer_.stream(rank, collective_.overlaps ? 1 : 0);
        const std::size_t slot = j % 2;
        // The inbox slot is free when the sum of two blocks ago is done.
        writer_.await(copy_stream, summed[r][slot]);
        writer_.await(copy_stream, summed[r - 1][slot]);
        writer_.copy(copy_stream, inbox(rank, j), sent_by(rank - 1, j), blocks_[j].bytes);
        taken[r - 1][slot] = writer_.mark(copy_stream);
        writer_.await(sum_stream, taken[r - 1][slot]);
        writer_.await(sum_stream, taken[r][slot]);
        writer_.sum(sum_stream, summed_by(rank, j), {rank, Buffer::data, blocks_[j].at_B},
                    inbox(rank, j), blocks_[j].bytes);
        summed[r][slot] = writer_.mark(sum_stream);
        if (rank + 1 == collective_.ranks) summed_at_root_[j] = summed[r][slot];
      }
  }

  // Down the chain from the root; a block leaves when the root has it.
  void broadcast() {
    const int lane = is_allreduce() ? lanes() - 1 : 0;
    std::vector<int> arrived = summed_at_root_;
    arrived.resize(blocks_.size(), -1);
    for (std::size_t j = 0; j < blocks_.size(); ++j) {
      int before = arrived[j];
      for (int rank = collective_.ranks - 2; rank >= 0; --rank) {
        const int stream = writer_.stream(rank, lane);
        const Place mine{rank, Buffer::data, blocks_[j].at_B};
        writer_.await(stream, before);
        writer_.copy(stream, mine, {rank + 1, Buffer::data, blocks_[j].at_B}, blocks_[j].bytes);
        before = writer_.mark(stream);
      }
    }
  }

  Plan take() { return writer_.take(); }

 private:
  bool is_allreduce() const { return collective_.operation == "allreduce"; }
  // Reduction up and broadcast down are in flight together, hence a third stream for all-reduce.
  int lanes() const { return (collective_.overlaps ? 2 : 1) + (is_allreduce() ? 1 : 0); }
  std::size_t ranks() const { return static_cast<std::size_t>(collective_.ranks); }
  Place inbox(int rank, std::size_t j) const {
    return {rank, Buffer::scratch, alike_B(inbox_[j % 2], blocks_[j].at_B)};
  }
  Place outgoing(int rank, std::size_t j) const {
    return {rank, Buffer::scratch, alike_B(outgoing_[j % 2], blocks_[j].at_B)};
  }
  Place sent_by(int rank, std::size_t j) const {
    if (rank == 0) return {rank, Buffer::data, blocks_[j].at_B};
    return outgoing(rank, j);
  }
  Place summed_by(int rank, std::size_t j) const {
    if (rank + 1 == collective_.ranks) return {rank, Buffer::data, blocks_[j].at_B};
    return outgoing(rank, j);
  }

  const Collective& collective_;
  PlanWriter writer_;
  int64_t block_B_;
  std::vector<Part> blocks_;
  std::array<int64_t, 2> inbox_{};
  std::array<int64_t, 2> outgoing_{};
  std::vector<int> summed_at_root_;
};

}  // namespace

Plan plan_lp(const Collective& collective) {
  Chain chain(collective);
  if (collective.operation != "broadcast") chain.reduce();
  if (collective.operation != "reduce") chain.broadcast();
  return chain.take();
}

}  // namespace sgdsim::calibrate
