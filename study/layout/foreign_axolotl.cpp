// YAML of axolotl: degrees at the top, shards of FSDP or DeepSpeed, and adapters.
#include "study/layout/foreign_reader.h"
#include "study/layout/foreign_tuning.h"

namespace sgdsim {
namespace {

using AxolotlNames = SettingNames;

class AxolotlReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout read() {
    found_.program = "axolotl";
    Layout& layout = found_.layout;
    layout.tensor = size({"tensor_parallel_size"});
    layout.context = size({"context_parallel_size", "sequence_parallel_degree"});
    refuse({"expert_parallel_size"});
    set_context();
    const int64_t copies = size({"dp_replicate_size"});
    const int64_t all = replicas_of_shards({"dp_shard_size"}, copies);
    layout.zero = all * layout.context == 1 ? 0 : stage_of_zero();
    if (layout.zero > 0) layout.shard_copies = copies;
    layout.keeps_weights = layout.zero == 3 && keeps_weights();
    set_batches();
    set_recompute();
    found_.sequence = whole({"sequence_len"});
    if (flag({"peft_use_dora"})) refuse({"peft_use_dora"});
    read_adapters(settings_, adapters(), found_);
    return found_;
  }

 private:
  // All linear layers have adapters where one word says so.
  AdapterNames adapters() {
    AdapterNames names = adapters_of_axolotl();
    if (flag({"lora_target_linear"})) names.targets.clear();
    return names;
  }
  // Packed sequences are gathered, others go around a ring.
  void set_context() {
    if (found_.layout.context == 1) return;
    const AxolotlNames names = {"ring_attn_func"};
    const std::string usual = flag({"sample_packing"}) ? "varlen_llama3" : "batch_ring";
    const std::string how = settings_.find_any(names).value_or(usual);
    if (how != "varlen_llama3" && how != "batch_ring")
      settings_.fail(names.front(), unknown_name("exchange", how, {"varlen_llama3", "batch_ring"}));
    found_.layout.context_by = how == "varlen_llama3" ? ContextBy::gather : ContextBy::ring;
  }
  bool has_fsdp() const {
    const auto below = settings_.values().lower_bound("fsdp_config.");
    return settings_.find("fsdp") || settings_.find("fsdp_version") ||
           settings_.find("dp_shard_size") ||
           (below != settings_.values().end() && below->first.starts_with("fsdp_config."));
  }
  int stage_of_zero() {
    if (settings_.find("deepspeed")) return stage_of_deepspeed("deepspeed");
    if (!has_fsdp()) return 0;
    for (const char* name : {"fsdp_config.offload_params", "fsdp_config.fsdp_offload_params"})
      if (flag({name})) refuse({name});
    return stage_of_strategies(
        {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy", "fsdp"});
  }
  // Of a name or a number of PyTorch's, or of a list of `fsdp` with others beside it; all weights
  // where none says it.
  int stage_of_strategies(const AxolotlNames& names) {
    std::optional<int> stage;
    std::string before;
    for (const std::string& name : names) {
      const auto one = stage_of_strategy(name);
      if (one && stage && *one != *stage)
        settings_.fail(name, "is " + *settings_.find(name) + ", but " + before + " is " +
                                 *settings_.find(before));
      if (one && !stage) before = name;
      stage = stage ? stage : one;
    }
    return stage.value_or(3);
  }
  std::optional<int> stage_of_strategy(const std::string& name) {
    std::string strategy = settings_.find(name).value_or("");
    for (char& c : strategy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto says = [&](const char* word) { return strategy.find(word) != std::string::npos; };
    if (says("hybrid") || strategy == "4" || strategy == "5")
      settings_.fail(name,
                     "is hybrid, and how many copies of the shards there are follows from the "
                     "nodes it runs on; say it with dp_replicate_size and dp_shard_size");
    if (says("no_shard") || strategy == "3") return 0;
    if (says("grad_op") || strategy == "2") return 2;
    return says("full_shard") || strategy == "1" ? std::optional(3) : std::nullopt;
  }
  // Of a file that lies elsewhere, by its name: "deepspeed_configs/zero3_bf16.json".
  int stage_of_deepspeed(const std::string& name) {
    const std::string file = *settings_.find(name);
    const std::size_t zero = file.find("zero");
    const char stage = zero + 4 < file.size() ? file[zero + 4] : ' ';
    if (file.find("offload") != std::string::npos)
      settings_.fail(name,
                     "is a file that is not read, and by its name the host keeps weights or states "
                     "of the optimizer; weights there are not modelled, and the states are, as "
                     "--layout \"dp8 zero3 ga4 offload=optimizer\"");
    if (zero == std::string::npos || stage < '1' || stage > '3')
      settings_.fail(name,
                     "is a file that is not read, and its name does not say a stage of ZeRO; "
                     "say the layout in words, as --layout \"dp8 zero3 ga4\"");
    found_.notes.push_back(file + " is not read: by its name it is taken to be zero" + stage);
    return stage - '0';
  }
  bool keeps_weights() {
    const AxolotlNames names = {"fsdp_config.reshard_after_forward",
                                "fsdp_config.fsdp_reshard_after_forward"};
    return settings_.has_any(names) && !flag(names);
  }
  // Those of a replica: so many micro-batches, or a batch of all of them.
  void set_batches() {
    Layout& layout = found_.layout;
    const AxolotlNames steps = {"gradient_accumulation_steps"};
    const AxolotlNames batch = {"batch_size"};
    layout.micro_batch = whole({"micro_batch_size"}, 1, most_micro_batch_size).value_or(1);
    if (const auto count = whole(steps, 1, most_micro_batches))
      layout.micro_batches = *count;
    else if (const auto sequences = whole(batch))
      layout.micro_batches = quotient(batch.front(), *sequences, layout.micro_batch);
  }
  // Each layer as a whole.
  void set_recompute() {
    const AxolotlNames names = {"gradient_checkpointing"};
    const std::string how = settings_.find_any(names).value_or("false");
    if (how.starts_with("offload"))
      settings_.fail(names.front(), "is " + how +
                                        ", and outputs of layers that the host keeps so are not "
                                        "modelled; with true, or with --layout \"... "
                                        "offload=activations\", the rest can be");
    if (flag(names) || flag({"fsdp_config.activation_checkpointing"}))
      found_.layout.recompute = Recompute::full;
  }
};

}  // namespace

ForeignLayout layout_of_axolotl(const FlatSettings& settings, const GpuCount& gpus,
                                const Transformer& model) {
  return AxolotlReader(settings, gpus, model).read();
}

}  // namespace sgdsim
