// Forward once, and backward: gradients of inputs once, gradients of weights once where they are
// trained; attention twice.
#include "models/training/training_flop.h"

#include "models/training/layer_matrices.h"
#include "sim/core/cast.h"

namespace sgdsim {

double training_flop(const TrainingStep& step, FlopConvention convention) {
  const Transformer& model = step.model;
  const double predictions = real(predictions_of(model, step.layout));
  const Lora& lora = step.layout.lora;
  if (!lora.is_used() && step.documents == nullptr && predictions == 0)
    return sequence_flop(model, step.sequence, convention);
  double core =
      predictions > 0
          ? predictions * core_flop(step, model.layer(model.layers - 1).mixing, convention)
          : 0;
  const OfKinds<int64_t> kinds = model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (kinds[i] > 0) core += real(kinds[i]) * core_flop(step, kind_at(i).mixing, convention);
  const double products = sequence_product_flop(model, step.sequence) +
                          predictions * prediction_product_flop(model, step.sequence);
  const double adapters = 2 * real(step.sequence) * adapters_of_token(model, lora);
  return 3 * (core + adapters) + (lora.is_used() ? 2 : 3) * products;
}

}  // namespace sgdsim
