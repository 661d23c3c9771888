// How a training step is laid out over GPUs: sizes of the groups, micro-batches, schedule.
//
// Ranks are numbered tp-cp-dp-pp, fastest first, so that a tensor-parallel group lies inside a
// node and pipeline stages are far apart. Experts are spread over groups of `expert` ranks of the
// tensor, context and data-parallel ranks of a stage; each rank keeps whole experts, or with etp
// the part of them that `expert_tensor` consecutive ranks have together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/training/lora.h"
#include "models/training/offload.h"
#include "models/training/recomputed_modules.h"
#include "models/training/stage_lengths.h"
#include "models/training/transformer.h"

namespace sgdsim {

// What a backward pass computes again: nothing; the scores of attention; every layer from its
// input; some layers of each chunk from their inputs; every layer, from the inputs of units of so
// many layers; of each layer every second product and all that is element-wise; some modules of
// each layer.
enum class Recompute : uint8_t { none, selective, full, block, uniform, operations, modules };
inline constexpr Named<Recompute, 7> recompute_names{{{"none", Recompute::none},
                                                      {"selective", Recompute::selective},
                                                      {"full", Recompute::full},
                                                      {"block", Recompute::block},
                                                      {"uniform", Recompute::uniform},
                                                      {"operations", Recompute::operations},
                                                      {"modules", Recompute::modules}}};

enum class PipelineSchedule : uint8_t { one_f_one_b, gpipe, zb1p, dualpipe, zbv };
inline constexpr Named<PipelineSchedule, 5> pipeline_schedules{
    {{"1f1b", PipelineSchedule::one_f_one_b},
     {"gpipe", PipelineSchedule::gpipe},
     {"zb1p", PipelineSchedule::zb1p},
     {"dualpipe", PipelineSchedule::dualpipe},
     {"zbv", PipelineSchedule::zbv}}};

// How ranks of a sequence come by the keys and values of the others: block by block around a ring,
// all at once, or by taking all positions of some heads.
enum class ContextBy : uint8_t { ring, gather, ulysses };
inline constexpr Named<ContextBy, 3> context_names{
    {{"ring", ContextBy::ring}, {"gather", ContextBy::gather}, {"ulysses", ContextBy::ulysses}}};

// Which element-wise operations are kernels of their own: none; those of the loss and of rotations,
// as where PyTorch compiles each layer; all.
enum class Kernels : uint8_t { fused, compiled, eager };
inline constexpr Named<Kernels, 3> kernel_names{
    {{"fused", Kernels::fused}, {"compiled", Kernels::compiled}, {"eager", Kernels::eager}}};

// How tokens go to their experts: a copy to each of them; or one to each node where some are, by
// the card of the same place there, and from it one to each GPU.
enum class Dispatch : uint8_t { direct, node };
inline constexpr Named<Dispatch, 2> dispatch_names{
    {{"direct", Dispatch::direct}, {"node", Dispatch::node}}};

// What exchanges of experts lie under: nothing; with 1f1b, once the pipeline is filled, what
// another micro-batch computes, because a forward and a backward pass of two are one; or shared
// experts, the first matrices of which are computed while tokens go out, and the last one while
// they come back.
enum class ExpertsUnder : uint8_t { alone, beside, shared };
inline constexpr Named<ExpertsUnder, 3> experts_under{{{"alone", ExpertsUnder::alone},
                                                       {"beside", ExpertsUnder::beside},
                                                       {"shared", ExpertsUnder::shared}}};

inline const auto& names_of(PipelineSchedule) { return pipeline_schedules; }
inline const auto& names_of(ContextBy) { return context_names; }
inline const auto& names_of(Kernels) { return kernel_names; }
inline const auto& names_of(Dispatch) { return dispatch_names; }
inline const auto& names_of(ExpertsUnder) { return experts_under; }

struct Layout {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t context = 1;
  int64_t chunks = 1;  // virtual stages of a rank; with 1f1b, above 1 it is interleaved
  int64_t expert = 1;
  int64_t expert_tensor = 1;  // ranks that split each expert: etp
  int64_t replicas = 1;       // data parallel
  int64_t shard_copies = 1;   // hsdp: groups of which each has all shards
  int64_t micro_batch = 1;    // sequences
  int64_t micro_batches = 1;  // of a step and replica
  int zero = 0;               // stage: what data-parallel ranks do not keep twice
  bool sequence_parallel = false;
  Recompute recompute = Recompute::none;
  int64_t recompute_layers = 0;  // block: of each chunk, the first ones; uniform: of a unit
  RecomputedModules recompute_modules = {};
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  ContextBy context_by = ContextBy::ring;
  bool keeps_weights = false;  // reshard=off: from a forward pass to its backward pass, with zero3
  bool keeps_scores = false;   // attention=unfused: its scores are written to memory
  bool ends_are_layers = false;  // ends=layers: embedding and loss count as a layer each
  StageLengths stages = {};      // stages=, first=, last=: where stages are not alike
  bool half_gradients = false;   // gradients=bf16: exchanged and kept with 2 bytes, not 4
  bool overlaps = true;  // overlap=off: replicas exchange before the first pass and after the last
  // sends=split: without sp, too, each tensor-parallel rank sends its part to the next stage,
  // where they gather it.
  bool splits_sends = false;
  // accumulate=apart: kernels of their own add the gradients of a micro-batch to those kept.
  bool adds_apart = false;
  Kernels kernels = Kernels::fused;
  Dispatch dispatch = Dispatch::direct;
  ExpertsUnder experts = ExpertsUnder::alone;
  Lora lora = {};
  Offload offload = {};
  bool host_launches = false;  // cuda_graphs=off: the host launches every kernel, and may be late
  // mtp=: layers that predict further tokens and are trained; nothing: those of the model.
  std::optional<int64_t> predictions = {};

  bool operator==(const Layout&) const = default;

  bool recomputes(RecomputedModule module) const {
    return recompute == Recompute::modules && recompute_modules.has(module);
  }
  // Scores that are written are kept, unless the backward pass makes them again.
  bool makes_scores_again() const {
    return keeps_scores &&
           (recompute == Recompute::selective || recomputes(RecomputedModule::core_attn));
  }
  bool pairs_passes() const { return experts == ExpertsUnder::beside; }
  int64_t gpus() const { return tensor * pipeline * context * replicas; }
  int64_t batch() const { return micro_batch * micro_batches * replicas; }  // sequences of a step
  // Replicas reduce gradients each to its own shard; with dualpipe the other copy of the stage has
  // to add its own before anybody has the whole.
  bool reduces_to_shards() const { return zero > 0 || schedule == PipelineSchedule::dualpipe; }
  // Ranks that share the optimizer's states of what is not an expert.
  int64_t shards() const { return context * replicas / shard_copies; }
  // Ranks that share those of the same experts.
  int64_t expert_shards() const {
    return tensor * context * replicas / expert_ranks() / shard_copies;
  }
  int64_t expert_ranks() const { return expert * expert_tensor; }  // that have all experts together
  double gradient_B() const { return half_gradients ? 2 : 4; }     // of a parameter
  int64_t chunks_in_all() const { return pipeline * chunks; }
};

inline constexpr char layout_schema[] = "sgdsim/layout/1";
inline constexpr int64_t most_gpus = 1'048'576;
inline constexpr int64_t most_micro_batches = 1'000'000;
inline constexpr int64_t most_micro_batch_size = 65'536;
inline constexpr int64_t most_global_batch = 100'000'000;  // sequences of a step

// InputError if a size, the GPUs or the sequences of a step are above these.
void check_sizes(const Layout& layout, const std::string& where);

// "tp8 pp9 cp2 vp7 ep1 dp4 mbs1 ga63 zero1 sp hsdp1 recompute=none schedule=1f1b context=ring
//  reshard=on attention=flash ends=apart stages=even gradients=fp32 overlap=on sends=whole
//  accumulate=fused kernels=fused dispatch=direct experts=alone cuda_graphs=on", and without lora=
//  and offload=; what is not named is 1, zero0, or as here.
Layout parse_layout(const std::string& text, const std::string& where);
// Words that all layouts of a search have: none of those that a search tries itself (tp, pp, cp,
// vp, ep, dp, mbs, ga, zero, sp, recompute, ends, stages, first, last).
Layout parse_shared_words(const std::string& text, const std::string& where);
// What the text says nothing about follows: replicas from `gpus`, micro-batches from the sequences
// of a step. Numbers that do not divide, and 0, leave them as they are.
Layout completed(Layout layout, const std::string& text, int64_t gpus, int64_t batch);
// Sizes above 1, the stage of zero, and the words that differ from their defaults.
std::string to_text(const Layout& layout);
std::string recompute_text(const Layout& layout);  // "full", "block:4", "modules:moe_act+mlp"

Layout read_layout(const Value& value);
Json to_json(const Layout& layout);
Json schema_of_layouts();

// What one stage of the pipeline holds.
struct StageLayers {
  OfKinds<int64_t> kinds{};
  OfKinds<int64_t> again{};  // of these, layers that the backward pass computes again
  int64_t kept_inputs = 0;   // from which they are
  int64_t from_before = 0;   // chunks whose forward pass waits for another stage
  int64_t from_behind = 0;   // and whose backward pass does
  int64_t predictions = 0;   // modules behind the last layer, whose layers are among the kinds
  bool embeds = false;
  bool has_head = false;
  int64_t layers() const;
  int64_t count(LayerKind kind) const { return kinds[kind.index()]; }
  int64_t count_again(LayerKind kind) const { return again[kind.index()]; }
  StageLayers& operator+=(const StageLayers& other);
};
// Modules that predict further tokens and are trained: with lora none, unless mtp= says so.
int64_t predictions_of(const Transformer& model, const Layout& layout);
bool computes_predictions_again(const Layout& layout);
// Of the chunks of the whole pipeline, which hold the layers in order: from..to-1, the first ones
// up to `again` of which are computed again. The layout must fit the model.
struct ChunkLayers {
  int64_t from = 0;
  int64_t to = 0;
  int64_t again = 0;
};
ChunkLayers chunk_layers(const Transformer& model, const Layout& layout, int64_t position);
StageLayers layers_of_chunk(const Transformer& model, const Layout& layout, int64_t position);
// Where a chunk of a stage stands among all of the pipeline: chunk j is on stage j mod pp, or with
// zbv the second half of them comes back from the last stage to the first.
int64_t chunk_position(const Layout& layout, int64_t stage, int64_t chunk);
StageLayers layers_of_stage(const Transformer& model, const Layout& layout, int64_t stage);
// How many of them replicas exchange one by one; with dualpipe, of this stage and the opposite one.
// `own`: layers_of_stage().
int64_t exchanged_layers(const Transformer& model, const Layout& layout, int64_t stage,
                         const StageLayers& own);

// Every layer is attention and then a dense MLP.
bool is_plain(const Transformer& model);
// Whether recompute=operations is known for it: operations were counted for layers of one kind.
bool knows_operations(const Transformer& model, const Layout& layout);
// Why experts=beside or experts=shared does not fit; empty if it does.
std::string hidden_experts_misfit(const Transformer& model, const Layout& layout);
// With recompute=modules, why one of them is none that the model has and keeps; empty if all are.
std::string modules_misfit(const Transformer& model, const Layout& layout);
// Why the model cannot be laid out so, in a sentence; empty if it can.
std::string misfit_of(const Transformer& model, const Layout& layout, int64_t sequence);

}  // namespace sgdsim
