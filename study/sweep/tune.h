// The best point of a sweep: by trying all of a small one, by searching a large one.
//
// The search goes along one axis at a time, the others held, until no axis gives anything better.
// Along an axis of numbers it tries evenly spread values and then narrows down around the best by
// golden section; along any other axis it tries every value. What it finds is the best only if the
// objective has one valley; steps (a bucket that just fits) make small ones.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_run.h"

namespace sgdsim {

struct Tuned {
  Json best;  // the values of the axes; null if no point has a result
  double value = 0;
  int64_t evaluated = 0;
  int64_t failed = 0;  // of them
  bool exhaustive = false;
  bool interrupted = false;           // by a signal; what was evaluated until then counts
  std::vector<std::string> warnings;  // of the best point
  std::optional<double> bound;        // of strategies that no program runs
};

// The least or the most of a column of the lines. Never evaluates more than `most` points.
Tuned tune(const Sweep& sweep, const Objective& objective, int64_t most, int threads,
           const std::function<bool()>& is_interrupted = {});

}  // namespace sgdsim
