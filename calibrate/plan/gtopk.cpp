// gTop-k (Shi et al., arXiv 1901.04359): every rank selects its k entries of largest magnitude;
// pairs go up a binomial tree, where each parent keeps the k largest of the sum; the root's k pairs
// go back down. The pairs of a rank lie behind its data.
#include <bit>

#include "calibrate/plan/algorithms.h"
#include "calibrate/sparse.h"

namespace sgdsim::calibrate {

Plan plan_gtopk(int ranks, Type type, int64_t data_B, int64_t count) {
  PlanWriter writer(ranks, 1);
  const int64_t pairs_B = count * pair_B(type);
  const int64_t inbox_B = writer.reserve(pairs_B);
  std::vector<int> done(static_cast<std::size_t>(ranks), -1);
  const auto pairs_of = [&](int rank) { return Place{rank, Buffer::data, aligned_B(data_B)}; };
  const auto done_of = [&](int rank) -> int& { return done[static_cast<std::size_t>(rank)]; };
  for (int rank = 0; rank < ranks; ++rank) {
    writer.select(writer.stream(rank), pairs_of(rank), {rank, Buffer::data, 0}, data_B, count);
    done_of(rank) = writer.mark(writer.stream(rank));
  }
  for (int mask = 1; mask < ranks; mask *= 2)
    for (int parent = 0; parent + mask < ranks; parent += 2 * mask) {
      const int stream = writer.stream(parent);
      writer.await(stream, done_of(parent + mask));
      writer.copy(stream, {parent, Buffer::scratch, inbox_B}, pairs_of(parent + mask), pairs_B);
      writer.merge(stream, pairs_of(parent), {parent, Buffer::scratch, inbox_B}, count);
      done_of(parent) = writer.mark(stream);
    }
  const auto top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)) / 2);
  for (int mask = top; mask > 0; mask /= 2)
    for (int parent = 0; parent + mask < ranks; parent += 2 * mask) {
      const int stream = writer.stream(parent + mask);
      writer.await(stream, done_of(parent));
      writer.copy(stream, pairs_of(parent + mask), pairs_of(parent), pairs_B);
      done_of(parent) = done_of(parent + mask) = writer.mark(stream);
    }
  return writer.take();
}

}  // namespace sgdsim::calibrate
