// Forward and backward, on the products of kernels.h.
#include "models/learning/layers.h"

#include <algorithm>
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"

namespace sgdsim::learning {

template <class Real>
void dense(const DenseShape& shape, const Real* weights, const Real* x, std::size_t rows, Real* y) {
  const Real* bias = weights + shape.inputs * shape.outputs;
  for (std::size_t row = 0; row < rows; ++row)
    std::copy_n(bias, shape.outputs, y + row * shape.outputs);
  add_product<Real>({.a = {x, shape.inputs, 1},
                     .b = weights,
                     .b_row = shape.outputs,
                     .c = y,
                     .c_row = shape.outputs,
                     .rows = rows,
                     .depth = shape.inputs,
                     .columns = shape.outputs});
}

template <class Real>
void dense_backward(const DenseShape& shape, const Real* weights, const Real* x,
                    const Real* y_gradient, std::size_t rows, Real* gradient, Real* x_gradient) {
  add_product<Real>({.a = {x, 1, shape.inputs},
                     .b = y_gradient,
                     .b_row = shape.outputs,
                     .c = gradient,
                     .c_row = shape.outputs,
                     .rows = shape.inputs,
                     .depth = rows,
                     .columns = shape.outputs});
  Real* bias = gradient + shape.inputs * shape.outputs;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < shape.outputs; ++i) bias[i] += y_gradient[row * shape.outputs + i];
  if (x_gradient == nullptr) return;
  std::vector<Real> turned(shape.inputs * shape.outputs);
  transpose(weights, shape.inputs, shape.outputs, turned.data());
  std::fill_n(x_gradient, rows * shape.inputs, Real{});
  add_product<Real>({.a = {y_gradient, shape.outputs, 1},
                     .b = turned.data(),
                     .b_row = shape.inputs,
                     .c = x_gradient,
                     .c_row = shape.inputs,
                     .rows = rows,
                     .depth = shape.outputs,
                     .columns = shape.inputs});
}

template <class Real>
void relu(Real* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? Real{} : values[i];
}

template <class Real>
void relu_backward(const Real* values, Real* gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) gradient[i] = values[i] == Real{} ? Real{} : gradient[i];
}

template <class Real>
double softmax_loss(Real* logits, const uint8_t* labels, std::size_t rows, std::size_t classes,
                    double scale) {
  double loss = 0;
  std::vector<double> powers(classes);
  for (std::size_t row = 0; row < rows; ++row) {
    Real* own = logits + row * classes;
    const auto highest = static_cast<double>(*std::max_element(own, own + classes));
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) powers[i] = static_cast<double>(own[i]) - highest;
    exp_all(powers.data(), classes);
    for (std::size_t i = 0; i < classes; ++i) sum += powers[i];
    loss += log_of(sum) - (static_cast<double>(own[labels[row]]) - highest);
    for (std::size_t i = 0; i < classes; ++i)
      own[i] = static_cast<Real>((powers[i] / sum - (i == labels[row] ? 1 : 0)) * scale);
  }
  return loss;
}

template <class Real>
Judged judged(const Real* logits, const uint8_t* labels, std::size_t rows, std::size_t classes) {
  Judged result;
  std::vector<double> powers(classes);
  for (std::size_t row = 0; row < rows; ++row) {
    const Real* own = logits + row * classes;
    const Real* highest = std::max_element(own, own + classes);
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) powers[i] = static_cast<double>(own[i] - *highest);
    exp_all(powers.data(), classes);
    for (std::size_t i = 0; i < classes; ++i) sum += powers[i];
    result.loss += log_of(sum) - static_cast<double>(own[labels[row]] - *highest);
    result.right += highest == own + labels[row] ? 1 : 0;
  }
  return result;
}

template <class Real>
void start_dense(const DenseShape& shape, double gain, uint64_t seed, uint64_t number,
                 Real* weights) {
  Draws draws(seed, drawn_for::weights, number, 0);
  const double deviation = std::sqrt(gain / static_cast<double>(shape.inputs));
  const std::size_t count = shape.inputs * shape.outputs;
  for (std::size_t i = 0; i < count; ++i)
    weights[i] = static_cast<Real>(deviation * draws.normal());
  std::fill_n(weights + count, shape.outputs, Real{});
}

#define SGDSIM_LAYERS(Real)                                                              \
  template void dense(const DenseShape&, const Real*, const Real*, std::size_t, Real*);  \
  template void dense_backward(const DenseShape&, const Real*, const Real*, const Real*, \
                               std::size_t, Real*, Real*);                               \
  template void relu(Real*, std::size_t);                                                \
  template void relu_backward(const Real*, Real*, std::size_t);                          \
  template double softmax_loss(Real*, const uint8_t*, std::size_t, std::size_t, double); \
  template Judged judged(const Real*, const uint8_t*, std::size_t, std::size_t);         \
  template void start_dense(const DenseShape&, double, uint64_t, uint64_t, Real*);
SGDSIM_LAYERS(float)
SGDSIM_LAYERS(double)
#undef SGDSIM_LAYERS

}  // namespace sgdsim::learning
