// JSON of DeepSpeed: a stage of ZeRO, batches, and what the host keeps.
#include "study/layout/foreign_reader.h"

namespace sgdsim {
namespace {

class DeepspeedReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout read() {
    found_.program = "DeepSpeed";
    refuse({"zero_optimization.offload_param.device"});
    const std::string second = "zero_optimization.zero_hpz_partition_size";
    if (size({second}) > 1) refuse({second});
    Layout& layout = found_.layout;
    const std::string device = "zero_optimization.offload_optimizer.device";
    const bool offloads = flag({"zero_optimization.cpu_offload"});  // as it was said until 2021
    if (offloads || settings_.find(device).value_or("none") == "cpu")
      layout.offload.of = OffloadOf::optimizer;
    else
      refuse({device});
    for (const char* weights : {"cpu_offload_params", "cpu_offload_param"})
      if (const std::string name = "zero_optimization." + std::string(weights); flag({name}))
        refuse({name});
    layout.tensor = size(with({"tensor_parallel.autotp_size"}, in_neox("model-parallel-size")));
    // 0 stages of GPT-NeoX: no pipeline.
    const SettingNames stages = with({"pipeline.stages"}, in_neox("pipe-parallel-size"));
    layout.pipeline = std::max<int64_t>(1, whole(stages, 0, most_gpus).value_or(1));
    layout.context = size({"sequence_parallel_size"});
    if (layout.context > 1) layout.context_by = ContextBy::ulysses;
    read_neox();
    // True in place of a table is stage 1.
    const int64_t usual = flag({"zero_optimization"}) ? 1 : 0;
    layout.zero = static_cast<int>(whole({"zero_optimization.stage"}, 0, 3).value_or(usual));
    set_precision();
    const bool overlaps = flag({"zero_optimization.overlap_comm"});
    layout.overlaps = overlaps || layout.zero >= 2;
    if (layout.zero == 2 && !overlaps)
      found_.notes.emplace_back(
          "overlap_comm is not said or off, and zero2 without it is not modelled: gradients are "
          "taken to be exchanged under the backward pass");
    set_batches();
    const SettingNames group = {"zero_optimization.mics_shard_size"};
    if (const auto shards = whole_if_positive(group))
      layout.shard_copies = quotient(group.front(), layout.replicas, *shards);
    return found_;
  }

 private:
  // Two of the three say the third. Of batches alone nothing is accumulated.
  void set_batches() {
    Layout& layout = found_.layout;
    const SettingNames micro = {"train_micro_batch_size_per_gpu"};
    const SettingNames whole_batch = {"train_batch_size"};
    auto steps = whole({"gradient_accumulation_steps"}, 1, most_micro_batches);
    const auto one = whole(micro, 1, most_micro_batch_size);
    const auto batch = whole(whole_batch);
    if (!steps && !one && batch) steps = 1;
    if (!steps) return batches(micro, whole_batch, 0);
    layout.micro_batches = *steps;
    layout.replicas = replicas();
    if (one) layout.micro_batch = *one;
    if (!one && batch) set_micro_batch(whole_batch.front(), *batch);
    check_size();
    if (one && batch && *batch != layout.batch())
      settings_.fail(whole_batch.front(), "is " + std::to_string(*batch) + ", but " +
                                              std::to_string(layout.replicas) +
                                              " replicas with these micro-batches have " +
                                              std::to_string(layout.batch()));
  }
  void set_micro_batch(const std::string& name, int64_t batch) {
    Layout& layout = found_.layout;
    layout.micro_batch = quotient(name, batch, layout.micro_batches * layout.replicas);
  }
  // With ZeRO gradients are exchanged and kept as the weights are, unless a type is said.
  void set_precision() {
    Layout& layout = found_.layout;
    const bool is_neox = found_.program == "GPT-NeoX";
    bool is_half = settings_.find("precision").value_or("").find("16") != std::string::npos;
    for (const char* type : {"bf16", "bfloat16", "fp16"}) {
      const std::string name = std::string(type) + ".enabled";
      const bool is_auto = settings_.find(name) == "auto";  // as a Trainer says elsewhere
      is_half = is_half || is_auto || flag({name});
    }
    if (!is_half && !is_neox) found_.notes.emplace_back(float32_note);
    bool is_whole = false;
    for (const char* name : {"communication_data_type", "data_types.grad_accum_dtype"})
      is_whole = is_whole || settings_.find(name).value_or("").find("32") != std::string::npos;
    layout.half_gradients = is_half && !is_whole && layout.zero >= 1;
    const auto part = settings_.find("zero_optimization.offload_optimizer.ratio");
    if (part && *part != "1" && *part != "1.0" && layout.offload.moves_optimizer())
      found_.notes.emplace_back(
          "zero_optimization.offload_optimizer.ratio is not taken over: all states of the "
          "optimizer are taken to be at the host");
  }
  // Both ways to write it.
  static SettingNames in_neox(std::string name) {
    const std::string with_dashes = name;
    std::replace(name.begin(), name.end(), '-', '_');
    return {with_dashes, name};
  }
  void read_neox() {
    if (!settings_.has_any(in_neox("pipe-parallel-size"))) return;
    Layout& layout = found_.layout;
    found_.program = "GPT-NeoX";
    layout.expert = size(in_neox("moe-expert-parallel-size"));
    if (layout.context == 1) layout.context = size(in_neox("context-parallel-size"));
    layout.sequence_parallel = flag(in_neox("sequence-parallel")) && layout.tensor > 1;
    found_.sequence = whole(in_neox("seq-length"));
    const int64_t unit = whole(in_neox("checkpoint-num-layers")).value_or(1);
    if (flag(in_neox("checkpoint-activations")))
      recompute_layers(unit > 1 ? Recompute::uniform : Recompute::full, unit);
  }
};

}  // namespace

ForeignLayout layout_of_deepspeed(const FlatSettings& settings, const GpuCount& gpus,
                                  const Transformer& model) {
  return DeepspeedReader(settings, gpus, model).read();
}

}  // namespace sgdsim
