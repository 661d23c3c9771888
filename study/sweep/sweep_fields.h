// The fields of a sweep, as its file has them.
#pragma once

#include <optional>

#include "sim/core/fields.h"

namespace sgdsim {

inline constexpr char sweep_schema[] = "sgdsim/sweep/1";

struct SweepFields {
  FileHead head;
  std::optional<Value> base, set, axes, zip, where;
};
Fields fields_of(SweepFields& sweep);

}  // namespace sgdsim
