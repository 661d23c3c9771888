// How many iterations training needs, given what an experiment costs in quality: time to target.
//
// A step does not learn. Whoever has measured how many more iterations stale, sparse or incomplete
// gradients need can write it down as curves of factors, and read the time to target. `sgdsim learn
// --convergence` writes such curves of small models.
#pragma once

#include <vector>

#include "sim/core/fields.h"
#include "sim/play/result.h"

namespace sgdsim {

// Points, ascending; straight between them, constant beyond.
struct FactorPoint {
  double at = 0;
  double factor = 1;
};
Fields fields_of(FactorPoint& point);
using FactorCurve = std::vector<FactorPoint>;

struct Convergence {
  FileHead head;
  double iterations = 0;  // at quality 1: dense, nothing stale
  FactorCurve staleness;  // over the mean staleness
  FactorCurve density;    // over the density
  FactorCurve delivered;  // over the delivered fraction

  double iterations_at(const Quality& quality) const;
};

// {"iterations": 90000, "staleness": [{"at": 0, "factor": 1}, {"at": 1, "factor": 1.05}], ...}
Fields fields_of(Convergence& convergence);
Json schema_of_convergences();

}  // namespace sgdsim
