// Tables with Megatron's names: of NeMo, of Megatron-Bridge, also as recipes in Python, of
// Megatron-LM where it takes YAML, and of LLaMA-Factory.
#include "study/layout/foreign_shards.h"
#include "study/layout/foreign_tuning.h"
#include "study/layout/megatron_reader.h"

namespace sgdsim {
namespace {

using NemoNames = SettingNames;

NemoNames in_nemo(const std::string& name) {
  return {"model." + name,
          name,
          "trainer.strategy." + name,
          "strategy." + name,
          "data." + name,
          "model.data." + name,
          "train." + name,
          "ARGS." + name,
          "model_parallel." + name,
          "language_model." + name,
          "model.config." + name};
}

// What PyTorch's way to exchange gradients has, below `trainer.strategy` in NeMo 2.
NemoNames in_ddp(const std::string& name) {
  return {"ddp." + name, "trainer.strategy.ddp." + name, "strategy.ddp." + name};
}

class NemoReader : public MegatronReader {
 public:
  using MegatronReader::MegatronReader;

  ForeignLayout read(const std::string& program) {
    found_.program = program;
    is_bridge_ = program == "Megatron-Bridge";
    is_megatron_ = program == "Megatron-LM";
    is_factory_ = program == "LLaMA-Factory";
    refuse_elsewhere();
    set_ranks();
    set_shards_of_nemo();
    if (is_bridge_ && found_.layout.tensor > 1 && !says_sequence_parallel())
      found_.notes.emplace_back("sequence_parallel is not said and taken to be on");
    set_gradients();
    found_.layout.keeps_scores = writes_scores(settings_);
    set_recompute();
    exchange_context(in_nemo("cp_comm_type"));
    read_adapters(settings_, is_factory_ ? adapters_of_factory() : adapters_of_nemo(), found_);
    read_offload(settings_, model_, found_);
    if (is_factory_)
      set_batches_of_factory();
    else
      set_batches();
    NemoNames beside = in_nemo("overlap_moe_expert_parallel_comm");
    beside.insert(beside.end(),
                  {"comm_overlap.overlap_moe_expert_parallel_comm", "moe_a2a_overlap"});
    hide_experts(ExpertsUnder::shared, in_nemo("moe_shared_expert_overlap"));
    hide_experts(ExpertsUnder::beside, beside);
    return found_;
  }

 private:
  bool says_sequence_parallel() const { return settings_.has_any(in_nemo("sequence_parallel")); }
  // Names that take the place of others where they are there.
  NemoNames asked_of(const NemoNames& names, const NemoNames& others) const {
    return settings_.has_any(names) ? names : others;
  }
  void set_ranks() {
    Layout& layout = found_.layout;
    layout.tensor = size(in_nemo("tensor_model_parallel_size"));
    layout.pipeline = size(in_nemo("pipeline_model_parallel_size"));
    layout.context = size(in_nemo("context_parallel_size"));
    layout.expert = size(in_nemo("expert_model_parallel_size"));
    set_expert_parts(in_nemo("expert_tensor_parallel_size"), layout.tensor);
    const NemoNames dispatcher = in_nemo("moe_token_dispatcher_type");
    set_dispatch(dispatcher);
    // Tables of Megatron-Bridge's benchmarks have the backend alone, which switches to it there.
    const auto backend = settings_.find("moe_flex_dispatcher_backend");
    if (model_.experts && layout.expert_ranks() > 1 && backend && *backend != "none" &&
        !settings_.has_any(dispatcher))
      layout.dispatch = Dispatch::node;
    set_predictions(in_nemo("mtp_num_layers"));
    layout.chunks = size(in_nemo("virtual_pipeline_model_parallel_size"));
    set_stages_of({in_nemo("account_for_embedding_in_pipeline_split"),
                   in_nemo("account_for_loss_in_pipeline_split"),
                   in_nemo("num_layers_in_first_pipeline_stage"),
                   in_nemo("num_layers_in_last_pipeline_stage"),
                   with(in_nemo("pipeline_model_parallel_layout"), {"pp_layout"}),
                   in_nemo("virtual_pipeline_model_parallel_size"),
                   in_nemo("num_layers_per_virtual_pipeline_stage")});
    const bool is_said = flag(in_nemo("sequence_parallel"));
    layout.sequence_parallel =
        layout.tensor > 1 && (is_said || (is_bridge_ && !says_sequence_parallel()));
  }
  void set_gradients() {
    Layout& layout = found_.layout;
    const NemoNames overlap =
        asked_of({"comm_overlap.overlap_grad_reduce"},
                 with(in_ddp("overlap_grad_reduce"),
                      {"model.optim.overlap_grad_sync", "optim.overlap_grad_sync",
                       "overlap_grad_reduce", "ARGS.overlap_grad_reduce"}));
    const bool overlaps = !is_megatron_ && !is_factory_ && !is_of_mcore();
    layout.overlaps = layout.zero > 1 || (settings_.has_any(overlap) ? flag(overlap) : overlaps);
    const NemoNames gathers =
        asked_of({"comm_overlap.overlap_param_gather"},
                 with({"model.optim.overlap_param_sync", "optim.overlap_param_sync",
                       "overlap_param_gather", "ARGS.overlap_param_gather"},
                      in_ddp("overlap_param_gather")));
    note_gathers(gathers, settings_.has_any(gathers) ? flag(gathers) : !is_megatron_);
    const std::string precision = first({"trainer.precision", "precision"}).value_or("bf16");
    if (precision == "32" || precision.starts_with("32-") || precision == "fp32")
      found_.notes.emplace_back(float32_note);
    const NemoNames fuses = in_nemo("gradient_accumulation_fusion");
    layout.adds_apart =
        is_megatron_ && layout.zero <= 1 && settings_.has_any(fuses) && !flag(fuses);
    const auto gradients =
        settings_.find_any({"model.optim.grad_sync_dtype", "optim.grad_sync_dtype"});
    const NemoNames whole_gradients =
        asked_of({"mixed_precision.grad_reduce_in_fp32", "plugins.grad_reduce_in_fp32",
                  "trainer.plugins.grad_reduce_in_fp32"},
                 in_ddp("grad_reduce_in_fp32"));
    layout.half_gradients = flag(in_nemo("grad_reduce_in_bf16")) ||
                            (gradients && gradients->find("16") != std::string::npos) ||
                            (settings_.has_any(whole_gradients) && !flag(whole_gradients));
  }
  void set_recompute() {
    refuse(in_nemo("activations_checkpoint_layers_per_pipeline"));
    // Tables of Megatron-Bridge's benchmarks have a number of layers alone, or modules.
    const bool is_table = is_bridge_ && settings_.find("recompute_num_layers");
    const bool has_modules = is_bridge_ && settings_.find("recompute_modules");
    const char* usual = is_table ? "full" : has_modules ? "selective" : "";
    recompute(
        {with(in_nemo("activations_checkpoint_granularity"), in_nemo("recompute_granularity")),
         with(in_nemo("activations_checkpoint_num_layers"), in_nemo("recompute_num_layers")),
         with(in_nemo("activations_checkpoint_method"), in_nemo("recompute_method")),
         in_nemo("recompute_modules"), usual, is_table ? "block" : "uniform"});
  }
  void set_batches() {
    found_.sequence =
        whole({"model.encoder_seq_length", "encoder_seq_length", "model.seq_length", "seq_length",
               "model.data.seq_length", "dataset.seq_length", "dataset.sequence_length",
               "ARGS.seq_length", "data.seq_length", "model.config.seq_length"});
    const NemoNames nodes = {"trainer.num_nodes", "num_nodes"};
    const NemoNames devices = {"trainer.devices", "devices"};
    const bool says_gpus = settings_.has_any(nodes) && settings_.has_any(devices);
    batches(
        in_nemo("micro_batch_size"), in_nemo("global_batch_size"),
        says_gpus ? gpus_in_all(nodes, devices) : whole({"num_gpus"}, 1, most_gpus).value_or(0));
  }
  // Micro-batches of a replica, as where Hugging Face's Trainer counts them.
  void set_batches_of_factory() {
    Layout& layout = found_.layout;
    found_.sequence = whole({"cutoff_len"});
    layout.replicas = replicas();
    layout.micro_batch =
        whole({"per_device_train_batch_size"}, 1, most_micro_batch_size).value_or(1);
    layout.micro_batches =
        whole({"gradient_accumulation_steps"}, 1, most_micro_batches).value_or(1);
  }
  // Sizes of a layout that lie where none is looked for.
  void refuse_elsewhere() const {
    for (const std::string name : {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                   "context_parallel_size", "virtual_pipeline_model_parallel_size",
                                   "expert_model_parallel_size", "expert_tensor_parallel_size",
                                   "sequence_parallel", "micro_batch_size", "global_batch_size"}) {
      const NemoNames known = in_nemo(name);
      const auto is_there = [&](const std::string& one) { return settings_.has(one); };
      if (std::any_of(known.begin(), known.end(), is_there)) continue;
      for (const auto& [other, value] : settings_.values())
        if (other.ends_with("." + name) && settings_.find(other))
          settings_.fail(other, "is not looked for there; write it as " + name +
                                    ", at the top or below model");
    }
  }
  // Of NeMo 1, which without a word exchanges gradients of mcore's behind the passes.
  bool is_of_mcore() const { return optimizer() == "mcore_distributed_optim"; }
  std::string optimizer() const {
    return settings_.find_any({"model.optim.name", "optim.name"}).value_or("");
  }
  // Recipes of Megatron-Bridge have a distributed optimizer unless they say that they do not.
  void set_shards_of_nemo() {
    Layout& layout = found_.layout;
    const bool is_sharded = is_of_mcore() || optimizer().starts_with("distributed_fused");
    const NemoNames distributed =
        with(in_nemo("use_distributed_optimizer"),
             with(in_ddp("use_distributed_optimizer"), {"optimizer.use_distributed_optimizer"}));
    // Of NeMo 2: the one of the optimizer replaces the other.
    const NemoNames of_optimizer = {"optim.config.use_distributed_optimizer"};
    const NemoNames asked = asked_of(of_optimizer, distributed);
    const bool is_said = settings_.has_any(asked);
    // Megatron-Bridge turns both of its settings on where one is.
    const bool is_on = std::any_of(asked.begin(), asked.end(),
                                   [&](const std::string& name) { return flag({name}); });
    layout.zero = is_sharded || is_on || (is_bridge_ && !is_said) ? 1 : 0;
    const NemoNames fsdp = with(in_nemo("use_megatron_fsdp"),
                                with(in_ddp("use_megatron_fsdp"), {"dist.use_megatron_fsdp"}));
    // Tables of Megatron-Bridge's benchmarks, which have no strategy, mean all of it.
    const bool is_of_benchmark = name_of(fsdp) == "use_megatron_fsdp";
    if (flag(fsdp))
      layout.zero = zero_of_sharding(with(in_nemo("data_parallel_sharding_strategy"),
                                          in_ddp("data_parallel_sharding_strategy")),
                                     is_of_benchmark ? 3 : 0);
    if (const auto stage = zero_of_torch(settings_)) layout.zero = *stage;
    if (is_bridge_ && !is_said && layout.zero == 1)
      found_.notes.emplace_back("use_distributed_optimizer is not said and taken to be on (zero1)");
  }

  bool is_bridge_ = false;
  bool is_megatron_ = false;
  bool is_factory_ = false;
};

}  // namespace

ForeignLayout layout_of_nemo(const std::string& program, const FlatSettings& settings,
                             const GpuCount& gpus, const Transformer& model) {
  return NemoReader(settings, gpus, model).read(program);
}

}  // namespace sgdsim
