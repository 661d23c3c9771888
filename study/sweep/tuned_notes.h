// What a reader must know of tuned values: whether they alter learning, and whether they stand at
// an end of what was tried.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "sim/core/json.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {

struct AtEnd {
  std::string field;
  std::string end;  // "least" or "largest"
};
Fields fields_of(const AtEnd& o);

struct TunedNotes {
  std::vector<std::string> altering;  // fields that learn otherwise than the experiment stands
  std::vector<AtEnd> at_end;
};
// `best`: the values of the axes at the best point.
TunedNotes notes_of(const Sweep& sweep, const Json& best);
void print(std::ostream& out, const TunedNotes& notes);

}  // namespace sgdsim
