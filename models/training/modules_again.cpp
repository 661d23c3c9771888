// Each module is computed from its input, as it was in the forward pass.
#include "models/training/modules_again.h"

#include "models/training/element_times.h"
#include "models/training/product_times.h"

namespace sgdsim {
namespace {

bool is_again(const Layout& layout, LayerKind kind, MatrixOf matrix) {
  const bool all_experts = layout.recomputes(RecomputedModule::moe);
  switch (matrix) {
    case MatrixOf::attention:
      return false;
    case MatrixOf::latent:
      return layout.recomputes(RecomputedModule::mla_up_proj);
    case MatrixOf::mlp:  // of a dense layer, or shared experts
      return kind.mlp == Mlp::dense
                 ? layout.recomputes(RecomputedModule::mlp)
                 : all_experts || layout.recomputes(RecomputedModule::shared_experts);
    case MatrixOf::experts:
    case MatrixOf::router:
      return all_experts;
  }
  return false;
}

}  // namespace

ExchangesAgain exchanges_again(const TrainingStep& step, LayerKind kind) {
  const Layout& layout = step.layout;
  if (layout.recompute != Recompute::modules) return {};
  ExchangesAgain again;
  const bool all_experts = kind.has_experts() && layout.recomputes(RecomputedModule::moe);
  again.visits_experts = all_experts;
  const bool has_shared = kind.has_experts() && step.model.experts->shared > 0;
  if ((kind.mlp == Mlp::dense && layout.recomputes(RecomputedModule::mlp)) ||
      (has_shared && (all_experts || layout.recomputes(RecomputedModule::shared_experts))))
    again.tensor_pairs = 1;
  return again;
}

void add_modules_again(const TrainingStep& step, LayerKind kind, PassTimes& backward) {
  LayerTimes again;
  Products products(step, again);
  for (const RankMatrix& matrix : RankMatrices(step.model, step.layout, kind))
    if (is_again(step.layout, kind, matrix.of)) products.add(matrix);
  backward.products += again.forward.products;
  const ExchangesAgain exchanges = exchanges_again(step, kind);
  const double gaps = 2 * exchanges.tensor_pairs + (exchanges.visits_experts ? 2 : 0);
  backward.element_wise += again.forward.element_wise + elements_again(step, kind).seconds +
                           gaps * step.gpu.exchange.s();
}

double kernels_again(const TrainingStep& step, LayerKind kind) {
  if (step.layout.recompute != Recompute::modules) return 0;
  double products = 0;
  for (const RankMatrix& matrix : RankMatrices(step.model, step.layout, kind))
    if (is_again(step.layout, kind, matrix.of)) products += 1;
  const double casts = step.precision == Precision::bf16 ? 0 : 2 * products;
  return products + casts + elements_again(step, kind).kernels;
}

}  // namespace sgdsim
