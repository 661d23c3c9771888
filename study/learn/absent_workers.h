// Workers that die, or come later, or come back: `absent=[{"worker": 3, "from": 100, "until":
// 200}]`.
//
// Sums are of those that are there, and divided by their number, so that an iteration has fewer
// samples meanwhile. Who comes back has the weights that all have.
#pragma once

#include "study/learn/learn_question.h"

namespace sgdsim {

void state_absences(const Json& absent, LearnMethod& method);
// When the rules of the method are known: InputError where nobody can be absent, and where once all
// would be.
void check_absences(LearnMethod& method, bool is_asynchronous);
Json absences_json(const learning::UpdateLog& log);

}  // namespace sgdsim
