// All-to-all, every pair by itself: in round k every rank takes its part from the one k before it,
// so that each gives one and takes one at a time. What arrives lies behind the data, by sender; the
// own part stays where it is.
#include "calibrate/plan/algorithms.h"

namespace sgdsim::calibrate {

Place taken_at(const Collective& collective, int rank, int sender) {
  const int64_t part_B = part_of(collective, rank, 1, collective.ranks).bytes;
  return {rank, Buffer::data, aligned_B(collective.bytes) + sender * part_B};
}

Plan plan_direct(const Collective& collective) {
  PlanWriter writer(collective.ranks, 1);
  for (int round = 1; round < collective.ranks; ++round)
    for (int rank = 0; rank < collective.ranks; ++rank) {
      const int sender = (rank + collective.ranks - round) % collective.ranks;
      const Part part = part_of(collective, rank, 1, collective.ranks);
      writer.copy(writer.stream(rank), taken_at(collective, rank, sender),
                  {sender, Buffer::data, part.at_B}, part.bytes);
    }
  return writer.take();
}

}  // namespace sgdsim::calibrate
