// How much gradients differ from sample to sample, and what another number of samples would do.
//
// The simple noise scale is the trace of the covariance of a sample's gradient over the squared
// length of the mean gradient: the number of samples at which both are alike (McCandlish and
// others, 2018). With batches far below it half of the samples cost twice the iterations; far
// above, more samples save none. The gradients of single workers and their mean are two batch
// sizes, from which both terms follow without bias; they are averaged apart, never their ratio.
#pragma once

#include <ostream>
#include <vector>

#include "study/learn/lessons.h"

namespace sgdsim {

struct NoiseWindow {
  int64_t from = 0;  // iterations
  int64_t to = 0;
  double loss = 0;              // at its end, in the middle of seeds
  double gradient_squared = 0;  // in the mean of seeds; can be below 0 by chance
  double covariance_trace = 0;  // likewise
  OverSeeds samples;            // the noise scale; infinite where a seed shows no mean gradient
};
Fields fields_of(const NoiseWindow& window);

struct NoiseScale {
  std::vector<NoiseWindow> windows;
  NoiseWindow whole;
};
Fields fields_of(const NoiseScale& noise);

// Of dense training.
NoiseScale noise_scale_of(const LearnQuestion& question, const Learned& learned);

// Of the iterations until each lesson's own number, in the mean of those for which that is finite;
// infinite where they show no mean gradient.
double noise_scale_until(const LearnQuestion& question,
                         const std::vector<const learning::Lesson*>& lessons,
                         const std::vector<double>& iterations);

void print_noise(std::ostream& out, const LearnQuestion& question, const NoiseScale& noise);

}  // namespace sgdsim
