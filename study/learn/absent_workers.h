// Workers that die, or come later, or come back: `absent=[{"worker": 3, "from": 100, "until":
// 200}]`.
//
// Sums and averages are of those that are there, and divided by their number, so that an iteration
// has fewer samples meanwhile. Who comes back has the weights that all have, and nothing else: no
// residual, no momentum of its own. Iterations take the time of the experiment with as many workers
// as are there, as if its ring were formed anew.
#pragma once

#include <optional>

#include "study/learn/learn_question.h"

namespace sgdsim {

void state_absences(const Json& absent, LearnMethod& method);
// When the rules of the method are known: InputError where nobody can be absent, and where once all
// would be.
void check_absences(const LearnMethod& method, bool is_asynchronous);
// None: the cluster has no such number of nodes.
std::optional<ResolvedExperiment> with_fewer_workers(const ResolvedExperiment& resolved, int all,
                                                     int workers);

namespace learning {
Fields fields_of(const Absence& absence);
}

}  // namespace sgdsim
