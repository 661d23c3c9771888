// The command that gives a point of a sweep again, named only if it is certain to.
//
// Lines of points do not say which files they came from. If the sweep (or the experiment with
// --axis) is given too, it is read again and must be known by the same hash; `sgdsim sweep --shard`
// then plays any point. `sgdsim run --set` is named besides if the first and the last point have
// the same inputs that way, to the hash.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/answer_rows.h"

namespace sgdsim {

struct AskedSweep {
  std::string file;
  std::vector<std::string> settings;  // --set
  std::vector<std::string> axes;      // --axis
};

// {sweep: [words], run: [words]}, both without what names the point; or nothing if these are the
// points of another sweep.
std::optional<Json> reproduction_of(const AnswerRows& rows, const AskedSweep& asked);

}  // namespace sgdsim
