// Stages, and the law of the pipeline.
#include "models/training/hybrid_step.h"

#include <algorithm>
#include <cmath>

#include "models/training/pass_order.h"
#include "models/training/training_flop.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

struct PricedStage {
  LayerTimes times;
  PassSeconds alone = {};
  PassSeconds passes = {};   // with the exchanges of zero2 and zero3 beside them
  LongerPasses longer = {};  // by these
  double pace_s = 0;         // what one of many micro-batches takes
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

// Of the expert exchanges of a pass, what lies under the computing of the other one where two
// micro-batches overlap.
double under_s(const PassTimes& pass, const PassTimes& other) {
  return std::min(pass.expert, other.compute());
}
double hidden_expert_s(const PricedStage& stage) {
  const auto& [forward, backward] = stage.times;
  return under_s(forward, backward) + under_s(backward, forward);
}

// Of how many micro-batches a forward pass lies under a backward pass of another one; the passes of
// the last rank that come before and behind these are alone.
double overlapped_micro_batches(const Layout& layout) {
  if (layout.schedule == PipelineSchedule::dualpipe) return real(layout.micro_batches);
  if (!layout.pairs_passes()) return 0;
  return real(layout.micro_batches) -
         real(forwards_ahead(layout, layout.pipeline - 1)) / real(layout.chunks);
}

// Without what they wait for in exchanges between replicas.
PassesOfRank passes_of(const PricedStage& stage, const Interference& both) {
  const auto& [forward, backward] = stage.times;
  return {.alone = {.forward_s = forward.all(),
                    .backward_s = backward.all(),
                    .weight_s = backward.weight_products,
                    .overlapped_s = stage.slot_s() - hidden_expert_s(stage)},
          .both = both,
          .forward_under_s = under_s(forward, backward),
          .backward_under_s = under_s(backward, forward)};
}

// While the pipeline fills and drains, the slowest stage waits for each of the others once.
PassSeconds waited_for(const Layout& layout, const PassSeconds& slowest, const PassSeconds& all) {
  const auto mean = [&](double PassSeconds::*pass) {
    return (all.*pass - slowest.*pass) / real(layout.pipeline - 1);
  };
  return {.forward_s = mean(&PassSeconds::forward_s),
          .backward_s = mean(&PassSeconds::backward_s),
          .weight_s = mean(&PassSeconds::weight_s),
          .overlapped_s = mean(&PassSeconds::overlapped_s)};
}

// With dualpipe a slower rank, as both that hold the head are, waits less: by what others are
// faster in the 2 (p - 1) micro-batches in which the pipeline fills and drains. What is left is
// that its own gradients of weights fill no more of its backward passes than they are long.
double two_way_bubble_s(const Layout& layout, const PassSeconds& slowest, const PassSeconds& all) {
  const PassSeconds others = waited_for(layout, slowest, all);
  const double bubble = bubble_s(layout, others);
  const double slower = std::max(0.0, slowest.overlapped_s - others.overlapped_s);
  const double least =
      (real(layout.pipeline) / 2 - 1) * std::max(0.0, others.backward_s - 2 * others.weight_s);
  return std::max(std::min(bubble, least), bubble - 2 * real(layout.pipeline - 1) * slower);
}

// Of all stages: passes with what they wait for in exchanges with replicas, and without it.
struct AllPasses {
  PassSeconds with;
  PassSeconds alone;
};

// With dualpipe gradients of weights that wait for exchanges fill more of the bubble than they do
// when simulated, so that it is no shorter than without exchanges, but for what these add.
double bubble_of(const Layout& layout, const PricedStage& stage, const AllPasses& all) {
  if (layout.schedule != PipelineSchedule::dualpipe)
    return bubble_s(layout, waited_for(layout, stage.passes, all.with));
  return std::max(two_way_bubble_s(layout, stage.passes, all.with),
                  two_way_bubble_s(layout, stage.alone, all.alone) -
                      real(layout.micro_batches - 1) * stage.longer.micro_batch_s);
}

// Passes that are parted, or lie under each other: what ends when depends on more.
bool splits_or_overlaps(const Layout& layout) {
  return layout.schedule != PipelineSchedule::one_f_one_b &&
         layout.schedule != PipelineSchedule::gpipe;
}

// What a rank sends forward and back; at an end of the pipeline its neighbour sends as it would.
struct OwnSends {
  double forward_s = 0;
  double backward_s = 0;
};
OwnSends sends_of(const Layout& layout, const StageSends& sends, int64_t rank) {
  if (sends.seconds.empty()) return {};
  return {sends.seconds[at(std::min(rank, layout.pipeline - 2))],
          sends.seconds[at(std::max<int64_t>(rank - 1, 0))]};
}

// Of the sends of a micro-batch to both neighbours, what nothing hides. They lie under the
// computing of other chunks, under gradients of weights that can wait, or under passes of the other
// way.
double exposed_sends_s(const Layout& layout, const PricedStage& stage, const StageSends& sends,
                       const OwnSends& own) {
  const double chunks = real(layout.chunks);
  // A pair begins with what the pairs of both neighbours end with.
  if (layout.pairs_passes()) return chunks * sends.slowest_s();
  switch (layout.schedule) {
    case PipelineSchedule::zb1p:
      return (1 - 1 / real(layout.pipeline)) *
             std::max(0.0, own.forward_s + own.backward_s - stage.passes.weight_s);
    case PipelineSchedule::dualpipe:
      return std::max(0.0, own.forward_s - stage.passes.overlapped_s) +
             std::max(0.0, own.backward_s - stage.passes.overlapped_s);
    default: {
      // In turn with a pass of each way, and what it waits for exchanges with replicas; beyond half
      // of both, what goes around is late as well. A slower one among them keeps its wire.
      const double sent = chunks * sends.mean_s();
      const auto& [forward, backward, weight, overlapped] = stage.passes;
      const double both = std::max(forward + backward, stage.pace_s);
      const double shorter = both - std::max(forward, backward);
      const double late = (1 - 1 / chunks) * std::max(0.0, std::min(sent, both / 2) - shorter) +
                          std::max(0.0, sent - both / 2);
      return std::max(late, chunks * sends.slowest_s() - both);
    }
  }
}

// Passes of the other virtual stages that a rank does while the pipeline fills, and as many while
// it drains. They follow each other at once, so that what is sent around lies under nothing. With
// ZB1P these are passes ahead of which no gradients of weights wait yet.
double passes_to_fill(const Layout& layout) {
  if (layout.schedule == PipelineSchedule::zb1p)
    return real(std::clamp<int64_t>(layout.micro_batches - 2, 0, layout.pipeline - 1));
  return goes_around(layout) ? real((layout.chunks - 1) * layout.pipeline) : 0;
}

// What a rank waits for what it sends, in the passes of all micro-batches, where it does: one at an
// end of the pipeline sends one way only.
double kept_by_sends_s(const Layout& layout, const OwnSends& own, int64_t rank) {
  const double count = real(layout.micro_batches);
  if (layout.schedule == PipelineSchedule::gpipe)
    return (count - 1) * (own.forward_s + own.backward_s);
  if (rank == 0) return (count - 1) * own.forward_s;
  if (rank == layout.pipeline - 1) return (count - 1) * own.backward_s;
  return (count - 1) * own.forward_s + std::max(0.0, count - 2) * own.backward_s;
}

// That with which a step is longest: it takes all micro-batches, and the mean of the others is in
// the bubble.
int64_t slowest_of(const Layout& layout, const std::vector<PricedStage>& stages,
                   const AllPasses& all, const StageSends& sends) {
  int64_t slowest = 0;
  double longest = 0;
  for (int64_t rank = 0; rank < layout.pipeline; ++rank) {
    const PricedStage& stage = stages[at(rank)];
    double takes = stage.slot_s() + real(layout.micro_batches - 1) * stage.pace_s;
    if (layout.pipeline > 1) takes += bubble_of(layout, stage, all);
    if (sends_keep_rank(layout))
      takes += kept_by_sends_s(layout, sends_of(layout, sends, rank), rank);
    // Where it makes no difference, as with one micro-batch, the longer one.
    const bool is_as_long = std::abs(takes - longest) <= 1e-12 * longest;
    if (is_as_long ? stage.slot_s() <= stages[at(slowest)].slot_s() : takes < longest) continue;
    longest = takes;
    slowest = rank;
  }
  return slowest;
}

// Fills the parts that the micro-batches and the pipeline take. `all`: one micro-batch through all
// stages.
void add_pipeline(const TrainingStep& step, const PricedStage& stage, const AllPasses& all,
                  const StageSends& sends, HybridStep& result) {
  const Layout& layout = step.layout;
  const double count = real(layout.micro_batches);
  PassTimes both = stage.times.forward;
  both += stage.times.backward;
  const double overlapped = overlapped_micro_batches(layout);
  result.hidden.context = count * both.hidden_context;
  const double hidden_by_passes = overlapped * hidden_expert_s(stage);
  result.hidden.expert = hidden_by_passes + count * both.hidden_expert;
  StepParts& parts = result.parts;
  parts.products = count * both.products;
  parts.attention = count * both.attention;
  parts.element_wise = count * both.element_wise;
  parts.tensor = count * both.tensor;
  parts.context = count * both.context;
  parts.expert = count * both.expert - hidden_by_passes;
  parts.offload = count * both.offload;
  parts.host = count * both.host;
  result.hidden.offload = count * both.hidden_offload;
  result.forward_s = stage.times.forward.all();
  result.backward_s = stage.times.backward.all();
  result.weight_s = stage.times.backward.weight_products;
  if (layout.pipeline == 1) return;
  const double filling = passes_to_fill(layout);
  // What a pass waits for its exchanges it has waited for what is sent to it.
  const auto of_pair = [&](double send_s) {
    return std::max(0.0, send_s - stage.longer.forward_waits_s) +
           std::max(0.0, send_s - stage.longer.backward_waits_s);
  };
  double ends = 0;
  for (int64_t rank = 0; rank + 1 < layout.pipeline; ++rank)
    ends += of_pair(sends.seconds[at(rank)]);
  const OwnSends own = sends_of(layout, sends, result.slowest_stage);
  if (sends_keep_rank(layout)) {
    parts.sends = ends + kept_by_sends_s(layout, own, result.slowest_stage);
  } else {
    const double alternating = layout.pairs_passes() ? overlapped
                               : goes_around(layout) ? count - filling / real(layout.chunks)
                                                     : count;
    const double steady = alternating * exposed_sends_s(layout, stage, sends, own);
    const double fills = filling * of_pair(sends.mean_s());
    parts.sends = ends + steady + fills;
    const double sent = goes_around(layout) ? 2 * sends.mean_s() : own.forward_s + own.backward_s;
    result.hidden.sends = std::max(0.0, count * real(layout.chunks) * sent - steady - fills);
  }
  parts.bubble = bubble_of(layout, stage, all);
  if (!splits_or_overlaps(layout)) parts.bubble += real(layout.pipeline - 1) * stage.longer.first_s;
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
      {"exchanges between sites", "sites_us",
       "what is exposed of exchanges between sites, in us; where there are some", &StepParts::sites,
       true},
      {"communication and waiting", "communication_us",
       "fidelities flow and packet: all communication that nothing hides, and waiting; closed form "
       "and message: waiting for a link that is busy all the time; in us",
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

double bubble_s(const Layout& layout, const PassSeconds& times) {
  const double waits = real(layout.pipeline - 1);
  const double both = times.forward_s + times.backward_s;
  switch (layout.schedule) {
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::gpipe:
      return waits * both / real(layout.chunks);
    case PipelineSchedule::zb1p:
      // While a rank waits for each of the others, it makes gradients of the weights of one
      // micro-batch, but not of the last one: nothing is waited for after that. One that takes
      // longer than a pass of the other ranks holds up what follows by as much.
      return waits * (both - times.weight_s) -
             std::min(waits, real(layout.micro_batches - 1)) *
                 std::min({times.weight_s, times.forward_s, times.backward_s - times.weight_s});
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
  std::vector<PricedStage> stages;
  AllPasses all;
  const StageSends sends = costs.sends();
  result.send_s = sends.slowest_s();
  double drained = 0;  // that the first stage ends after this one
  double ends = -1;    // what the stage that ends last takes after the last one of the first
  for (int64_t number = 0; number < layout.pipeline; ++number) {
    const StageLayers held = layers_of_stage(step.model, layout, number);
    const LayerTimes own = costs.times_of(held);
    PricedStage stage = priced_rank(step, costs, number, own);
    const RankParameters parameters = rank_parameters(step.model, layout, number);
    const StageExchange exchange =
        costs.exchange_of(parameters, exchanged_layers(step.model, layout, number, held), number);
    const PassesOfRank passes = passes_of(stage, both);
    stage.longer = longer_passes(layout, exchange, passes);
    stage.alone = stage.passes = passes.alone;
    stage.passes += stage.longer.ends;
    all.with += stage.passes;
    all.alone += stage.alone;
    stage.pace_s =
        stage.slot_s() + stage.longer.micro_batch_s + passes.slowed_s(stage.longer.hidden_s);
    stages.push_back(stage);
    const DataTimes took = data_s(layout, exchange, passes, sends.mean_s());
    const double data = took.exposed + costs.copies_s(parameters, number);
    const double optimizer = costs.optimizer_s(parameters, number);
    const double late = data + optimizer - drained;
    if (!splits_or_overlaps(layout))
      drained +=
          stage.passes.backward_s / real(layout.chunks) + sends_of(layout, sends, number).forward_s;
    if (late <= ends) continue;
    ends = late;
    result.parts.data = std::max(0.0, late - optimizer);
    result.parts.optimizer = late - result.parts.data;
    result.hidden.data = took.hidden;
  }
  result.slowest_stage = slowest_of(layout, stages, all, sends);
  const PricedStage& slowest = stages[at(result.slowest_stage)];
  if (layout.zero >= 2) {
    const double others = real(layout.micro_batches - 1);
    result.parts.data += others * slowest.longer.micro_batch_s;
    result.hidden.data += others * slowest.longer.hidden_s;
  }
  add_pipeline(step, slowest, all, sends, result);
  result.parts.data += costs.tied_s();
  const HiddenParts& hidden = result.hidden;
  const double beside = hidden.context + hidden.expert + hidden.sends + hidden.data;
  if (const double lost = PassesOfRank{{}, both}.slowed_s(beside); lost > 0) {
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

double slowness_of_passes(const TrainingStep& step, GroupTimes& groups) {
  const bool slows = step.gpu.beside_exchanges().products > 1;
  return slows ? hybrid_step(step, groups).slowness : 1;
}

}  // namespace sgdsim
