// What multiplying by the matrices of a layer takes, forward and backward.
//
// The backward pass of a product is two products of the same FLOP, one of which makes the gradient
// of the weights.
#pragma once

#include <vector>

#include "models/training/layer_matrices.h"
#include "models/training/layer_times.h"
#include "sim/core/cast.h"

namespace sgdsim {

// Adds what multiplying by matrices costs, forward and backward.
class Products {
 public:
  // `list`: if not null, each of them goes there, and costs nothing.
  Products(const TrainingStep& step, LayerTimes& times, std::vector<LayerProduct>* list = nullptr)
      : step_(step), lora_(step.layout.lora), times_(times), list_(list) {}

  void add(const RankMatrix& matrix) {
    const bool is_grouped = matrix.of == MatrixOf::experts;
    const LayerProduct product{matrix.rows(rank_tokens(step_)), matrix.columns, matrix.inner,
                               matrix.groups};
    add(product, is_grouped, matrix.of == MatrixOf::router ? Precision::bf16 : step_.precision,
        !lora_.is_used());
    if (!lora_.is_used()) return;
    if (matrix.of != MatrixOf::router) widen(product);
    if (!is_adapted(step_.layout, matrix)) return;
    const double rank = real(lora_.rank);
    for (int64_t i = 0; i < static_cast<int64_t>(matrix.beside); ++i) {
      add({product.rows, rank, product.inner, product.groups}, is_grouped, Precision::bf16, true);
      add({product.rows, product.columns / matrix.beside, rank, product.groups}, is_grouped,
          Precision::bf16, true);
    }
    add_sums(product, matrix.beside);
  }
  // `is_trained`: whether the second matrix gets gradients.
  void add(const LayerProduct& product, bool is_grouped, Precision precision, bool is_trained) {
    if (list_ != nullptr) return list_->push_back(product);
    if (is_grouped) return add_grouped(product, precision, is_trained);
    const Costs costs = costs_of(product, precision);
    add_seconds(
        step_.gpu.product_s(costs.flop, costs.bytes, precision),
        is_trained ? step_.gpu.weight_product_s(costs.flop, costs.weight_bytes, precision) : 0);
  }

 private:
  struct Costs {
    double flop = 0;
    double bytes = 0;
    double weight_bytes = 0;  // of the product that makes gradients of weights
  };
  // Of one of the groups.
  Costs costs_of(const LayerProduct& product, Precision precision) const {
    const auto [rows, columns, inner, groups] = product;
    const double width = value_B(precision);
    // Fused, gradients are read and written where they are kept.
    const double of_gradient =
        step_.layout.adds_apart ? bytes_per_value : 2 * step_.layout.gradient_B();
    return {.flop = 2 * rows * columns * inner,
            .bytes = width * (rows * inner + inner * columns) + bytes_per_value * rows * columns,
            .weight_bytes = width * rows * (inner + columns) + of_gradient * inner * columns};
  }
  // Products of one size, one after the other in the tiles of one kernel. What each needs of its
  // matrices it loads, and adds to its gradients, while no other one computes.
  void add_grouped(const LayerProduct& product, Precision precision, bool is_trained) {
    const Costs costs = costs_of(product, precision);
    const double count = product.groups;
    const double bytes_s = step_.gpu.bytes_s(count * costs.bytes);
    const double weight_bytes_s = step_.gpu.bytes_s(count * costs.weight_bytes);
    add_seconds(step_.gpu.product_s(count * costs.flop, 0, precision) + bytes_s,
                is_trained
                    ? step_.gpu.weight_product_s(count * costs.flop, 0, precision) + weight_bytes_s
                    : 0);
  }
  void add_seconds(double seconds, double of_weights) {
    times_.forward.products += seconds;
    times_.backward.products += seconds + of_weights;
    times_.backward.weight_products += of_weights;
  }
  // Frozen weights of fewer bits become BF16 before each product; FP8 multiplies FP8 as it is.
  void widen(const LayerProduct& product) {
    const bool as_it_is = lora_.frozen == FrozenFormat::bf16 ||
                          (lora_.frozen == FrozenFormat::fp8 && step_.precision == Precision::fp8);
    if (list_ != nullptr || as_it_is) return;
    const double weights = product.groups * product.inner * product.columns;
    const double seconds = step_.gpu.bytes_s(weights * (frozen_B(lora_.frozen) + bytes_per_value)) +
                           step_.gpu.kernel.s();
    times_.forward.element_wise += seconds;
    times_.backward.element_wise += seconds;
  }
  // What adapters make is added to what the frozen product makes; so are gradients of its input.
  void add_sums(const LayerProduct& product, double beside) {
    if (list_ != nullptr) return;
    const double sum_B = 3 * bytes_per_value * product.groups * product.rows;
    const double starts = beside * step_.gpu.kernel.s();
    times_.forward.element_wise += step_.gpu.bytes_s(sum_B * product.columns) + starts;
    times_.backward.element_wise += step_.gpu.bytes_s(sum_B * beside * product.inner) + starts;
  }

  const TrainingStep& step_;
  const Lora& lora_;
  LayerTimes& times_;
  std::vector<LayerProduct>* list_;
};

}  // namespace sgdsim
