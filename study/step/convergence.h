// How many iterations training needs, given what an experiment costs in quality: time to target.
//
// A step does not learn. Whoever has measured how many more iterations stale, sparse or incomplete
// gradients need can write it down as curves of factors, and read the time to target. `sgdsim learn
// --convergence` writes such curves of small models.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "sim/play/result.h"

namespace sgdsim {

// Points, ascending; straight between them, constant beyond, of which results warn.
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
  // What of this quality the curves do not say.
  std::vector<std::string> warnings_at(const Quality& quality) const;
};

struct QualityCurve {
  const char* name;          // in the file
  const char* says;          // for people
  double Quality::*quality;  // that it is over
  double usual;              // of dense training, whose factor is 1
  FactorCurve Convergence::*points;
};
// Sparse gradients deliver less, too: a curve over either tells what they need.
inline constexpr std::array<QualityCurve, 3> quality_curves{
    {{"density", "density", &Quality::density, 1, &Convergence::density},
     {"staleness", "mean staleness", &Quality::staleness_mean, 0, &Convergence::staleness},
     {"delivered_fraction", "delivered part", &Quality::delivered, 1, &Convergence::delivered}}};

// {"iterations": 90000, "staleness": [{"at": 0, "factor": 1}, {"at": 1, "factor": 1.05}], ...}
Fields fields_of(Convergence& convergence);
Json schema_of_convergences();

}  // namespace sgdsim
