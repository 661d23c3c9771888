// The whole training of the page's step: saves and failures, by formula.
#pragma once

#include "app/page/page_input.h"

namespace sgdsim {

// A question of `sgdsim goodput` for which a formula holds, of which the page says the step: `end`,
// `interval`, `intervals` as `sgdsim goodput` has them, how many failures there are, and the
// `command` that plays it.
Json training_of_page(const PageInput& input, Duration step, const Json& question);

}  // namespace sgdsim
