// Dense layers with ReLU between them and a softmax over classes, on samples that are kept.
#pragma once

#include <algorithm>
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/layers.h"
#include "models/learning/task.h"

namespace sgdsim::learning {

// Rows of `width` values, and a class for each.
struct Samples {
  std::size_t width = 0;
  std::vector<float> values;
  std::vector<uint8_t> labels;
  std::size_t count() const { return labels.size(); }
};

// Those of a batch.
template <class Real>
void pick(const Samples& samples, const Batch& batch, Real* values, uint8_t* labels) {
  for (int i = 0; i < batch.samples; ++i) {
    Draws draws(batch.seed, static_cast<uint64_t>(batch.worker),
                static_cast<uint64_t>(batch.iteration), static_cast<uint64_t>(i));
    const std::size_t chosen = draws.below(static_cast<uint32_t>(samples.count()));
    const float* from = samples.values.data() + chosen * samples.width;
    for (std::size_t j = 0; j < samples.width; ++j) *values++ = static_cast<Real>(from[j]);
    *labels++ = samples.labels[chosen];
  }
}

// Judges all samples, some at once: forward(values, rows) gives logits.
template <class Real, class Forward>
Score score(const Samples& samples, std::size_t classes, const Forward& forward) {
  constexpr std::size_t at_once = 64;
  Judged all;
  std::vector<Real> values;
  for (std::size_t from = 0; from < samples.count(); from += at_once) {
    const std::size_t rows = std::min(at_once, samples.count() - from);
    const auto first = samples.values.begin() + static_cast<std::ptrdiff_t>(from * samples.width);
    values.assign(first, first + static_cast<std::ptrdiff_t>(rows * samples.width));
    const std::vector<Real> logits = forward(values.data(), rows);
    const Judged one = judged(logits.data(), samples.labels.data() + from, rows, classes);
    all.loss += one.loss;
    all.right += one.right;
  }
  const auto count = static_cast<double>(samples.count());
  return {all.loss / count, static_cast<double>(all.right) / count};
}

class DenseNetwork {
 public:
  DenseNetwork(std::vector<DenseShape> shapes, double gain, Samples training, Samples held_out)
      : shapes_(std::move(shapes)),
        gain_(gain),
        training_(std::move(training)),
        held_out_(std::move(held_out)) {}

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      all.push_back({"weights " + std::to_string(i + 1), shapes_[i].inputs, shapes_[i].outputs, 0});
      all.push_back({"biases " + std::to_string(i + 1), 1, shapes_[i].outputs, 0});
    }
    return all;
  }

  template <class Real>
  std::vector<Real> start(uint64_t seed) const {
    std::size_t count = 0;
    for (const DenseShape& shape : shapes_) count += shape.size();
    std::vector<Real> weights(count);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      start_dense(shapes_[i], gain_, seed, i, weights.data() + offset);
      offset += shapes_[i].size();
    }
    return weights;
  }

  template <class Real>
  double gradient(const Real* weights, const Batch& batch, Real* gradient) const {
    const auto rows = static_cast<std::size_t>(batch.samples);
    std::vector<uint8_t> labels(rows);
    std::vector<Real> values(rows * training_.width);
    pick(training_, batch, values.data(), labels.data());
    std::vector<std::vector<Real>> layers = forward(weights, std::move(values), rows);
    const double scale = 1 / static_cast<double>(rows);
    const double loss =
        softmax_loss(layers.back().data(), labels.data(), rows, shapes_.back().outputs, scale);
    std::size_t offset = 0;
    for (const DenseShape& shape : shapes_) offset += shape.size();
    std::fill_n(gradient, offset, Real{});
    for (std::size_t i = shapes_.size(); i-- > 0;) {
      offset -= shapes_[i].size();
      std::vector<Real> inner(i > 0 ? layers[i].size() : 0);
      dense_backward(shapes_[i], weights + offset, layers[i].data(), layers[i + 1].data(), rows,
                     gradient + offset, i > 0 ? inner.data() : nullptr);
      if (i == 0) break;
      relu_backward(layers[i].data(), inner.data(), inner.size());
      layers[i] = std::move(inner);
    }
    return loss * scale;
  }

  template <class Real>
  Score evaluate(const Real* weights) const {
    return score<Real>(
        held_out_, shapes_.back().outputs, [&](const Real* values, std::size_t rows) {
          return forward(weights, std::vector<Real>(values, values + rows * held_out_.width), rows)
              .back();
        });
  }

 private:
  // What goes into each layer, and the logits.
  template <class Real>
  std::vector<std::vector<Real>> forward(const Real* weights, std::vector<Real> values,
                                         std::size_t rows) const {
    std::vector<std::vector<Real>> layers;
    layers.push_back(std::move(values));
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      std::vector<Real> next(rows * shapes_[i].outputs);
      dense(shapes_[i], weights, layers.back().data(), rows, next.data());
      if (i + 1 < shapes_.size()) relu(next.data(), next.size());
      weights += shapes_[i].size();
      layers.push_back(std::move(next));
    }
    return layers;
  }

  std::vector<DenseShape> shapes_;
  double gain_;
  Samples training_;
  Samples held_out_;
};

}  // namespace sgdsim::learning
