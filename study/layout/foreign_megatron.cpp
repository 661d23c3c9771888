// Flags of Megatron-LM, and of programs that hand them on: Megatron-DeepSpeed, ms-swift, slime, and
// sail-sg's schedules without a bubble.
#include "study/layout/foreign_flags.h"
#include "study/layout/foreign_launch.h"
#include "study/layout/foreign_shards.h"
#include "study/layout/foreign_tuning.h"
#include "study/layout/foreign_unread.h"
#include "study/layout/megatron_reader.h"

namespace sgdsim {
namespace {

using FlagNames = SettingNames;

class FlagReader : public MegatronReader {
 public:
  using MegatronReader::MegatronReader;

  ForeignLayout read() {
    is_swift_ = is_swift_launch(settings_.words());
    is_slime_ = settings_.has("actor-num-gpus-per-node");
    found_.program = is_swift_ ? "ms-swift" : is_slime_ ? "slime" : "Megatron-LM";
    check_unread(settings_, found_);
    check_flags(settings_, found_);
    refuse({"hierarchical-context-parallel-sizes"});
    set_ranks();
    set_stages();
    set_zero_bubble();
    found_.layout.sequence_parallel = flag({"sequence-parallel"}) && found_.layout.tensor > 1;
    set_shards();
    set_gradients();
    set_recompute();
    read_adapters(settings_, is_swift_ ? adapters_of_swift() : adapters_of_slime(), found_);
    set_batches();
    hide_experts(ExpertsUnder::shared, {"moe-shared-expert-overlap"});
    hide_experts(ExpertsUnder::beside, {"overlap-moe-expert-parallel-comm"});
    return found_;
  }

 private:
  void set_ranks() {
    Layout& layout = found_.layout;
    layout.tensor = size({"tensor-model-parallel-size"});
    layout.pipeline = size({"pipeline-model-parallel-size"});
    set_context();
    layout.expert = size({"expert-model-parallel-size", "moe-expert-parallel-size"});
    set_expert_parts({"expert-tensor-parallel-size"}, is_swift_ ? 1 : layout.tensor);
    set_dispatch({"moe-token-dispatcher-type"});
    set_predictions({"mtp-num-layers"});
    read_offload(settings_, model_, found_);
    layout.chunks = size({"num-virtual-stages-per-pipeline-rank"});
  }
  // Either of Megatron-LM's, or of Megatron-DeepSpeed's.
  void set_context() {
    Layout& layout = found_.layout;
    const FlagNames ulysses = {"ds-sequence-parallel-size"};
    const int64_t sequence = size(ulysses);
    layout.context = size({"context-parallel-size"});
    if (sequence > 1 && layout.context > 1)
      settings_.fail(ulysses.front(),
                     "is not modelled together with --context-parallel-size; with one of both, "
                     "the rest can be");
    layout.context = std::max(layout.context, sequence);
    exchange_context({"cp-comm-type"});
    if (sequence > 1) layout.context_by = ContextBy::ulysses;
  }
  void set_stages() {
    // "type:transformer|embedding" of Megatron-DeepSpeed, which counts both ends.
    const std::string counted = settings_.find("pp-partition-method").value_or("");
    const bool has_ends = counted.find("embedding") != std::string::npos;
    const FlagNames ends = has_ends ? FlagNames{"pp-partition-method"} : FlagNames{};
    set_stages_of({with({"account-for-embedding-in-pipeline-split"}, ends),
                   with({"account-for-loss-in-pipeline-split"}, ends),
                   {"decoder-first-pipeline-num-layers"},
                   {"decoder-last-pipeline-num-layers"},
                   {"pipeline-model-parallel-layout"},
                   {"num-virtual-stages-per-pipeline-rank"},
                   {"num-layers-per-virtual-pipeline-stage"}});
  }
  // Of sail-sg's program.
  void set_zero_bubble() {
    Layout& layout = found_.layout;
    if (flag({"enable-1f1b-v"})) refuse({"enable-1f1b-v"});
    const bool is_v = flag({"zero-bubble-v-schedule"});
    if (layout.pipeline == 1 || (!is_v && !flag({"enable-zero-bubble"}))) return;
    if (is_v) return set_v_schedule();
    layout.schedule = PipelineSchedule::zb1p;
    if (layout.chunks > 1)
      settings_.fail("enable-zero-bubble", "is not modelled with " + std::to_string(layout.chunks) +
                                               " virtual stages; without them it is zb1p, and with "
                                               "--zero-bubble-v-schedule zbv");
    const FlagNames pending = {"zero-bubble-max-pending-backward"};
    if (settings_.find_any(pending).value_or("auto") == "auto") return;
    if (const int64_t most = *whole(pending); most > layout.pipeline)
      settings_.fail(pending.front(), "is " + std::to_string(most) +
                                          ", and schedules with more passes in flight than the " +
                                          std::to_string(layout.pipeline) +
                                          " stages (ZB-2p) are not modelled; with " +
                                          std::to_string(layout.pipeline) + " it is zb1p");
  }
  void set_v_schedule() {
    Layout& layout = found_.layout;
    const std::string name = "zero-bubble-v-schedule-mem-setup";
    if (const std::string setup = settings_.find(name).value_or("zb"); setup != "zb")
      settings_.fail(name,
                     "is " + setup + ", which is not modelled; without it the schedule is zbv");
    if (layout.chunks > 2)
      settings_.fail("zero-bubble-v-schedule", "goes with two virtual stages of a rank, not with " +
                                                   std::to_string(layout.chunks));
    layout.chunks = 2;
    layout.schedule = PipelineSchedule::zbv;
  }
  void set_shards() {
    Layout& layout = found_.layout;
    const FlagNames optimizer = {"use-distributed-optimizer"};
    const bool is_usual = is_slime_ || (is_swift_ && !settings_.has_any(optimizer));
    layout.zero = is_usual || flag(optimizer) ? 1 : 0;
    if (flag({"use-megatron-fsdp", "use-custom-fsdp"}))
      layout.zero = zero_of_sharding({"data-parallel-sharding-strategy"}, 0);
    if (const auto stage = zero_of_torch(settings_)) layout.zero = *stage;
    if (const auto stage = whole({"zero-stage"}, 0, 3)) layout.zero = static_cast<int>(*stage);
    if (settings_.has("deepspeed-config"))
      found_.notes.emplace_back(
          "the file of --deepspeed_config is not read: neither overlap_comm nor a stage of ZeRO "
          "that --zero-stage does not say");
    layout.keeps_weights = layout.zero == 3 && keeps_torch_weights(settings_);
    layout.shard_copies = size({"num-distributed-optimizer-instances"});
  }
  void set_gradients() {
    Layout& layout = found_.layout;
    layout.overlaps = layout.zero > 1 || flag({"overlap-grad-reduce"});
    // With bf16 gradients have 4 bytes by themselves, with fp16 only where that is said.
    layout.half_gradients =
        flag({"grad-reduce-in-bf16"}) ||
        (flag({"fp16"}) && !flag({"accumulate-allreduce-grads-in-fp32"}) && layout.zero <= 1);
    const bool is_whole = settings_.has_any({"lr", "train-iters", "train-samples"});
    if (is_whole && !is_swift_ && !is_slime_ && !flag({"bf16"}) && !flag({"fp16"}))
      found_.notes.emplace_back(float32_note);
    note_gathers({"overlap-param-gather"}, flag({"overlap-param-gather"}));
    layout.adds_apart = layout.zero <= 1 && flag({"no-gradient-accumulation-fusion"});
  }
  void set_recompute() {
    found_.layout.keeps_scores = writes_scores(settings_);
    const FlagNames modules = {"recompute-modules"};
    // It takes the place of any granularity.
    if (flag({"recompute-activations"})) return recompute_some(modules);
    // Until 2022 flags said that whole layers are, and not which part.
    const FlagNames old_method = {"activations-checkpoint-method"};
    const bool is_old = flag({"checkpoint-activations"}) || settings_.has_any(old_method);
    // ms-swift computes scores again where nothing is said; with fused attention there are none.
    const bool is_selective = is_swift_ && found_.layout.keeps_scores;
    recompute(
        {{"recompute-granularity"},
         {"recompute-num-layers", "activations-checkpoint-num-layers", "checkpoint-num-layers"},
         with({"recompute-method"}, old_method),
         modules,
         is_old         ? "full"
         : is_selective ? "selective"
                        : ""});
  }
  void set_batches() {
    const FlagNames global = {"global-batch-size"};
    found_.sequence = whole({"seq-length", "encoder-seq-length"});  // the latter of T5 and BERT
    if (is_swift_)
      if (const auto longest = whole({"max-length"})) found_.sequence = longest;
    batches({"micro-batch-size"}, global, 0);
    if (flag({"use-dynamic-batch-size"}))
      found_.notes.emplace_back(
          "micro-batches of as many sequences as fit into --max-tokens-per-gpu are not modelled: "
          "each is taken to have " +
          std::to_string(found_.layout.micro_batch));
    if (is_slime_)
      found_.notes.emplace_back("the step is what training takes of it, without rollouts");
    if (!is_swift_ || settings_.has_any(global)) return;
    constexpr int64_t usual_batch = 16;
    found_.layout.micro_batches = micro_batches_of(global.front(), usual_batch);
    found_.notes.emplace_back("global_batch_size is not said, and 16 in ms-swift");
  }

  bool is_swift_ = false;
  bool is_slime_ = false;
};

}  // namespace

ForeignLayout layout_of_megatron(const FlatSettings& settings, const GpuCount& gpus,
                                 const Transformer& model) {
  return FlagReader(settings, gpus, model).read();
}

}  // namespace sgdsim
