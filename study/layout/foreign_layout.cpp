// One function per program; what they have in common is how sizes make micro-batches.
#include "study/layout/foreign_layout.h"

#include <functional>

#include "study/layout/foreign_reader.h"
#include "study/layout/foreign_shards.h"
#include "study/layout/foreign_tuning.h"

namespace sgdsim {
namespace {

using Names = SettingNames;

class Reader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout megatron() {
    found_.program = "Megatron-LM";
    refuse({"hierarchical-context-parallel-sizes"});
    Layout& layout = found_.layout;
    layout.tensor = size({"tensor-model-parallel-size"});
    layout.pipeline = size({"pipeline-model-parallel-size"});
    const Names ulysses = {"ds-sequence-parallel-size"};
    layout.context = size({"context-parallel-size", ulysses.front()});
    layout.expert = size({"expert-model-parallel-size", "moe-expert-parallel-size"});
    set_expert_parts({"expert-tensor-parallel-size"});
    layout.predictions = whole({"mtp-num-layers"}, 1, most_predictions);
    read_offload(settings_, model_, found_);
    exchange_context({"cp-comm-type"});
    if (size(ulysses) > 1) layout.context_by = ContextBy::ulysses;
    layout.chunks = size({"num-virtual-stages-per-pipeline-rank"});
    // "type:transformer|embedding" of Megatron-DeepSpeed, which counts both ends.
    const std::string counted = settings_.find("pp-partition-method").value_or("");
    const bool has_ends = counted.find("embedding") != std::string::npos;
    const Names ends = has_ends ? Names{"pp-partition-method"} : Names{};
    set_stages_of({with({"account-for-embedding-in-pipeline-split"}, ends),
                   with({"account-for-loss-in-pipeline-split"}, ends),
                   {"decoder-first-pipeline-num-layers"},
                   {"decoder-last-pipeline-num-layers"},
                   {"pipeline-model-parallel-layout"},
                   {"num-virtual-stages-per-pipeline-rank"},
                   {"num-layers-per-virtual-pipeline-stage"}});
    layout.sequence_parallel = flag({"sequence-parallel"}) && layout.tensor > 1;
    layout.zero = flag({"use-distributed-optimizer"}) ? 1 : 0;
    if (flag({"use-megatron-fsdp", "use-custom-fsdp"}))
      layout.zero = zero_of_sharding({"data-parallel-sharding-strategy"}, 0);
    if (const auto stage = zero_of_torch(settings_)) layout.zero = *stage;
    if (const auto stage = whole({"zero-stage"}, 0, 3)) layout.zero = static_cast<int>(*stage);
    if (settings_.has("deepspeed-config"))
      found_.notes.emplace_back(
          "the file of --deepspeed_config is not read: neither overlap_comm nor a stage of ZeRO "
          "that --zero-stage does not say");
    layout.keeps_weights = layout.zero == 3 && keeps_torch_weights(settings_);
    layout.keeps_scores = writes_scores(settings_);
    layout.shard_copies = size({"num-distributed-optimizer-instances"});
    layout.overlaps = layout.zero > 1 || flag({"overlap-grad-reduce"});
    layout.half_gradients = flag({"grad-reduce-in-bf16"});
    layout.adds_apart = layout.zero <= 1 && flag({"no-gradient-accumulation-fusion"});
    // Until 2022 flags said that whole layers are, and not which part.
    const Names old_method = {"activations-checkpoint-method"};
    const bool is_old = flag({"checkpoint-activations"}) || settings_.find_any(old_method);
    recompute(
        {"recompute-granularity"},
        {"recompute-num-layers", "activations-checkpoint-num-layers", "checkpoint-num-layers"},
        with({"recompute-method"}, old_method), {"recompute-modules"}, is_old ? "full" : "",
        "uniform");
    found_.sequence = whole({"seq-length"});
    batches({"micro-batch-size"}, {"global-batch-size"}, named_gpus());
    return found_;
  }

  // Megatron-Bridge has the same names, in other tables and as recipes in Python, and so has
  // Megatron-LM where it takes YAML.
  ForeignLayout nemo(const std::string& program) {
    found_.program = program;
    const bool is_bridge = program == "Megatron-Bridge";
    const bool is_megatron = program == "Megatron-LM";
    refuse_elsewhere();
    Layout& layout = found_.layout;
    layout.tensor = size(in_nemo("tensor_model_parallel_size"));
    layout.pipeline = size(in_nemo("pipeline_model_parallel_size"));
    layout.context = size(in_nemo("context_parallel_size"));
    layout.expert = size(in_nemo("expert_model_parallel_size"));
    set_expert_parts(in_nemo("expert_tensor_parallel_size"));
    layout.predictions = whole(in_nemo("mtp_num_layers"), 1, most_predictions);
    layout.chunks = size(in_nemo("virtual_pipeline_model_parallel_size"));
    set_stages_of({in_nemo("account_for_embedding_in_pipeline_split"),
                   in_nemo("account_for_loss_in_pipeline_split"),
                   in_nemo("num_layers_in_first_pipeline_stage"),
                   in_nemo("num_layers_in_last_pipeline_stage"),
                   in_nemo("pipeline_model_parallel_layout"),
                   in_nemo("virtual_pipeline_model_parallel_size"),
                   in_nemo("num_layers_per_virtual_pipeline_stage")});
    const bool says_sp = settings_.find_any(in_nemo("sequence_parallel")).has_value();
    layout.sequence_parallel =
        (flag(in_nemo("sequence_parallel")) || (is_bridge && !says_sp)) && layout.tensor > 1;
    set_shards_of_nemo(is_bridge);
    if (is_bridge && layout.tensor > 1 && !says_sp)
      found_.notes.emplace_back("sequence_parallel is not said and taken to be on");
    const Names overlap = {"model.optim.overlap_grad_sync", "optim.overlap_grad_sync",
                           "ddp.overlap_grad_reduce",       "comm_overlap.overlap_grad_reduce",
                           "overlap_grad_reduce",           "ARGS.overlap_grad_reduce"};
    const bool says_overlap = settings_.find_any(overlap).has_value();
    layout.overlaps =
        layout.zero > 1 || (says_overlap ? flag(overlap) : !is_megatron && !is_of_mcore());
    const Names fuses = in_nemo("gradient_accumulation_fusion");
    layout.adds_apart =
        is_megatron && layout.zero <= 1 && settings_.find_any(fuses) && !flag(fuses);
    const auto gradients =
        settings_.find_any({"model.optim.grad_sync_dtype", "optim.grad_sync_dtype"});
    const Names whole_gradients = {"ddp.grad_reduce_in_fp32",
                                   "mixed_precision.grad_reduce_in_fp32"};
    layout.half_gradients = flag(in_nemo("grad_reduce_in_bf16")) ||
                            (gradients && gradients->find("16") != std::string::npos) ||
                            (settings_.find_any(whole_gradients) && !flag(whole_gradients));
    layout.keeps_scores = writes_scores(settings_);
    refuse(in_nemo("activations_checkpoint_layers_per_pipeline"));
    // Tables of Megatron-Bridge's benchmarks have a number of layers alone.
    const bool is_table = is_bridge && settings_.find("recompute_num_layers");
    recompute(with(in_nemo("activations_checkpoint_granularity"), in_nemo("recompute_granularity")),
              with(in_nemo("activations_checkpoint_num_layers"), in_nemo("recompute_num_layers")),
              with(in_nemo("activations_checkpoint_method"), in_nemo("recompute_method")),
              in_nemo("recompute_modules"), is_table ? "full" : "", is_table ? "block" : "uniform");
    exchange_context(in_nemo("cp_comm_type"));
    for (const std::string& name : settings_.missing())
      found_.notes.push_back("what " + name + " sets is not in the file and not read");
    read_adapters(settings_, found_);
    read_offload(settings_, model_, found_);
    found_.sequence = whole({"model.encoder_seq_length", "encoder_seq_length", "model.seq_length",
                             "seq_length", "model.data.seq_length", "dataset.seq_length",
                             "dataset.sequence_length", "ARGS.seq_length"});
    const Names nodes = {"trainer.num_nodes", "num_nodes"};
    const Names devices = {"trainer.devices", "devices"};
    const bool says_gpus = settings_.find_any(nodes) && settings_.find_any(devices);
    batches(
        in_nemo("micro_batch_size"), in_nemo("global_batch_size"),
        says_gpus ? gpus_in_all(nodes, devices) : whole({"num_gpus"}, 1, most_gpus).value_or(0));
    return found_;
  }

  // Variables of NVIDIA's scripts for MLPerf, which other scripts hand to NeMo.
  ForeignLayout mlperf() {
    found_.program = "MLPerf";
    Layout& layout = found_.layout;
    layout.tensor = size({"TENSOR_MODEL_PARALLEL"});
    layout.pipeline = size({"PIPELINE_MODEL_PARALLEL"});
    layout.context = size({"CONTEXT_PARALLEL"});
    layout.expert = size({"EXPERT_PARALLEL"});
    const Names chunks = {"INTERLEAVED_PIPELINE"};  // 0: none
    layout.chunks = std::max<int64_t>(1, whole(chunks, 0, most_gpus).value_or(1));
    set_stages_of({{"ASYM_PP_EMBED"}, {"ASYM_PP_LOSS"}, {}, {}, {}, chunks, {}});
    const Names sequence = {"SEQ_PARALLEL"};
    const Names optimizer = {"USE_DIST_OPTIMIZER"};
    layout.sequence_parallel =
        layout.tensor > 1 && (!settings_.find_any(sequence) || flag(sequence));
    layout.zero = !settings_.find_any(optimizer) || flag(optimizer) ? 1 : 0;
    const Names nodes = {"DGXNNODES"};
    const Names devices = {"DGXNGPU"};
    if (gpus_.given == 0 && settings_.find_any(nodes) && !settings_.find_any(devices))
      settings_.fail("DGXNNODES",
                     "needs DGXNGPU, the GPUs of a node, which config_common.sh may "
                     "say; give --gpus");
    layout.replicas = replicas(settings_.find_any(nodes) ? gpus_in_all(nodes, devices) : 0);
    layout.micro_batch = whole({"MICRO_BATCH_SIZE"}, 1, most_micro_batch_size).value_or(1);
    if (const auto sequences = whole({"MINIBS"}))
      layout.micro_batches = quotient("MINIBS", *sequences, layout.micro_batch);
    found_.notes.emplace_back(
        "scripts that it sources are not read; what it does not say is taken to be sp with tp, and "
        "a distributed optimizer (zero1)");
    return found_;
  }

 private:
  // Where nothing is said, Megatron-LM splits experts as it splits all other matrices.
  void set_expert_parts(const Names& names) {
    Layout& layout = found_.layout;
    if (!model_.experts) return;
    layout.expert_tensor = size(names, layout.tensor);
    if (layout.expert_tensor > 1 && !settings_.find_any(names))
      found_.notes.emplace_back("experts are split like other matrices (etp" +
                                std::to_string(layout.expert_tensor) + "), because " +
                                names.front() + " says nothing else");
  }
  static Names in_nemo(const std::string& name) {
    return {"model." + name,         name,           "trainer.strategy." + name,
            "strategy." + name,      "data." + name, "model.data." + name,
            "train." + name,         "ARGS." + name, "model_parallel." + name,
            "language_model." + name};
  }
  // Sizes of a layout that lie where none is looked for.
  void refuse_elsewhere() const {
    for (const std::string name : {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                   "context_parallel_size", "virtual_pipeline_model_parallel_size",
                                   "expert_model_parallel_size", "expert_tensor_parallel_size",
                                   "sequence_parallel", "micro_batch_size", "global_batch_size"}) {
      const Names known = in_nemo(name);
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
  void set_shards_of_nemo(bool is_bridge) {
    Layout& layout = found_.layout;
    const bool is_sharded = is_of_mcore() || optimizer().starts_with("distributed_fused");
    const Names distributed =
        with(in_nemo("use_distributed_optimizer"),
             {"ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"});
    const bool is_said = settings_.find_any(distributed).has_value();
    layout.zero = is_sharded || flag(distributed) || (is_bridge && !is_said) ? 1 : 0;
    const Names fsdp =
        with(in_nemo("use_megatron_fsdp"), {"ddp.use_megatron_fsdp", "dist.use_megatron_fsdp"});
    // Tables of Megatron-Bridge's benchmarks, which have no strategy, mean all of it.
    const bool is_of_benchmark = name_of(fsdp) == "use_megatron_fsdp";
    if (flag(fsdp))
      layout.zero = zero_of_sharding(
          with(in_nemo("data_parallel_sharding_strategy"), {"ddp.data_parallel_sharding_strategy"}),
          is_of_benchmark ? 3 : 0);
    if (const auto stage = zero_of_torch(settings_)) layout.zero = *stage;
    if (is_bridge && !is_said && layout.zero == 1)
      found_.notes.emplace_back("use_distributed_optimizer is not said and taken to be on (zero1)");
  }
  // torchrun says so beside Megatron's flags, and deepspeed; on one node unless it names more. 0:
  // nobody says.
  int64_t named_gpus() {
    if (gpus_.given > 0) return 0;
    const Names nodes = {"nnodes", "num-nodes"};
    const Names per_node = {"nproc-per-node", "num-gpus"};
    const auto is_asked = [&](const Names& names) {  // of the environment, or of a program
      return settings_.find_any(names).value_or("").find_first_of("$`") == 0;
    };
    if (!settings_.find_any(per_node) || is_asked(nodes) || is_asked(per_node)) return 0;
    return gpus_in_all(nodes, per_node);
  }
  // Settings of Megatron-LM and NeMo.
  struct StageNames {
    Names embedding, loss;       // whether it counts as a layer
    Names first, last;           // layers of that stage
    Names layout;                // of every chunk
    Names chunks, chunk_layers;  // virtual stages of a rank, or layers of each
  };
  // The name of the first setting that is there; empty: none.
  std::string given_of(const std::vector<Names>& all) const {
    for (const Names& names : all)
      if (const auto value = settings_.find_any(names); value && *value != "none")
        return name_of(names);
    return "";
  }
  std::string as_said(const Names& names) const {
    return (settings_.kind() == FlatSettings::Kind::flags ? "--" : "") + name_of(names);
  }
  void set_stages_of(const StageNames& names) {
    Layout& layout = found_.layout;
    const bool has_embedding = flag(names.embedding) && layout.pipeline > 1;
    const bool has_loss = flag(names.loss) && layout.pipeline > 1;
    layout.ends_are_layers = has_embedding && has_loss;
    const std::string ends = given_of({names.first, names.last});
    const std::string end = has_embedding ? name_of(names.embedding) : name_of(names.loss);
    if ((has_embedding || has_loss) && !ends.empty())
      settings_.fail(end, "contradicts " + ends + "; leave one of them out");
    if (const auto text = settings_.find_any(names.layout); text && *text != "none") {
      const std::string other = given_of({names.first, names.last, names.chunk_layers});
      if (!other.empty() || has_embedding || has_loss)
        settings_.fail(name_of(names.layout),
                       "contradicts " + (other.empty() ? end : other) + "; leave one of them out");
      return set_stages_of_text(names, *text);
    }
    if (!names.chunk_layers.empty() && settings_.find_any(names.chunk_layers)) {
      if (!ends.empty())
        settings_.fail(ends, "goes with " + as_said(names.chunks) + ", not with " +
                                 as_said(names.chunk_layers));
      layout.chunks = chunks_of(names.chunk_layers, has_embedding + has_loss);
    }
    if (given_of({names.first}) != "")
      layout.stages.first = whole(names.first, 1, most_chunk_layers);
    if (given_of({names.last}) != "") layout.stages.last = whole(names.last, 1, most_chunk_layers);
    if (has_embedding != has_loss)
      set_chunks(end, stages_with_end(model_.layers, chunks_in_all(), has_loss));
  }
  void set_stages_of_text(const StageNames& names, const std::string& text) {
    Layout& layout = found_.layout;
    const std::string name = name_of(names.layout);
    if (text.front() == '[') settings_.fail(name, "is a list; " + std::string(as_text));
    const ForeignStages stages = stages_of_megatron(text);
    if (stages.wrong.empty()) {
      const auto chunks = static_cast<int64_t>(stages.layers.size());
      const int64_t of_rank = chunks / layout.pipeline;
      if (chunks % layout.pipeline != 0)
        settings_.fail(name, "has " + std::to_string(chunks) +
                                 " stages, which do not divide by pp" +
                                 std::to_string(layout.pipeline));
      if (settings_.find_any(names.chunks) && of_rank != layout.chunks)
        settings_.fail(name, "has " + std::to_string(of_rank) + " stages a rank, but " +
                                 name_of(names.chunks) + " is " + std::to_string(layout.chunks));
      layout.chunks = of_rank;
    }
    if (stages.predictions > most_predictions)
      settings_.fail(name, "has " + std::to_string(stages.predictions) +
                               " layers m; expected at most " + std::to_string(most_predictions));
    if (stages.predictions > 0) {
      layout.predictions = stages.predictions;
      found_.notes.emplace_back(
          "layers m, which predict further tokens, are taken to be on the last stage");
    }
    set_chunks(name, stages);
  }
  static constexpr const char* as_text = "give it as text, as in \"Et*3|(tt|)*29,m|L\"";
  int64_t chunks_of(const Names& names, int64_t ends) {
    const std::string name = name_of(names);
    const int64_t layers = *whole(names);
    return quotient(name, quotient(name, model_.layers + ends, found_.layout.pipeline), layers);
  }
  int zero_of_sharding(const Names& names, int usual) {
    const auto strategy = settings_.find_any(names);
    if (!strategy) return usual;
    if (*strategy == "optim_grads_params") return 3;
    if (*strategy == "optim_grads") return 2;
    if (*strategy == "optim") return 1;
    if (*strategy == "no_shard") return 0;
    settings_.fail(name_of(names),
                   unknown_name("strategy", *strategy,
                                {"no_shard", "optim", "optim_grads", "optim_grads_params"}));
  }
  // Of one kind for all layers.
  void exchange_context(const Names& names) {
    const auto how = settings_.find_any(names);
    if (!how || found_.layout.context == 1) return;
    const auto all = settings_.list(name_of(names)).value_or(std::vector<std::string>{});
    const bool are_alike =
        std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end();
    const std::string kind = are_alike && !all.empty() ? all.front() : *how;
    if (kind == "all_gather" || kind == "allgather")
      found_.layout.context_by = ContextBy::gather;
    else if (kind == "a2a")
      found_.layout.context_by = ContextBy::ulysses;
    else if (kind != "p2p")
      settings_.fail(name_of(names),
                     unknown_name("exchange that is modelled", kind, {"p2p", "all_gather", "a2a"}));
  }
  // Of single modules; core_attn, the scores, where nobody says which.
  void recompute_some(const Names& modules) {
    Layout& layout = found_.layout;
    const auto all = settings_.list(name_of(modules)).value_or(Names{"core_attn"});
    std::string others;
    for (const std::string& module : all)
      if (module != "core_attn") others += (others.empty() ? "" : ", ") + module;
    if (layout.keeps_scores && std::find(all.begin(), all.end(), "core_attn") != all.end())
      layout.recompute = Recompute::selective;
    if (!others.empty())
      found_.notes.push_back("recomputation of " + others +
                             " alone is not priced: it is not computed again, and memory is "
                             "overestimated");
    else if (!layout.keeps_scores)
      found_.notes.emplace_back(
          "selective recomputation has no effect: attention is taken to be fused");
  }
  // `usual`: the granularity where it is not said.
  void recompute(const Names& granularity, const Names& layers, const Names& method,
                 const Names& modules, const std::string& usual, const char* usual_method) {
    const std::string value = settings_.find_any(granularity).value_or(usual);
    if (value.empty()) return;
    if (value == "selective") return recompute_some(modules);
    if (value != "full")
      settings_.fail(name_of(granularity),
                     unknown_name("granularity", value, {"full", "selective"}));
    const int64_t count = whole(layers).value_or(1);
    const std::string how = settings_.find_any(method).value_or(usual_method);
    if (how == "block")
      recompute_layers(Recompute::block, count);
    else if (how == "uniform")
      recompute_layers(count > 1 ? Recompute::uniform : Recompute::full, count);
    else
      settings_.fail(name_of(method), unknown_name("method", how, {"uniform", "block"}));
  }
};

ForeignLayout checked(ForeignLayout found, const FlatSettings& settings) {
  check_sizes(found.layout, settings.file());
  note_unpriced(settings, found);
  return found;
}

bool has_prefix(const FlatSettings& settings, const std::string& prefix) {
  const auto found = settings.values().lower_bound(prefix);
  return found != settings.values().end() && found->first.starts_with(prefix);
}

// Wherever they lie.
bool has_sizes(const FlatSettings& settings) {
  for (const auto& [name, value] : settings.values()) {
    const std::string last = name.substr(name.rfind('.') + 1);
    if (last == "tensor_model_parallel_size" || last == "micro_batch_size") return true;
  }
  return false;
}

// Of those with the names of Megatron, by its tables.
std::string program_of(const FlatSettings& settings) {
  const auto has = [&](const char* prefix) { return has_prefix(settings, prefix); };
  if (has("model_parallel.") || has("ARGS.")) return "Megatron-LM";
  return has("train.") || has("ddp.") ? "Megatron-Bridge" : "NeMo";
}

}  // namespace

ForeignLayout foreign_layout(const FlatSettings& settings, const GpuCount& gpus,
                             const Transformer& model) {
  Reader reader(settings, gpus, model);
  switch (settings.kind()) {
    case FlatSettings::Kind::flags:
      for (const char* name : {"tensor-model-parallel-size", "pipeline-model-parallel-size",
                               "micro-batch-size", "context-parallel-size"})
        if (settings.has(name)) return checked(reader.megatron(), settings);
      for (const char* name : {"TENSOR_MODEL_PARALLEL", "PIPELINE_MODEL_PARALLEL"})
        if (settings.has(name)) return checked(reader.mlperf(), settings);
      break;
    case FlatSettings::Kind::toml:
      if (has_prefix(settings, "parallelism.") || has_prefix(settings, "training."))
        return checked(layout_of_torchtitan(settings, gpus, model), settings);
      break;
    case FlatSettings::Kind::yaml:
    case FlatSettings::Kind::json:
      if (has_prefix(settings, "zero_optimization.") || has_prefix(settings, "train_"))
        return checked(layout_of_deepspeed(settings, gpus, model), settings);
      if (has_prefix(settings, "distributed.") && has_prefix(settings, "step_scheduler."))
        return checked(layout_of_automodel(settings, gpus, model), settings);
      if (has_sizes(settings)) return checked(reader.nemo(program_of(settings)), settings);
      break;
    case FlatSettings::Kind::python:
      if (has_prefix(settings, "parallelism.") || settings.has("training.local_batch_size"))
        return checked(layout_of_torchtitan(settings, gpus, model), settings);
      return checked(reader.nemo("Megatron-Bridge"), settings);
  }
  throw InputError(settings.file(),
                   "expected a layout: a file of schema " + std::string(layout_schema) +
                       ", flags of Megatron-LM, YAML of NeMo, a recipe of Megatron-Bridge, JSON of "
                       "DeepSpeed or TOML of torchtitan");
}

}  // namespace sgdsim
