// One function per program; what they have in common is how sizes make micro-batches.
#include "study/layout/foreign_layout.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/product.h"

namespace sgdsim {
namespace {

using Names = std::vector<std::string>;

class Reader {
 public:
  Reader(const FlatSettings& settings, const GpuCount& gpus, const Transformer& model)
      : settings_(settings), gpus_(gpus), model_(model) {}

  ForeignLayout megatron() {
    found_.program = "Megatron-LM";
    refuse({"pipeline-model-parallel-layout", "hierarchical-context-parallel-sizes",
            "decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers"});
    Layout& layout = found_.layout;
    layout.tensor = size({"tensor-model-parallel-size"});
    layout.pipeline = size({"pipeline-model-parallel-size"});
    layout.context = size({"context-parallel-size"});
    layout.expert = size({"expert-model-parallel-size"});
    if (layout.expert > 1 && size({"expert-tensor-parallel-size"}, layout.tensor) > 1)
      settings_.fail("expert-tensor-parallel-size",
                     "experts that are split themselves are not modelled; it would have to be 1 "
                     "(without it, it is " +
                         std::to_string(layout.tensor) + ")");
    layout.chunks = size({"num-virtual-stages-per-pipeline-rank"});
    if (const auto layers = whole({"num-layers-per-virtual-pipeline-stage"}))
      layout.chunks = chunks_of(*layers);
    layout.sequence_parallel = flag({"sequence-parallel"}) && layout.tensor > 1;
    layout.zero = flag({"use-distributed-optimizer"}) ? 1 : 0;
    if (flag({"use-megatron-fsdp", "use-custom-fsdp", "use-torch-fsdp2"}))
      layout.zero = zero_of_sharding();
    layout.shard_copies = size({"num-distributed-optimizer-instances"});
    layout.overlaps = layout.zero > 1 || flag({"overlap-grad-reduce"});
    layout.ends_are_layers = layout.pipeline > 1 &&
                             flag({"account-for-embedding-in-pipeline-split"}) &&
                             flag({"account-for-loss-in-pipeline-split"});
    layout.half_gradients = flag({"grad-reduce-in-bf16"});
    layout.adds_apart = layout.zero <= 1 && flag({"no-gradient-accumulation-fusion"});
    recompute({"recompute-granularity"}, {"recompute-num-layers"}, {"recompute-method"});
    found_.sequence = whole({"seq-length"});
    batches({"micro-batch-size"}, {"global-batch-size"}, named_gpus());
    return found_;
  }

  ForeignLayout nemo() {
    found_.program = "NeMo";
    Layout& layout = found_.layout;
    layout.tensor = size(in_nemo("tensor_model_parallel_size"));
    layout.pipeline = size(in_nemo("pipeline_model_parallel_size"));
    layout.context = size(in_nemo("context_parallel_size"));
    layout.expert = size(in_nemo("expert_model_parallel_size"));
    layout.chunks = size(in_nemo("virtual_pipeline_model_parallel_size"));
    layout.sequence_parallel = flag(in_nemo("sequence_parallel")) && layout.tensor > 1;
    const auto optimizer = settings_.find_any({"model.optim.name", "optim.name"});
    const bool is_sharded = optimizer && optimizer->starts_with("distributed_fused");
    layout.zero = is_sharded || flag(in_nemo("use_distributed_optimizer")) ? 1 : 0;
    const Names overlap = {"model.optim.overlap_grad_sync", "optim.overlap_grad_sync"};
    layout.overlaps = !settings_.find_any(overlap) || flag(overlap);
    const auto gradients =
        settings_.find_any({"model.optim.grad_sync_dtype", "optim.grad_sync_dtype"});
    layout.half_gradients = gradients && gradients->find("16") != std::string::npos;
    refuse(in_nemo("activations_checkpoint_layers_per_pipeline"));
    recompute(in_nemo("activations_checkpoint_granularity"),
              in_nemo("activations_checkpoint_num_layers"),
              in_nemo("activations_checkpoint_method"));
    found_.sequence = whole({"model.encoder_seq_length", "encoder_seq_length", "model.seq_length",
                             "seq_length", "model.data.seq_length"});
    const Names nodes = {"trainer.num_nodes", "num_nodes"};
    const Names devices = {"trainer.devices", "devices"};
    const bool says_gpus = settings_.find_any(nodes) && settings_.find_any(devices);
    batches(in_nemo("micro_batch_size"), in_nemo("global_batch_size"),
            says_gpus ? gpus_in_all(nodes, devices) : 0);
    return found_;
  }

  ForeignLayout deepspeed() {
    found_.program = "DeepSpeed";
    refuse({"zero_optimization.zero_hpz_partition_size",
            "zero_optimization.offload_optimizer.device",
            "zero_optimization.offload_param.device"});
    Layout& layout = found_.layout;
    layout.tensor = size({"tensor_parallel.autotp_size"});
    layout.zero = static_cast<int>(whole({"zero_optimization.stage"}, 0, 3).value_or(0));
    if (settings_.has("zero_optimization.overlap_comm") && layout.zero <= 1)
      layout.overlaps = flag({"zero_optimization.overlap_comm"});
    const Names micro = {"train_micro_batch_size_per_gpu"};
    const Names whole_batch = {"train_batch_size"};
    if (const auto steps = whole({"gradient_accumulation_steps"}, 1, most_micro_batches)) {
      layout.micro_batches = *steps;
      layout.replicas = replicas();
      const auto batch = whole(whole_batch);
      const auto one = whole(micro, 1, most_micro_batch_size);
      if (one) layout.micro_batch = *one;
      if (!one && batch)
        layout.micro_batch = quotient(whole_batch.front(), *batch, *steps * layout.replicas);
      check_size();
      if (one && batch && *batch != layout.batch())
        settings_.fail(whole_batch.front(), "is " + std::to_string(*batch) + ", but " +
                                                std::to_string(layout.replicas) +
                                                " replicas with these micro-batches have " +
                                                std::to_string(layout.batch()));
    } else {
      batches(micro, whole_batch, 0);
    }
    const Names group = {"zero_optimization.mics_shard_size"};
    if (const auto shards = whole_if_positive(group))
      layout.shard_copies = quotient(group.front(), layout.replicas, *shards);
    return found_;
  }

  ForeignLayout torchtitan() {
    found_.program = "torchtitan";
    Layout& layout = found_.layout;
    const std::string all = "parallelism.";
    layout.tensor = size({all + "tensor_parallel_degree", "training.tensor_parallel_degree"});
    layout.pipeline =
        size({all + "pipeline_parallel_degree", "experimental.pipeline_parallel_degree"});
    layout.context =
        size({all + "context_parallel_degree", "experimental.context_parallel_degree"});
    layout.expert = size({all + "expert_parallel_degree"});
    layout.sequence_parallel = layout.tensor > 1;
    const Names schedule_names = {all + "pipeline_parallel_schedule",
                                  "experimental.pipeline_parallel_schedule"};
    schedule(schedule_names, all + "pipeline_parallel_layers_per_stage");
    shard({all + "data_parallel_shard_degree", "training.data_parallel_shard_degree"},
          {all + "data_parallel_replicate_degree", "training.data_parallel_replicate_degree"});
    checkpoint("activation_checkpoint.");
    layout.kernels = kernels_of_torchtitan();
    found_.sequence = whole({"training.seq_len"});
    const Names per_replica = {"training.local_batch_size", "training.batch_size"};
    const int64_t local = whole(per_replica).value_or(1);
    layout.micro_batch = layout.pipeline > 1 ? whole({all + "pipeline_parallel_microbatch_size"}, 1,
                                                     most_micro_batch_size)
                                                   .value_or(1)
                                             : local;
    int64_t steps = quotient(per_replica.front(), local, layout.micro_batch);
    if (const auto global = whole_if_positive({"training.global_batch_size"}))
      steps *= quotient("training.global_batch_size", *global, local * layout.replicas);
    layout.micro_batches = steps;
    return found_;
  }

 private:
  static Names in_nemo(const std::string& name) {
    return {"model." + name,    name,           "trainer.strategy." + name,
            "strategy." + name, "data." + name, "model.data." + name};
  }
  // Settings that change the layout in a way that is not modelled.
  void refuse(const Names& names) {
    for (const std::string& name : names)
      if (const auto value = settings_.find(name); value && *value != "none")
        settings_.fail(name,
                       "is not modelled; without it, or with --layout \"tp8 pp2 ...\", the "
                       "rest can be");
  }
  std::optional<int64_t> whole(const Names& names, int64_t least = 1,
                               int64_t most = most_global_batch) {
    const auto value = settings_.find_any(names);
    if (!value) return std::nullopt;
    const std::string name = name_of(names);
    if (*value == "auto") settings_.fail(name, "is \"auto\"; say the number");
    return settings_.whole(name, *value, least, most);
  }
  std::optional<int64_t> whole_if_positive(const Names& names) {
    const auto value = settings_.find_any(names);
    return value && *value == "-1" ? std::nullopt : whole(names);
  }
  int64_t size(const Names& names, int64_t usual = 1) {
    return whole(names, 1, most_gpus).value_or(usual);
  }
  bool flag(const Names& names) {
    const auto value = settings_.find_any(names);
    return value && settings_.flag(name_of(names), *value);
  }
  // The one that is there.
  std::string name_of(const Names& names) const {
    for (const std::string& name : names)
      if (settings_.find(name)) return name;
    return names.front();
  }
  int64_t quotient(const std::string& name, int64_t whole, int64_t by) {
    if (whole % by != 0)
      settings_.fail(
          name, "is " + std::to_string(whole) + ", which does not divide by " + std::to_string(by));
    return whole / by;
  }
  // torchrun says so beside Megatron's flags; 0: nobody says.
  int64_t named_gpus() {
    const auto nodes = settings_.find_any({"nnodes"});
    const auto per_node = settings_.find_any({"nproc-per-node"});
    if (!nodes || !per_node || nodes->starts_with("$") || per_node->starts_with("$")) return 0;
    return gpus_in_all({"nnodes"}, {"nproc-per-node"});
  }
  int64_t gpus_in_all(const Names& nodes, const Names& per_node) {
    const auto gpus = product_up_to(most_gpus, {size(nodes), size(per_node)});
    if (!gpus)
      settings_.fail(name_of(nodes), std::to_string(size(nodes)) + " nodes of " +
                                         std::to_string(size(per_node)) +
                                         " GPUs are more than the " + std::to_string(most_gpus) +
                                         " GPUs that are modelled");
    return *gpus;
  }
  void check_size() const { check_sizes(found_.layout, settings_.file()); }
  int64_t replicas(int64_t in_file = 0) {
    check_size();
    const Layout& layout = found_.layout;
    const int64_t gpus = gpus_.given > 0 ? gpus_.given : in_file > 0 ? in_file : gpus_.usual;
    const int64_t of_replica = layout.tensor * layout.pipeline * layout.context;
    if (gpus == 0)
      throw InputError(settings_.file(), "it does not say on how many GPUs; give --gpus");
    if (gpus % of_replica != 0)
      throw InputError(settings_.file(), "tp x pp x cp is " + std::to_string(of_replica) +
                                             ", by which " + std::to_string(gpus) +
                                             " GPUs do not divide");
    return gpus / of_replica;
  }
  void batches(const Names& micro, const Names& global, int64_t gpus) {
    Layout& layout = found_.layout;
    layout.replicas = replicas(gpus);
    layout.micro_batch = whole(micro, 1, most_micro_batch_size).value_or(1);
    if (const auto batch = whole(global))
      layout.micro_batches =
          quotient(name_of(global), *batch, layout.replicas * layout.micro_batch);
  }
  int64_t chunks_of(int64_t layers) {
    const char* name = "num-layers-per-virtual-pipeline-stage";
    const int64_t units = model_.layers + (found_.layout.ends_are_layers ? 2 : 0);
    return quotient(name, quotient(name, units, found_.layout.pipeline), layers);
  }
  int zero_of_sharding() {
    const auto strategy = settings_.find("data-parallel-sharding-strategy");
    if (!strategy || *strategy == "optim_grads_params") return 3;
    if (*strategy == "optim_grads") return 2;
    if (*strategy == "optim") return 1;
    if (*strategy == "no_shard") return 0;
    settings_.fail("data-parallel-sharding-strategy",
                   unknown_name("strategy", *strategy,
                                {"no_shard", "optim", "optim_grads", "optim_grads_params"}));
  }
  void recompute(const Names& granularity, const Names& layers, const Names& method) {
    const auto value = settings_.find_any(granularity);
    if (!value) return;
    if (*value == "selective") {
      found_.notes.emplace_back(
          "selective recomputation has no effect: attention is taken to be fused");
      return;
    }
    if (*value != "full")
      settings_.fail(name_of(granularity),
                     unknown_name("granularity", *value, {"full", "selective"}));
    const int64_t count = whole(layers).value_or(1);
    const std::string how = settings_.find_any(method).value_or("uniform");
    if (how == "block")
      recompute_layers(Recompute::block, count);
    else if (how == "uniform")
      recompute_layers(count > 1 ? Recompute::uniform : Recompute::full, count);
    else
      settings_.fail(name_of(method), unknown_name("method", how, {"uniform", "block"}));
  }
  // Of each chunk; no more than it has.
  void recompute_layers(Recompute how, int64_t count) {
    Layout& layout = found_.layout;
    const int64_t of_chunk = layers_of_chunks();
    const bool is_all = how == Recompute::full || (how == Recompute::block && count >= of_chunk);
    layout.recompute = is_all ? Recompute::full : how;
    layout.recompute_layers = is_all ? 0 : std::min(count, of_chunk);
  }
  int64_t layers_of_chunks() const {
    const int64_t units = model_.layers + (found_.layout.ends_are_layers ? 2 : 0);
    return std::max<int64_t>(1, units / found_.layout.chunks_in_all());
  }
  void schedule(const Names& names, const std::string& per_stage) {
    Layout& layout = found_.layout;
    if (layout.pipeline == 1) return;
    const std::string name = settings_.find_any(names).value_or("1F1B");
    const auto layers = whole({per_stage});
    if (layers)
      layout.chunks =
          quotient(per_stage, quotient(per_stage, model_.layers, layout.pipeline), *layers);
    const bool is_looped =
        name == "Interleaved1F1B" || name == "InterleavedZeroBubble" || name == "ZBVZeroBubble";
    if (is_looped && !layers) layout.chunks = 2;
    if (name == "GPipe") {
      layout.schedule = PipelineSchedule::gpipe;
    } else if (name == "InterleavedZeroBubble") {
      if (layout.chunks > 1)
        settings_.fail(name_of(names),
                       "InterleavedZeroBubble with " + std::to_string(layout.chunks) +
                           " virtual stages is not modelled; with one (" + per_stage + " = " +
                           std::to_string(model_.layers / layout.pipeline) + ") it is zb1p");
      layout.schedule = PipelineSchedule::zb1p;
    } else if (name == "ZBVZeroBubble") {
      layout.schedule = PipelineSchedule::zbv;
    } else if (name == "DualPipeV" || name == "LoopedBFS") {
      settings_.fail(name_of(names), name +
                                         " is not modelled; 1F1B, GPipe, Interleaved1F1B, "
                                         "ZBVZeroBubble, and InterleavedZeroBubble with one stage "
                                         "a rank are");
    } else if (name != "1F1B" && name != "Interleaved1F1B") {
      settings_.fail(name_of(names), unknown_name("schedule that is modelled", name,
                                                  {"1F1B", "GPipe", "Interleaved1F1B",
                                                   "InterleavedZeroBubble", "ZBVZeroBubble"}));
    }
  }
  void shard(const Names& shards, const Names& copies) {
    Layout& layout = found_.layout;
    const int64_t copied = size(copies);
    const auto sharded = whole_if_positive(shards);
    const int64_t all = sharded ? *sharded * copied : replicas();
    layout.replicas = all;
    check_size();
    if (sharded && gpus_.given > 0 && all != replicas())
      settings_.fail(name_of(shards),
                     "with " + std::to_string(all) + " replicas there are " +
                         std::to_string(all * layout.tensor * layout.pipeline * layout.context) +
                         " GPUs, but --gpus is " + std::to_string(gpus_.given));
    const bool is_sharded = all > copied || layout.context > 1;
    layout.zero = is_sharded ? 3 : 0;
    if (is_sharded) layout.shard_copies = copied;
  }
  void checkpoint(const std::string& name) {
    const std::string mode = settings_.find(name + "mode").value_or("none");
    if (mode == "full")
      found_.layout.recompute = Recompute::full;
    else if (mode == "selective")
      checkpoint_some(name + "selective_ac_option");
    else if (mode != "none")
      settings_.fail(name + "mode", unknown_name("mode", mode, {"none", "selective", "full"}));
  }
  Kernels kernels_of_torchtitan() {
    const std::string parts = settings_.find("compile.components").value_or("model");
    const auto has = [&](const char* part) { return parts.find(part) != std::string::npos; };
    const bool compiles = flag({"compile.enable", "training.compile"});
    if (compiles && has("model")) return has("loss") ? Kernels::fused : Kernels::compiled;
    if (is_plain(model_)) return Kernels::eager;
    found_.notes.emplace_back(
        "kernels that are not compiled are modelled for attention and a dense MLP alone: taken as "
        "kernels=compiled");
    return Kernels::compiled;
  }
  // Every so many layers, or single operations.
  void checkpoint_some(const std::string& name) {
    const std::string option = settings_.find(name).value_or("op");
    if (option == "op") {
      if (knows_operations(model_, found_.layout))
        found_.layout.recompute = Recompute::operations;
      else
        found_.notes.emplace_back(
            "selective checkpointing by operations is modelled for tp1 and cp1, without latent "
            "attention and experts: nothing is computed again, and memory is overestimated");
      return;
    }
    const int64_t every = settings_.whole(name, option, 1, 100'000);
    const int64_t of_chunk = layers_of_chunks();
    if (every > 1 && of_chunk % every != 0)
      found_.notes.push_back("every " + std::to_string(every) + " layers of the " +
                             std::to_string(of_chunk) +
                             " of a stage are computed again: taken as " +
                             std::to_string(of_chunk / every) + " of each stage");
    if (of_chunk >= every) recompute_layers(Recompute::block, of_chunk / every);
  }

  const FlatSettings& settings_;
  GpuCount gpus_;
  const Transformer& model_;
  ForeignLayout found_;
};

ForeignLayout checked(ForeignLayout found, const FlatSettings& settings) {
  check_sizes(found.layout, settings.file());
  return found;
}

bool has_prefix(const FlatSettings& settings, const std::string& prefix) {
  const auto found = settings.values().lower_bound(prefix);
  return found != settings.values().end() && found->first.starts_with(prefix);
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
      break;
    case FlatSettings::Kind::toml:
      if (has_prefix(settings, "parallelism.") || has_prefix(settings, "training."))
        return checked(reader.torchtitan(), settings);
      break;
    case FlatSettings::Kind::yaml:
      for (const auto& [name, value] : settings.values())
        if (name.ends_with("tensor_model_parallel_size") || name.ends_with("micro_batch_size"))
          return checked(reader.nemo(), settings);
      break;
    case FlatSettings::Kind::json:
      if (has_prefix(settings, "zero_optimization.") || has_prefix(settings, "train_"))
        return checked(reader.deepspeed(), settings);
      break;
  }
  throw InputError(settings.file(),
                   "expected a layout: a file of schema " + std::string(layout_schema) +
                       ", flags of Megatron-LM, YAML of NeMo, JSON of DeepSpeed or TOML of "
                       "torchtitan");
}

}  // namespace sgdsim
