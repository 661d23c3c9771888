// How much of the gradients is sent and delivered, summed over messages.
#pragma once

#include <algorithm>

#include "models/compression/compression.h"
#include "sim/play/result.h"

namespace sgdsim {

class Sparsity {
 public:
  void add(const Encoded& encoded) {
    elements_ += encoded.elements;
    sent_ += encoded.sent;
    delivered_ += encoded.delivered;
  }
  void add(const Sparsity& other, double times) {
    elements_ += other.elements_ * times;
    sent_ += other.sent_ * times;
    delivered_ += other.delivered_ * times;
  }
  Quality quality() const {
    Quality quality;
    if (elements_ > 0) {
      quality.density = sent_ / elements_;
      quality.delivered = delivered_ / elements_;
    }
    return quality;
  }

 private:
  double elements_ = 0;
  double sent_ = 0;
  double delivered_ = 0;
};

// How many measured iterations from this one on have the same density; at most `left`.
inline int iterations_alike(const Compression* compression, int measured, int left) {
  if (compression == nullptr) return left;
  for (const DensityStep& step : compression->densities) {
    if (step.iterations == 0) return left;
    if (measured < step.iterations) return std::min(left, step.iterations - measured);
    measured -= step.iterations;
  }
  return left;
}

// Whether another density holds from this measured iteration on.
inline bool changes_density(const Compression* compression, int measured) {
  if (compression == nullptr || measured <= 0) return false;
  const std::vector<DensityStep>& steps = compression->densities;
  return density_at(steps, measured) != density_at(steps, measured - 1);
}

}  // namespace sgdsim
