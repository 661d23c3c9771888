// Stages, the law of the pipeline, and the exchanges between replicas with what hides them.
#include "models/training/hybrid_step.h"

#include <algorithm>

#include "models/training/pass_order.h"
#include "models/training/training_flop.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

struct PricedStage {
  LayerTimes times;
  BubbleTimes passes = {};  // with the exchanges of zero2 and zero3 that nothing hides
  double exchanged = 0;     // by which these make what a micro-batch takes longer
  double slot_s() const { return times.forward.all() + times.backward.all(); }
};

// What one micro-batch takes of a rank. With dualpipe a rank has two stages, each of which half of
// the micro-batches meet: where stages are not alike, that is their mean.
PricedStage priced_rank(const TrainingStep& step, const StageCosts& costs, int64_t rank,
                        const LayerTimes& own) {
  const Layout& layout = step.layout;
  if (layout.schedule != PipelineSchedule::dualpipe) return {own};
  const LayerTimes other =
      costs.times_of(layers_of_stage(step.model, layout, layout.pipeline - 1 - rank));
  PricedStage mean;
  for (const LayerTimes& times : {own, other}) {
    mean.times.forward += 0.5 * times.forward;
    mean.times.backward += 0.5 * times.backward;
  }
  return mean;
}

// What remains of an exchange in pieces when all but the first piece to start (or the last to end)
// lies under `window`.
double exposed_s(const Layout& layout, double exchange_s, double window_s, double pieces) {
  if (!layout.overlaps) return exchange_s;
  return std::max(exchange_s / pieces, exchange_s - window_s * (1 - 1 / pieces));
}

// Of the expert exchanges, what computing hides where two micro-batches overlap.
double hidden_expert_s(const PricedStage& stage) {
  const auto& [forward, backward] = stage.times;
  return std::min(forward.expert + backward.expert, forward.compute() + backward.compute());
}

// The exchanges between replicas that each pass has beside it with zero2 and zero3. While both go
// on, passes and exchanges take longer each, so that a pass does not hide as much of an exchange
// as it is long.
void add_exchanges(const Layout& layout, int64_t rank, const StageExchange& exchange,
                   const Interference& both, PricedStage& stage) {
  const auto& [forward, backward] = stage.times;
  BubbleTimes& passes = stage.passes;
  passes = {.forward_s = forward.all(),
            .backward_s = backward.all(),
            .weight_s = backward.weight_products,
            .overlapped_s = stage.slot_s() - hidden_expert_s(stage)};
  if (layout.zero < 2) return;
  const double ways = real(ways_of(layout));  // each with its part of the layers
  const double reduce = exchange.reduce_s / ways;
  const double gather = layout.zero == 3 ? exchange.gather_s / ways : 0;
  const double behind = reduce + (layout.keeps_weights ? 0 : gather);
  const auto exposed = [&](double exchange_s, double pass_s) {
    return std::max(0.0, exchange_s - pass_s * both.products / both.exchange);
  };
  const double before = exposed(gather, passes.forward_s);
  const bool splits =
      layout.schedule == PipelineSchedule::zb1p || layout.schedule == PipelineSchedule::zbv;
  const double after = splits ? exposed(behind - reduce, passes.backward_s - passes.weight_s) +
                                    exposed(reduce, passes.weight_s)
                              : exposed(behind, passes.backward_s);
  const double together = exposed(gather + behind, passes.overlapped_s);
  if (layout.schedule == PipelineSchedule::dualpipe) {
    stage.exchanged = together;
  } else {
    // Gradients of the last two layers of a chunk still go out under a forward pass that follows.
    const double spare = passes.forward_s * both.products / both.exchange - gather;
    const double last = 2 * reduce * real(layout.chunks) / exchange.pieces;
    const double under = std::min(after, std::clamp(spare, 0.0, last));
    const double alone =
        real(forwards_ahead(layout, rank)) / real(layout.micro_batches * layout.chunks);
    stage.exchanged = before + after - (1 - alone) * under;
  }
  passes.forward_s += before;
  passes.backward_s += after;
  passes.weight_s += exposed(reduce, passes.weight_s);
  passes.overlapped_s += together;
}

// Of the exchanges of one stage, what nothing hides, and all.
struct DataTimes {
  double exposed = 0;
  double all = 0;
};
DataTimes data_s(const Layout& layout, const PricedStage& stage, const StageExchange& exchange,
                 const Interference& both) {
  const double forward = stage.times.forward.all() * both.products / both.exchange;
  const double backward = stage.times.backward.all() * both.products / both.exchange;
  const auto [reduce, gather, pieces] = exchange;
  const double passes = real(micro_batches_of_way(layout));  // of each layer
  const double ways = real(ways_of(layout));
  const double later = real(layout.micro_batches - 1) * stage.exchanged;
  switch (layout.zero) {
    case 0:
      return {exposed_s(layout, reduce, backward, pieces), reduce};
    case 1:
      return {
          exposed_s(layout, reduce, backward, pieces) + exposed_s(layout, gather, forward, pieces),
          reduce + gather};
    case 2:  // no whole gradients stay, so that every micro-batch has its exchange
      return {exposed_s(layout, gather, forward, pieces) +
                  exposed_s(layout, reduce / ways, backward, pieces / ways) + later,
              gather + passes * reduce};
    default: {
      const double behind = reduce + (layout.keeps_weights ? 0 : gather);
      return {exposed_s(layout, gather / ways, forward, pieces / ways) +
                  exposed_s(layout, behind / ways, backward, pieces / ways) + later,
              passes * (gather + behind)};
    }
  }
}

// What passes lose while exchanges lie under them.
double slowed_s(const Interference& both, const HiddenParts& hidden) {
  const double beside =
      (hidden.context + hidden.expert + hidden.sends + hidden.data) * both.exchange;
  return beside * (1 - 1 / both.products);
}

// While the pipeline fills and drains, the slowest stage waits for each of the others once.
BubbleTimes waited_for(const Layout& layout, const BubbleTimes& slowest, const BubbleTimes& all) {
  const auto mean = [&](double BubbleTimes::*pass) {
    return (all.*pass - slowest.*pass) / real(layout.pipeline - 1);
  };
  return {.forward_s = mean(&BubbleTimes::forward_s),
          .backward_s = mean(&BubbleTimes::backward_s),
          .weight_s = mean(&BubbleTimes::weight_s),
          .overlapped_s = mean(&BubbleTimes::overlapped_s)};
}

// Of the sends of a micro-batch to both neighbours, what nothing hides. They lie under the
// computing of other chunks, under gradients of weights that can wait, or under passes of the other
// way.
double exposed_sends_s(const Layout& layout, const PricedStage& stage, double send_s) {
  if (sends_keep_rank(layout)) return 2 * send_s;
  const double chunks = real(layout.chunks);
  switch (layout.schedule) {
    case PipelineSchedule::zb1p:
      return std::max(0.0, send_s - stage.passes.weight_s);
    case PipelineSchedule::dualpipe:
      return 2 * std::max(0.0, send_s - stage.passes.overlapped_s);
    default:
      return std::max(0.0, chunks * send_s - stage.times.forward.all()) +
             std::max(0.0, chunks * send_s - stage.times.backward.all());
  }
}

// Fills the parts that the micro-batches and the pipeline take. `all`: one micro-batch through all
// stages.
void add_pipeline(const TrainingStep& step, StageCosts& costs, const PricedStage& stage,
                  const BubbleTimes& all, HybridStep& result) {
  const Layout& layout = step.layout;
  const double count = real(layout.micro_batches);
  PassTimes both = stage.times.forward;
  both += stage.times.backward;
  const double all_expert = both.expert;
  if (layout.schedule == PipelineSchedule::dualpipe) both.expert -= hidden_expert_s(stage);
  result.hidden.context = count * both.hidden_context;
  result.hidden.expert = count * (all_expert - both.expert);
  StepParts& parts = result.parts;
  parts.products = count * both.products;
  parts.attention = count * both.attention;
  parts.element_wise = count * both.element_wise;
  parts.tensor = count * both.tensor;
  parts.context = count * both.context;
  parts.expert = count * both.expert;
  parts.offload = count * both.offload;
  parts.host = count * both.host;
  result.hidden.offload = count * both.hidden_offload;
  result.forward_s = stage.times.forward.all();
  result.backward_s = stage.times.backward.all();
  result.weight_s = stage.times.backward.weight_products;
  if (layout.pipeline == 1) return;
  result.send_s = costs.send_s();
  const double fill = 2 * real(layout.pipeline - 1) * result.send_s;
  const double steady = count * exposed_sends_s(layout, stage, result.send_s);
  parts.sends = steady + fill;
  result.hidden.sends = count * 2 * real(layout.chunks) * result.send_s - steady;
  parts.bubble = bubble_s(layout, waited_for(layout, stage.passes, all));
}

}  // namespace

const std::vector<NamedPart>& step_parts() {
  static const std::vector<NamedPart> all = {
      {"matrix products", "products_us", "matrix products, in us", &StepParts::products},
      {"attention", "attention_us", "scores and values of attention, in us", &StepParts::attention},
      {"element-wise kernels", "element_wise_us", "kernels that memory limits, in us",
       &StepParts::element_wise},
      {"tensor parallelism", "tensor_us", "collectives of tensor parallelism, in us",
       &StepParts::tensor},
      {"context parallelism", "context_us", "what is exposed of context parallelism, in us",
       &StepParts::context},
      {"expert parallelism", "expert_us",
       "what is exposed of tokens on their way to experts and back, in us", &StepParts::expert},
      {"sends between stages", "sends_us", "what is exposed of sends between stages, in us",
       &StepParts::sends},
      {"pipeline bubble", "bubble_us", "filling and draining the pipeline, in us",
       &StepParts::bubble},
      {"data parallelism", "data_us", "what is exposed of exchanges between replicas, in us",
       &StepParts::data},
      {"optimizer", "optimizer_us", "the optimizer, in us", &StepParts::optimizer},
      {"copies to the host and back", "offload_us",
       "what is exposed of copies of activations to the host and back, in us; where there is some",
       &StepParts::offload, true},
      {"waiting for launches of the host", "host_us",
       "waiting for the host to launch kernels, in us; where there is some", &StepParts::host,
       true},
      {"communication and waiting", "communication_us",
       "fidelities flow and packet: all communication that nothing hides, and waiting, in us",
       &StepParts::communication}};
  return all;
}

void set_quality(const TrainingStep& step, double seconds, HybridStep& result) {
  const Layout& layout = step.layout;
  result.mfu = real(layout.batch()) * training_flop(step, FlopConvention::halved) /
               (seconds * real(layout.gpus()) * step.gpu.peak(step.precision));
  const auto& parts = step_parts();
  result.limit = std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
                   return result.parts.*a.member < result.parts.*b.member;
                 })->name;
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
    case PipelineSchedule::zbv:
      return waits * std::max((times.backward_s - times.weight_s) / 2,
                              times.backward_s - 2 * times.weight_s);
    case PipelineSchedule::dualpipe:
      return (real(layout.pipeline) / 2 - 1) *
             std::max(0.0, times.overlapped_s + times.backward_s - 3 * times.weight_s);
  }
  return 0;
}

std::array<DataTraffic, 2> data_traffic(const TrainingStep& step, int64_t stage) {
  const Layout& layout = step.layout;
  const RankParameters parameters = rank_parameters(step.model, layout, stage);
  const double gradient = layout.gradient_B();
  const double passes = real(micro_batches_of_way(layout));  // of each layer
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
      bytes_of_parameter = passes * ((layout.keeps_weights ? 1 : 2) * 2 + gradient);
  }
  const double gathers = passes * (layout.keeps_weights ? 1 : 2);  // of frozen weights
  const auto traffic = [&](const Replicas& replicas) {
    const double size = real(replicas.group.size);
    const double copies = real(replicas.copies.size);
    const double bytes = replicas.parameters * bytes_of_parameter + gathers * replicas.frozen_B;
    return DataTraffic{replicas, bytes * (size - 1) / size,
                       replicas.parameters / size * (layout.zero >= 2 ? passes : 1) * 2 * gradient *
                           (copies - 1) / copies};
  };
  const auto [common, experts] = replicas_of(layout, parameters);
  return {traffic(common), traffic(experts)};
}

double data_traffic_B(const TrainingStep& step, int64_t stage) {
  double sent = 0;
  for (const DataTraffic& traffic : data_traffic(step, stage)) {
    sent += traffic.shared_B;
    sent += traffic.copied_B;
  }
  return sent;
}

HybridStep hybrid_step(const TrainingStep& step, GroupTimes& groups) {
  const Layout& layout = step.layout;
  StageCosts costs(step, groups);
  HybridStep result;
  const Interference both = step.gpu.beside_exchanges();
  PricedStage slowest;
  BubbleTimes all;
  double ends = -1;  // what the stage with most to exchange takes after its last micro-batch
  for (int64_t number = 0; number < layout.pipeline; ++number) {
    const StageLayers held = layers_of_stage(step.model, layout, number);
    const LayerTimes own = costs.times_of(held);
    PricedStage stage = priced_rank(step, costs, number, own);
    const RankParameters parameters = rank_parameters(step.model, layout, number);
    const StageExchange exchange =
        costs.exchange_of(parameters, exchanged_layers(step.model, layout, number, held));
    add_exchanges(layout, number, exchange, both, stage);
    all.forward_s += stage.passes.forward_s;
    all.backward_s += stage.passes.backward_s;
    all.weight_s += stage.passes.weight_s;
    all.overlapped_s += stage.passes.overlapped_s;
    if (number == 0 || stage.slot_s() + stage.exchanged > slowest.slot_s() + slowest.exchanged) {
      slowest = stage;
      result.slowest_stage = number;
    }
    const DataTimes took = data_s(layout, stage, exchange, both);
    const double data = took.exposed + costs.copies_s(parameters);
    const double optimizer = costs.optimizer_s(parameters, number);
    if (data + optimizer <= ends) continue;
    ends = data + optimizer;
    result.parts.data = data;
    result.hidden.data = std::max(0.0, took.all - took.exposed);
    result.parts.optimizer = optimizer;
  }
  add_pipeline(step, costs, slowest, all, result);
  result.parts.data += costs.tied_s();
  if (const double lost = slowed_s(both, result.hidden); lost > 0) {
    StepParts& parts = result.parts;
    const double computed = parts.products + parts.attention + parts.element_wise;
    result.slowness += computed > 0 ? lost / computed : 0;
    for (double* part : {&parts.products, &parts.attention, &parts.element_wise})
      *part *= result.slowness;
  }
  const double seconds = result.parts.all();
  result.time = Duration::nearest_ps(seconds * 1e12);
  set_quality(step, seconds, result);
  return result;
}

}  // namespace sgdsim
