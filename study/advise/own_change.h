// Changes of one's own: of which kinds they are, so that they stand with those of the list that
// change the same.
#pragma once

#include <string>
#include <vector>

#include "study/advise/change.h"
#include "study/step/experiment.h"

namespace sgdsim {

// Of a field of an experiment outside of strategy, collective and cluster; `own` where there is
// none for it.
ChangeKind kind_of_field(const std::string& path);

// With the kinds that follow from the fields in which it differs from the experiment, or with all
// that is known of a change of the list that does the same.
Change with_kinds(Change own, const ResolvedExperiment& base, const Experiment& experiment,
                  const std::vector<Change>& known);

}  // namespace sgdsim
