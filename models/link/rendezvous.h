// From which size on messages wait for an answer (MPI's rendezvous), by one-way times.
//
// Such a message pays its start-up three times: a word to the receiver, one back, and its own way.
// So a line of start-up and time per byte with one more number, the size, tells of them; two lines
// would have four. When it is wrong: where large messages have another rate as well; then
// segments (fit.h) say more.
#pragma once

#include <optional>
#include <vector>

#include "models/link/fit.h"

namespace sgdsim {

struct RendezvousSize {
  double from_B = 0;   // a power of two between the two, if there is one; else the second
  double eager_B = 0;  // the largest measured size that does not wait
  double waits_B = 0;  // the smallest one that does
};

// Whether each row is one message on its way, of which alone sizes tell.
bool are_one_way(const std::vector<FitRow>& rows);
// The rows as they are if messages of so many bytes or more wait.
std::vector<FitRow> with_rendezvous(std::vector<FitRow> rows, double from_B);
// Empty where nothing waits: the best step is not worth its number, by the criterion of fits, or
// fewer than two sizes are on a side of it. `pieces` as for fit_pieces.
std::optional<RendezvousSize> find_rendezvous(const std::vector<FitRow>& rows, int pieces);

}  // namespace sgdsim
