// What a compression does to numbers; what it costs is its own file in models/compression.
//
// With feedback, what a worker did not send is added to its next gradient: u = e + g, s = C(u),
// e = u - s.
#pragma once

#include <cstdint>
#include <vector>

namespace sgdsim::learning {

enum class Numbers : unsigned char {
  all,          // as they are
  topk,         // each worker's k largest, summed
  topk_of_sum,  // the k largest of that sum
  gtopk,        // the k largest sums, merged up a tree of pairs
  random,       // each with the probability `density`, the same ones of all workers
  threshold,    // those of at least this magnitude
  truncate16,   // the upper 16 bits of float32
  quantize8,    // 127 steps of the largest magnitude
  qsgd,         // `levels` steps of a bucket's largest magnitude, rounded at random
  sign,         // the mean magnitude, with signs
  powersgd,     // factors of rank `rank`
};

// Density of the next iterations; the last phase has no end.
struct DensityPhase {
  double density = 1;
  int64_t iterations = 0;
};

struct Compressing {
  Numbers numbers = Numbers::all;
  std::vector<DensityPhase> densities{{1, 0}};
  bool by_tensor = false;  // topk: so many of each tensor, not of all weights
  bool feedback = true;
  bool leaks = false;  // gtopk puts back what the global sum lacks, as published: what was
                       // dropped on the way, of an index that came through elsewhere, is lost
  double threshold = 0;
  int levels = 7;
  int64_t bucket = 512;  // elements with a largest magnitude of their own; 0: all
  int rank = 4;

  double density_at(int64_t iteration) const {
    for (const DensityPhase& phase : densities) {
      if (&phase == &densities.back() || iteration < phase.iterations) return phase.density;
      iteration -= phase.iterations;
    }
    return 1;
  }
};

}  // namespace sgdsim::learning
