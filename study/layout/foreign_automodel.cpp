// YAML of NeMo AutoModel: sizes below `distributed`, batches below `step_scheduler`, adapters.
#include "study/layout/foreign_reader.h"
#include "study/layout/foreign_tuning.h"

namespace sgdsim {
namespace {

using AutoNames = SettingNames;

class AutomodelReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout read() {
    found_.program = "NeMo AutoModel";
    Layout& layout = found_.layout;
    layout.tensor = size_of("tp_size");
    layout.pipeline = size_of("pp_size");
    layout.context = size_of("cp_size");
    layout.expert = size_of("ep_size");
    const auto dispatcher = settings_.find("model.backend.dispatcher");
    const bool is_by_nodes = dispatcher && *dispatcher != "torch";
    if (model_.experts && layout.expert > 1 &&
        (is_by_nodes || flag({"model.backend.enable_deepep"})))
      layout.dispatch = Dispatch::node;
    layout.sequence_parallel = flag({"distributed.sequence_parallel"}) && layout.tensor > 1;
    if (flag({"distributed.activation_checkpointing"})) layout.recompute = Recompute::full;
    const AutoNames per_replica = {"step_scheduler.local_batch_size"};
    const int64_t local = whole(per_replica, 1, most_micro_batch_size).value_or(1);
    layout.micro_batch = local;
    if (layout.pipeline > 1) set_pipeline();
    layout.replicas = replicas();
    set_shards();
    const AutoNames global = {"step_scheduler.global_batch_size"};
    if (const auto batch = whole(global))
      layout.micro_batches = micro_batches_of(global.front(), *batch);
    note_drains(layout.micro_batches * layout.micro_batch / local);
    if (layout.zero == 3 && layout.micro_batches > 1)
      found_.notes.emplace_back(
          "gradients are taken to be reduced in every micro-batch (defer_fsdp_grad_sync: false)");
    read_adapters(settings_, adapters_of_nemo(), found_);
    set_sequence();
    return found_;
  }

 private:
  // Of packed sequences where there are some; 0: none.
  void set_sequence() {
    const auto packed = whole({"packed_sequence.packed_sequence_size"}, 0);
    const bool is_packed = packed.value_or(0) > 0;
    found_.sequence = is_packed ? packed : whole({"dataset.seq_length", "dataset.seq_len"});
  }
  static bool is_none(const std::string& value) { return value == "none" || value == "-1"; }
  int64_t size_of(const std::string& name) {
    const AutoNames names = {"distributed." + name};
    const auto value = settings_.find_any(names);
    return !value || is_none(*value) ? 1 : size(names);
  }
  void set_pipeline() {
    Layout& layout = found_.layout;
    const auto in = [](const std::string& name) {
      return AutoNames{"distributed.pipeline." + name, "autopipeline." + name};
    };
    const AutoNames schedules = in("pp_schedule");
    const std::string schedule = settings_.find_any(schedules).value_or("1f1b");
    const bool is_looped = schedule == "interleaved1f1b" || schedule == "Interleaved1F1B";
    if (schedule == "gpipe" || schedule == "GPipe")
      layout.schedule = PipelineSchedule::gpipe;
    else if (!is_looped && schedule != "1f1b" && schedule != "1F1B")
      settings_.fail(name_of(schedules),
                     unknown_name("schedule", schedule, {"1f1b", "gpipe", "interleaved1f1b"}));
    layout.micro_batch = whole(in("pp_microbatch_size"), 1, most_micro_batch_size).value_or(1);
    if (!is_looped) return;
    const AutoNames per_stage = in("layers_per_stage");
    if (const auto layers = whole(per_stage, 1, most_chunk_layers))
      layout.chunks = std::max<int64_t>(
          1, quotient(name_of(per_stage), quotient(name_of(per_stage), model_.layers, *layers),
                      layout.pipeline));
    else
      layout.chunks = 2;  // stages of a rank
  }
  // Which manager: FSDP shares all, DDP nothing.
  void set_shards() {
    Layout& layout = found_.layout;
    const AutoNames names = {"distributed.strategy", "distributed._target_"};
    std::string manager = "fsdp2";
    for (const std::string& name : names)
      if (const auto value = settings_.find(name)) manager = *value;
    const bool is_replicated =
        manager.find("ddp") != std::string::npos || manager.find("DDP") != std::string::npos;
    layout.zero = is_replicated || layout.replicas * layout.context == 1 ? 0 : 3;
    if (layout.zero == 3) layout.shard_copies = size_of("dp_replicate_size");
  }
};

}  // namespace

ForeignLayout layout_of_automodel(const FlatSettings& settings, const GpuCount& gpus,
                                  const Transformer& model) {
  return AutomodelReader(settings, gpus, model).read();
}

}  // namespace sgdsim
