// PyTorch DistributedDataParallel: buckets of parameters.
//
// Parameters are added until the bucket holds at least its cap, then it is closed: the first bucket
// at 1 MiB, the others at bucket_cap_mb = 25 MiB. A bucket is reduced when all its gradients are
// there, and buckets go in order. At first PyTorch fills buckets in the order of registration, from
// the input on, so that the small one is the input's, and reverses the list (`order` static; with
// unused parameters it stays so). After an iteration it fills them anew in the order in which
// gradients really came ("measured", the default). Gradients of one layer come in the order of
// registration, weight before bias, which is what real runs over gloo show; "reverse" takes all in
// the reverse order of registration.
#include <algorithm>
#include <numeric>

#include "models/strategy/registry.h"
#include "sim/core/quantity.h"

namespace sgdsim::strategy::ddp {
namespace {

struct Tensor {
  int layer = 0;
  Bytes size;
};

enum class Filling : uint8_t { measured, fixed, reverse };
constexpr Named<Filling, 3> fillings{
    {{"measured", Filling::measured}, {"static", Filling::fixed}, {"reverse", Filling::reverse}}};
const auto& names_of(Filling) { return fillings; }

struct Caps {
  Bytes first{1 << 20};
  Bytes others{25 << 20};
  Filling order = Filling::measured;
};

Fields fields_of(Caps& caps) {
  return {{"first_bucket", caps.first, "bytes at which the first bucket is closed"},
          {"bucket", caps.others, "bytes at which other buckets are closed"},
          {"order", caps.order,
           "parameters fill buckets as gradients were measured to come, as they are registered, or "
           "in the reverse of that"}};
}

// All tensors, from the input's on or in the order of their gradients. A layer's bytes are shared
// among its tensors in proportion to their parameters.
std::vector<Tensor> tensors_of(const Trace& trace, Filling order) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const std::size_t l = order == Filling::fixed ? i : trace.layers.size() - 1 - i;
    const Layer& layer = trace.layers[l];
    if (layer.tensors.empty()) {
      tensors.push_back({static_cast<int>(l), layer.gradient});
      continue;
    }
    const int64_t per_parameter =
        layer.parameters > 0 ? layer.gradient.count() / layer.parameters : 0;
    std::vector<int64_t> counts = layer.tensors;
    if (order == Filling::reverse) std::reverse(counts.begin(), counts.end());
    for (const int64_t count : counts)
      tensors.push_back({static_cast<int>(l), Bytes(count * per_parameter)});
  }
  return tensors;
}

GradientPlan plan(const PlanInput& input, const Caps& caps) {
  std::vector<Tensor> tensors = tensors_of(input.trace, caps.order);
  if (caps.order == Filling::measured)
    std::stable_sort(tensors.begin(), tensors.end(), [&](const Tensor& a, const Tensor& b) {
      return input.ready[static_cast<std::size_t>(a.layer)] <
             input.ready[static_cast<std::size_t>(b.layer)];
    });
  GradientPlan plan;
  PlannedMessage bucket;
  bool open = false;
  for (const Tensor& tensor : tensors) {
    if (tensor.size.count() == 0) continue;
    if (!open) bucket = {tensor.layer, tensor.layer, Bytes(0), {}, 0};
    open = true;
    bucket.size += tensor.size;
    bucket.first_layer = std::min(bucket.first_layer, tensor.layer);
    bucket.last_layer = std::max(bucket.last_layer, tensor.layer);
    const Bytes cap = plan.messages.empty() ? caps.first : caps.others;
    if (bucket.size < cap) continue;
    plan.messages.push_back(bucket);
    open = false;
  }
  if (open) plan.messages.push_back(bucket);
  if (caps.order == Filling::fixed) std::reverse(plan.messages.begin(), plan.messages.end());
  return plan;
}

Strategy read(Object& fields) {
  const auto caps = read_record<Caps>(fields);
  return {.name = "",
          .plan = [caps](const PlanInput& input) { return plan(input, caps); },
          .about = "DDP with PyTorch's buckets of " + to_text(caps.others) + ", first " +
                   to_text(caps.first)};
}

}  // namespace

StrategyKind describe() {
  return {"ddp", "PyTorch DDP: buckets of `first_bucket` (1 MiB), then `bucket` (25 MiB)",
          options_of<Caps>, read};
}

}  // namespace sgdsim::strategy::ddp
