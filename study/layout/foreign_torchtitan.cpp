// TOML of torchtitan: degrees, a schedule, and what is computed again. What a file leaves out is as
// its job_config.py has it, or the classes of its configurations in Python.
#include "study/layout/foreign_reader.h"

namespace sgdsim {
namespace {

using TitanNames = SettingNames;

constexpr int64_t usual_local_batch = 8;
constexpr int64_t usual_length = 2048;

class TorchtitanReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout read() {
    found_.program = "torchtitan";
    Layout& layout = found_.layout;
    const std::string all = "parallelism.";
    layout.tensor = size({all + "tensor_parallel_degree", "training.tensor_parallel_degree"});
    layout.pipeline =
        size({all + "pipeline_parallel_degree", "experimental.pipeline_parallel_degree"});
    layout.context =
        size({all + "context_parallel_degree", "experimental.context_parallel_degree"});
    layout.expert = size({all + "expert_parallel_degree"});
    set_expert_parts(all + "expert_tensor_parallel_degree");
    const auto backend = settings_.find(all + "expert_parallel_comm_backend");
    if (model_.experts && layout.expert > 1 && (backend == "deepep" || backend == "hybridep"))
      layout.dispatch = Dispatch::node;
    set_context(
        {all + "context_parallel_rotate_method", "experimental.context_parallel_rotate_method"});
    layout.sequence_parallel = layout.tensor > 1;
    refuse({all + "module_fqns_per_model_part"});
    const std::string offload = "training.enable_cpu_offload";
    if (flag({offload})) refuse({offload});
    const TitanNames schedule_names = {all + "pipeline_parallel_schedule",
                                       "experimental.pipeline_parallel_schedule"};
    const TitanNames splits = {all + "pipeline_parallel_split_points",
                               "experimental.pipeline_parallel_split_points"};
    if (layout.pipeline > 1) split_.stages = settings_.list(name_of(splits)).value_or(TitanNames{});
    split_.name = name_of(splits);
    schedule(schedule_names, all + "pipeline_parallel_layers_per_stage");
    set_stages_of_torchtitan();
    shard({all + "data_parallel_shard_degree", "training.data_parallel_shard_degree"},
          {all + "data_parallel_replicate_degree", "training.data_parallel_replicate_degree"});
    set_resharding({all + "fsdp_reshard_after_forward", "training.fsdp_reshard_after_forward"});
    checkpoint("activation_checkpoint.");
    layout.kernels = kernels_of_torchtitan();
    found_.sequence = or_usual("training.seq_len", whole({"training.seq_len"}), usual_length);
    const TitanNames per_replica = {"training.local_batch_size", "training.batch_size"};
    const int64_t local = or_usual(per_replica.front(), whole(per_replica), usual_local_batch);
    layout.micro_batch = micro_batch_of(local, name_of(per_replica));
    int64_t batches = 1;
    if (const auto global = whole_if_positive({"training.global_batch_size"}))
      batches = quotient("training.global_batch_size", *global, local * layout.replicas);
    layout.micro_batches = batches * quotient(name_of(per_replica), local, layout.micro_batch);
    note_drains(batches);
    const auto reduces = settings_.find("training.mixed_precision_reduce");
    layout.half_gradients = reduces && *reduces == "bfloat16";
    if (settings_.find("training.mixed_precision_param").value_or("bfloat16") == "float32")
      found_.notes.emplace_back(float32_note);
    if (settings_.find("training.dtype").value_or("float32") != "float32")
      found_.notes.emplace_back(
          "training.dtype is not taken over: weights that are trained and states of the optimizer "
          "are taken to be float32");
    if (!usual_.empty())
      found_.notes.push_back("not said, and taken as torchtitan has it: " + usual_);
    return found_;
  }

 private:
  void note_usual(const std::string& name, const std::string& value) {
    usual_ += (usual_.empty() ? "" : ", ") + name.substr(name.rfind('.') + 1) + " = " + value;
  }
  int64_t or_usual(const std::string& name, const std::optional<int64_t>& given, int64_t usual) {
    if (!given) note_usual(name, std::to_string(usual));
    return given.value_or(usual);
  }
  std::string text_or_usual(const std::string& name, const std::string& usual) {
    const auto given = settings_.find(name);
    if (!given) note_usual(name, "\"" + usual + "\"");
    return given.value_or(usual);
  }
  // Where the degree is still experimental, a batch is so many micro-batches, or as many as there
  // are ranks of the pipeline.
  int64_t micro_batch_of(int64_t local, const std::string& name) {
    const int64_t pipeline = found_.layout.pipeline;
    if (pipeline == 1) return local;
    if (!settings_.find("experimental.pipeline_parallel_degree"))
      return whole({"parallelism.pipeline_parallel_microbatch_size"}, 1, most_micro_batch_size)
          .value_or(1);
    const auto count = whole({"experimental.pipeline_parallel_microbatches"});
    return quotient(name, local, count.value_or(pipeline));
  }
  // Without ranks of their own, experts are split as all matrices are.
  void set_expert_parts(const std::string& name) {
    Layout& layout = found_.layout;
    if (!model_.experts) return;
    const int64_t parts = size({name});
    layout.expert_tensor = layout.expert == 1 ? layout.tensor : parts;
    if (parts > 1 && parts != layout.tensor)
      settings_.fail(name, "is " + std::to_string(parts) +
                               "; torchtitan takes 1 or tensor_parallel_degree, which is " +
                               std::to_string(layout.tensor));
    if (layout.expert_tensor != parts)
      found_.notes.push_back(
          "experts are split like other matrices (etp" + std::to_string(layout.tensor) +
          "), because they have no ranks of their own (expert_parallel_degree 1)");
  }
  void set_context(const TitanNames& names) {
    if (found_.layout.context == 1) return;
    const std::string how = settings_.find_any(names).value_or("allgather");
    if (how != "allgather" && how != "alltoall")
      settings_.fail(name_of(names), unknown_name("method", how, {"allgather", "alltoall"}));
    // Shuffled from rank to rank, block by block.
    found_.layout.context_by = how == "allgather" ? ContextBy::gather : ContextBy::ring;
  }
  // By default weights stay where a pipeline is.
  void set_resharding(const TitanNames& names) {
    Layout& layout = found_.layout;
    const std::string when = settings_.find_any(names).value_or("default");
    if (when != "default" && when != "always" && when != "never")
      settings_.fail(name_of(names), unknown_name("value", when, {"default", "always", "never"}));
    const bool stay = when == "never" || (when == "default" && layout.pipeline > 1);
    layout.keeps_weights = layout.zero == 3 && stay;
  }
  void schedule(const TitanNames& names, const std::string& per_stage) {
    Layout& layout = found_.layout;
    if (layout.pipeline == 1) return;
    refuse_file_of_schedule({"parallelism.pipeline_parallel_schedule_csv",
                             "experimental.pipeline_parallel_schedule_csv"});
    const std::string name = settings_.find_any(names).value_or("1F1B");
    const auto layers = whole({per_stage});
    if (layers && !split_.stages.empty())
      settings_.fail(per_stage, "contradicts " + split_.name + "; leave one of them out");
    if (layers) layout.chunks = chunks_of_torchtitan(per_stage, *layers);
    const bool is_looped =
        name == "Interleaved1F1B" || name == "InterleavedZeroBubble" || name == "ZBVZeroBubble";
    if (is_looped && !layers) layout.chunks = 2;
    if (!split_.stages.empty()) layout.chunks = chunks_of_splits(is_looped);
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
  void refuse_file_of_schedule(const TitanNames& names) {
    if (!settings_.find_any(names).value_or("").empty())
      settings_.fail(name_of(names),
                     "is a file with a schedule of its own, which is not modelled; 1F1B, GPipe, "
                     "Interleaved1F1B and ZBVZeroBubble are");
  }
  // One stage of each rank, or with a schedule that loops as many as there are names for.
  int64_t chunks_of_splits(bool is_looped) {
    const int64_t pipeline = found_.layout.pipeline;
    const auto stages = static_cast<int64_t>(split_.stages.size()) + 1;
    if (stages % pipeline != 0 || (!is_looped && stages != pipeline))
      settings_.fail(split_.name, "makes " + std::to_string(stages) + " stages for pp" +
                                      std::to_string(pipeline) +
                                      (is_looped ? ", which do not divide among its ranks"
                                                 : ", of which each rank has one"));
    return stages / pipeline;
  }
  // Layers less on the first and the last stage; nothing where nobody says it and layers divide.
  std::optional<std::pair<int64_t, int64_t>> less_layers(int64_t parts) {
    const std::string name = "parallelism.pipeline_parallel_";
    const auto first = whole({name + "first_stage_less_layers"}, 0, most_chunk_layers);
    const auto last = whole({name + "last_stage_less_layers"}, 0, most_chunk_layers);
    if (!first && !last && model_.layers % parts == 0) return std::nullopt;
    return std::pair(first.value_or(1), last.value_or(1));
  }
  int64_t chunks_of_torchtitan(const std::string& name, int64_t layers) {
    const int64_t pipeline = found_.layout.pipeline;
    const auto less = less_layers(pipeline);
    if (!less) return quotient(name, quotient(name, model_.layers, pipeline), layers);
    const int64_t units = model_.layers + less->first + less->second;
    const int64_t stages = (units + layers - 1) / layers;
    if (stages % pipeline != 0)
      settings_.fail(name, "makes " + std::to_string(stages) + " stages of " +
                               std::to_string(units) + " layers, first and last stage with " +
                               std::to_string(less->first) + " and " +
                               std::to_string(less->second) + " less, which do not divide by pp" +
                               std::to_string(pipeline));
    return stages / pipeline;
  }
  void set_stages_of_torchtitan() {
    if (found_.layout.pipeline == 1) return;
    if (!split_.stages.empty())
      return set_chunks(split_.name, stages_of_splits(split_.stages, model_.layers));
    const int64_t chunks = chunks_in_all();
    const auto less = less_layers(chunks);
    if (less)
      return set_chunks("parallelism.pipeline_parallel_first_stage_less_layers",
                        stages_of_torchtitan(model_.layers, chunks, less->first, less->second));
    found_.notes.emplace_back(
        "layers are spread evenly, because nothing says otherwise; torchtitan itself takes one "
        "less on the first and on the last stage since 2025, which "
        "pipeline_parallel_first_stage_less_layers = 1 says here");
  }
  void shard(const TitanNames& shards, const TitanNames& copies) {
    Layout& layout = found_.layout;
    const int64_t copied = size(copies);
    const bool is_sharded = replicas_of_shards(shards, copied) > copied || layout.context > 1;
    layout.zero = is_sharded ? 3 : 0;
    if (is_sharded) layout.shard_copies = copied;
  }
  void checkpoint(const std::string& name) {
    const std::string mode = text_or_usual(name + "mode", "selective");
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
    // Configurations in Python have the operations alone.
    const bool is_python = settings_.kind() == FlatSettings::Kind::python;
    const std::string option = text_or_usual(name, is_python ? "op" : "2");
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

  struct SplitPoints {
    std::string name;
    TitanNames stages = {};  // names of their first layers; of the first stage there is none
  };
  SplitPoints split_;
  std::string usual_;  // what the file does not say
};

}  // namespace

ForeignLayout layout_of_torchtitan(const FlatSettings& settings, const GpuCount& gpus,
                                   const Transformer& model) {
  return TorchtitanReader(settings, gpus, model).read();
}

}  // namespace sgdsim
