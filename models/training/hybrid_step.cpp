// Stages, the law of the pipeline, and the exchanges between replicas with what hides them.
#include "models/training/hybrid_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/training/memory.h"

namespace sgdsim {
namespace {

constexpr double optimizer_B = 30;  // read and written for a parameter: 12 + 4 + 2, and 12 again
constexpr double ddp_bucket_B = 25.0 * 1024 * 1024;
constexpr double least_bucket = 40e6;  // elements, of a distributed optimizer
constexpr double bucket_of_replica = 1e6;

double real(int64_t value) { return static_cast<double>(value); }

struct Stage {
  LayerTimes times;
  int64_t layers = 0;
  double slot_s() const { return times.forward.all() + times.backward.all(); }
};

Stage stage_of(const TrainingStep& step, int64_t number, const LayerTimes& dense,
               const LayerTimes& with_experts, const LayerTimes& head) {
  const StageLayers held = layers_of_stage(step.model, step.layout, number);
  Stage stage;
  stage.layers = held.layers();
  auto add = [&](double count, const LayerTimes& times) {
    stage.times.forward += count * times.forward;
    stage.times.backward += count * times.backward;
  };
  add(real(held.dense), dense);
  add(real(held.with_experts), with_experts);
  if (held.has_head) add(1, head);
  return stage;
}

// What remains of an exchange in pieces when all but the first piece to start (or the last to end)
// lies under `window`.
double exposed_s(const Layout& layout, double exchange_s, double window_s, double pieces) {
  if (!layout.overlaps) return exchange_s;
  return std::max(exchange_s / pieces, exchange_s - window_s * (1 - 1 / pieces));
}

// Exchanges of gradients and weights of a stage.
struct Exchange {
  double reduce_s = 0;  // gradients
  double gather_s = 0;  // weights
  double pieces = 1;
};

struct Replicas {
  RankGroup group;
  double parameters = 0;
};

Exchange exchange_of(const TrainingStep& step, GroupTimes& groups, const Replicas& replicas,
                     int64_t layers) {
  const Layout& layout = step.layout;
  Exchange exchange;
  if (replicas.group.size <= 1 || replicas.parameters <= 0) return exchange;
  const double gradients_B = replicas.parameters * (layout.half_gradients ? 2 : 4);
  const double size = real(replicas.group.size);
  double pieces = 1;
  if (layout.zero == 3)
    pieces = std::max(1.0, real(layers));
  else if (layout.zero > 0)
    pieces = std::ceil(replicas.parameters / std::max(least_bucket, bucket_of_replica * size));
  else
    pieces = std::ceil(gradients_B / ddp_bucket_B);
  exchange.pieces = pieces = std::max(pieces, real(layout.chunks));
  if (layout.zero == 0) {
    exchange.reduce_s = pieces * groups.all_reduce_s(replicas.group, gradients_B / pieces);
  } else {
    exchange.reduce_s = pieces * groups.all_gather_s(replicas.group, gradients_B / pieces);
    exchange.gather_s =
        pieces * groups.all_gather_s(replicas.group, 2 * replicas.parameters / pieces);
  }
  return exchange;
}

// The ranks that share what is not an expert, and those that share experts.
std::array<Replicas, 2> replicas_of(const Layout& layout, const RankParameters& parameters) {
  return {{{{layout.tensor, layout.shards()}, parameters.outside_experts()},
           {{layout.expert, layout.expert_replicas()}, parameters.experts}}};
}

// With dualpipe every stage is held twice; the copies agree after the replicas have.
double copies_s(const TrainingStep& step, GroupTimes& groups, const RankParameters& parameters) {
  const Layout& layout = step.layout;
  if (layout.schedule != PipelineSchedule::dualpipe) return 0;
  double seconds = 0;
  for (const Replicas& replicas : replicas_of(layout, parameters))
    seconds += groups.all_reduce_s({layout.gpus() / layout.pipeline, 2},
                                   replicas.parameters * (layout.half_gradients ? 2 : 4) /
                                       (layout.zero > 0 ? real(replicas.group.size) : 1));
  return seconds;
}

double tied_s(const TrainingStep& step, GroupTimes& groups) {
  const Layout& layout = step.layout;
  if (!step.model.tied || layout.pipeline == 1) return 0;
  const double bytes = real(step.model.vocabulary) * real(step.model.hidden) / real(layout.tensor) *
                       (layout.half_gradients ? 2 : 4);
  const int64_t stage = layout.gpus() / layout.pipeline;
  return groups.all_reduce_s({stage * (layout.pipeline - 1), 2}, bytes);
}

// What nothing hides of the exchanges of one stage.
double data_s(const TrainingStep& step, GroupTimes& groups, const Stage& stage,
              const RankParameters& parameters) {
  const Layout& layout = step.layout;
  const double forward = stage.times.forward.all();
  const double backward = stage.times.backward.all();
  double all = 0;
  double reduce = 0;
  double gather = 0;
  double pieces = 1;
  for (const Replicas& replicas : replicas_of(layout, parameters)) {
    const Exchange one = exchange_of(step, groups, replicas, stage.layers);
    reduce += one.reduce_s;
    gather += one.gather_s;
    pieces = std::max(pieces, one.pieces);
  }
  const double later = real(layout.micro_batches - 1);
  switch (layout.zero) {
    case 0:
      return exposed_s(layout, reduce, backward, pieces);
    case 1:
      return exposed_s(layout, reduce, backward, pieces) +
             exposed_s(layout, gather, forward, pieces);
    case 2:  // no whole gradients stay, so that every micro-batch has its exchange
      all =
          exposed_s(layout, gather, forward, pieces) + exposed_s(layout, reduce, backward, pieces);
      return all + later * std::max(0.0, reduce - backward);
    default:
      all = exposed_s(layout, gather, forward, pieces) +
            exposed_s(layout, gather + reduce, backward, pieces);
      return all +
             later * (std::max(0.0, gather - forward) + std::max(0.0, gather + reduce - backward));
  }
}

double optimizer_s(const TrainingStep& step, const RankParameters& parameters) {
  const Layout& layout = step.layout;
  const bool is_sharded = layout.zero > 0;
  const double own = parameters.outside_experts() / (is_sharded ? real(layout.shards()) : 1) +
                     parameters.experts / (is_sharded ? real(layout.expert_replicas()) : 1);
  return step.gpu.bytes_s(optimizer_B * own);
}

// Of the expert exchanges, what computing does not hide where two micro-batches overlap.
double overlapped_expert_s(const Stage& stage) {
  const double compute = stage.times.forward.compute() + stage.times.backward.compute();
  return std::max(0.0, stage.times.forward.expert + stage.times.backward.expert - compute);
}

// Fills the parts that the micro-batches and the pipeline take.
void add_pipeline(const TrainingStep& step, GroupTimes& groups, const Stage& stage,
                  HybridStep& result) {
  const Layout& layout = step.layout;
  const double count = real(layout.micro_batches);
  PassTimes both = stage.times.forward;
  both += stage.times.backward;
  if (layout.schedule == PipelineSchedule::dualpipe) both.expert = overlapped_expert_s(stage);
  StepParts& parts = result.parts;
  parts.products = count * both.products;
  parts.attention = count * both.attention;
  parts.element_wise = count * both.element_wise;
  parts.tensor = count * both.tensor;
  parts.context = count * both.context;
  parts.expert = count * both.expert;
  result.forward_s = stage.times.forward.all();
  result.backward_s = stage.times.backward.all();
  result.weight_s = stage.times.backward.weight_products;
  if (layout.pipeline == 1) return;
  const int64_t stride = layout.gpus() / layout.pipeline;
  result.send_s = groups.send_s({stride, layout.pipeline}, boundary_B(step));
  const double fill = 2 * real(layout.pipeline - 1) * result.send_s;
  if (layout.chunks > 1) {
    // Sends of chunks lie under the computing of other chunks.
    const double chunks = real(layout.chunks);
    parts.sends = count * chunks *
                      (std::max(0.0, result.send_s - result.forward_s / chunks) +
                       std::max(0.0, result.send_s - result.backward_s / chunks)) +
                  fill;
  } else {
    parts.sends = count * 2 * result.send_s + fill;
  }
  parts.bubble = bubble_s(layout, {.forward_s = result.forward_s,
                                   .backward_s = result.backward_s,
                                   .weight_s = result.weight_s,
                                   .overlapped_s = both.all()});
}

}  // namespace

const std::vector<NamedPart>& step_parts() {
  static const std::vector<NamedPart> all = {
      {"matrix products", "products_us", &StepParts::products},
      {"attention", "attention_us", &StepParts::attention},
      {"element-wise kernels", "element_wise_us", &StepParts::element_wise},
      {"tensor parallelism", "tensor_us", &StepParts::tensor},
      {"context parallelism", "context_us", &StepParts::context},
      {"expert parallelism", "expert_us", &StepParts::expert},
      {"sends between stages", "sends_us", &StepParts::sends},
      {"pipeline bubble", "bubble_us", &StepParts::bubble},
      {"data parallelism", "data_us", &StepParts::data},
      {"optimizer", "optimizer_us", &StepParts::optimizer}};
  return all;
}

double bubble_s(const Layout& layout, const BubbleTimes& times) {
  const double waits = real(layout.pipeline - 1);
  const double both = times.forward_s + times.backward_s;
  switch (layout.schedule) {
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::gpipe:
      return waits * both / real(layout.chunks);
    case PipelineSchedule::zb1p:
      return waits * std::max(0.0, both - 2 * times.weight_s);
    case PipelineSchedule::dualpipe:
      return (real(layout.pipeline) / 2 - 1) *
             std::max(0.0, times.overlapped_s + times.backward_s - 3 * times.weight_s);
  }
  return 0;
}

double data_traffic_B(const TrainingStep& step, int64_t stage) {
  const Layout& layout = step.layout;
  const RankParameters parameters = rank_parameters(step.model, layout, stage);
  const double gradient = layout.half_gradients ? 2 : 4;
  const double passes = real(layout.micro_batches);
  double bytes_of_parameter = 0;
  switch (layout.zero) {
    case 0:
      bytes_of_parameter = 2 * gradient;
      break;
    case 1:
      bytes_of_parameter = gradient + 2;
      break;
    case 2:
      bytes_of_parameter = passes * gradient + 2;
      break;
    default:
      bytes_of_parameter = passes * (2 * 2 + gradient);
  }
  double sent = 0;
  for (const Replicas& replicas : replicas_of(layout, parameters)) {
    const double size = real(replicas.group.size);
    sent += replicas.parameters * bytes_of_parameter * (size - 1) / size;
  }
  return sent;
}

HybridStep hybrid_step(const TrainingStep& step, GroupTimes& groups) {
  const Layout& layout = step.layout;
  const LayerTimes dense =
      step.model.dense_layers() > 0 ? layer_times(step, groups, false) : LayerTimes{};
  const LayerTimes with_experts =
      step.model.experts ? layer_times(step, groups, true) : LayerTimes{};
  const LayerTimes head = head_times(step);
  HybridStep result;
  Stage slowest;
  double ends = -1;  // what the stage with most to exchange takes after its last micro-batch
  for (int64_t number = 0; number < layout.pipeline; ++number) {
    const Stage stage = stage_of(step, number, dense, with_experts, head);
    if (number == 0 || stage.slot_s() > slowest.slot_s()) {
      slowest = stage;
      result.slowest_stage = number;
    }
    const RankParameters parameters = rank_parameters(step.model, layout, number);
    const double data =
        data_s(step, groups, stage, parameters) + copies_s(step, groups, parameters);
    const double optimizer = optimizer_s(step, parameters);
    if (data + optimizer <= ends) continue;
    ends = data + optimizer;
    result.parts.data = data;
    result.parts.optimizer = optimizer;
  }
  add_pipeline(step, groups, slowest, result);
  result.parts.data += tied_s(step, groups);
  const double seconds = result.parts.all();
  result.time = Duration::nearest_ps(seconds * 1e12);
  result.mfu = real(layout.batch()) *
               sequence_flop(step.model, step.sequence, FlopConvention::halved) /
               (seconds * real(layout.gpus()) * step.gpu.peak(step.precision));
  const auto& parts = step_parts();
  result.limit = std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
                   return result.parts.*a.member < result.parts.*b.member;
                 })->name;
  return result;
}

}  // namespace sgdsim
