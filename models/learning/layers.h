// Layers of small networks, forward and backward, for any number of rows (samples).
//
// A matrix of weights has a row per input, so that a layer is `rows of samples` times it. Backward
// functions add to the gradients of weights and write those of inputs. Sums go over samples one
// after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgdsim::learning {

struct DenseShape {
  std::size_t inputs;
  std::size_t outputs;
  constexpr std::size_t size() const { return (inputs + 1) * outputs; }  // with a bias per output
};

// y = x W + b; `weights` has W, then b.
template <class Real>
void dense(const DenseShape& shape, const Real* weights, const Real* x, std::size_t rows, Real* y);
// `x_gradient` may be null: nobody asks for it.
template <class Real>
void dense_backward(const DenseShape& shape, const Real* weights, const Real* x,
                    const Real* y_gradient, std::size_t rows, Real* gradient, Real* x_gradient);

template <class Real>
void relu(Real* values, std::size_t count);
// `values` after relu(); clears the gradient where they are 0.
template <class Real>
void relu_backward(const Real* values, Real* gradient, std::size_t count);

// The sum of the rows' losses, -log of the label's probability; `logits` become the gradient of
// that sum times `scale`.
template <class Real>
double softmax_loss(Real* logits, const uint8_t* labels, std::size_t rows, std::size_t classes,
                    double scale);
// The same without gradient, and how many rows have their largest logit at the label; of equal ones
// the first counts.
struct Judged {
  double loss = 0;
  int64_t right = 0;
};
template <class Real>
Judged judged(const Real* logits, const uint8_t* labels, std::size_t rows, std::size_t classes);

// Weights of a dense layer: normal with variance gain / inputs, biases 0.
template <class Real>
void start_dense(const DenseShape& shape, double gain, uint64_t seed, uint64_t number,
                 Real* weights);

}  // namespace sgdsim::learning
