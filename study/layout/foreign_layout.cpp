// Which program a file is of: by names that no other one has, or that stand in its tables.
#include "study/layout/foreign_layout.h"

#include "study/layout/foreign_launch.h"
#include "study/layout/foreign_reader.h"
#include "study/layout/foreign_unread.h"

namespace sgdsim {
namespace {

using Kind = FlatSettings::Kind;

bool has_any(const FlatSettings& settings, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return settings.has(name); });
}

bool has_prefix(const FlatSettings& settings, const std::string& prefix) {
  const auto found = settings.values().lower_bound(prefix);
  return found != settings.values().end() && found->first.starts_with(prefix);
}

// A degree of Megatron's, wherever it lies; micro-batches alone have other programs, too.
bool has_sizes(const FlatSettings& settings) {
  for (const auto& [name, value] : settings.values())
    if (name.ends_with("_model_parallel_size") || name.ends_with("expert_tensor_parallel_size"))
      return true;
  return has_any(settings, {"model.micro_batch_size"});
}

bool is_axolotl(const FlatSettings& settings) {
  return has_any(settings, {"sequence_len"}) ||
         (has_any(settings, {"base_model"}) &&
          has_any(settings, {"micro_batch_size", "gradient_accumulation_steps"}));
}

bool is_factory(const FlatSettings& settings) {
  return has_any(settings, {"finetuning_type", "cutoff_len"}) &&
         has_any(settings, {"model_name_or_path", "per_device_train_batch_size"});
}

bool is_deepspeed(const FlatSettings& settings) {
  return has_prefix(settings, "zero_optimization.") ||
         has_any(settings,
                 {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu",
                  "pipe-parallel-size", "pipe_parallel_size"});
}

bool is_litgpt(const FlatSettings& settings) {
  return has_any(settings, {"train.micro_batch_size", "train.global_batch_size"}) &&
         has_any(settings, {"model.block_size", "model.name", "model_name", "checkpoint_dir",
                            "train.max_seq_length", "train.lr_warmup_steps"});
}

bool is_titan(const FlatSettings& settings) {
  return has_any(settings,
                 {"training.local_batch_size", "parallelism.tensor_parallel_degree",
                  "parallelism.pipeline_parallel_degree", "parallelism.data_parallel_shard_degree",
                  "parallelism.expert_parallel_degree"});
}

// Of those with the names of Megatron, by its tables and by what only Megatron-LM counts.
std::string program_of(const FlatSettings& settings) {
  if (is_factory(settings)) return "LLaMA-Factory";
  if (has_prefix(settings, "model_parallel.") || has_prefix(settings, "ARGS.") ||
      has_any(settings, {"train_iters", "train_samples"}))
    return "Megatron-LM";
  return has_prefix(settings, "train.") || has_prefix(settings, "ddp.") ? "Megatron-Bridge"
                                                                        : "NeMo";
}

[[noreturn]] void refuse_unknown(const FlatSettings& settings) {
  if (is_factory(settings))
    throw InputError(settings.file(),
                     "LLaMA-Factory's file has no degree of Megatron's, so that its layout is what "
                     "another file says, of deepspeed or FSDP; give that one, and --sequence, or "
                     "say it in words, as --layout \"dp8 zero3 ga8\"");
  if (has_any(settings, {"distributed_type", "compute_environment"}))
    throw InputError(settings.file(),
                     "a file of accelerate says how weights are shared, and neither batches nor "
                     "sequences, so that it is no layout by itself; say it in words, as --layout "
                     "\"dp8 zero3 ga8\", and --sequence");
  if (const std::string script = script_started(settings.words()); !script.empty())
    throw InputError(settings.file(), "it has no flags of a layout, and starts " + script +
                                          ", which is not given: where the flags are there, give "
                                          "that file, and --gpus");
  const std::string end =
      settings.end_line() == 0
          ? ""
          : "; the script ends at line " + std::to_string(settings.end_line()) + ", by exit";
  throw InputError(settings.file(),
                   "expected a layout: a file of schema " + std::string(layout_schema) +
                       ", flags of Megatron-LM, YAML of NeMo, axolotl, LLaMA-Factory, nanotron or "
                       "litgpt, a recipe of Megatron-Bridge, JSON of DeepSpeed or TOML of "
                       "torchtitan" +
                       end);
}

ForeignLayout layout_of_tables(const FlatSettings& settings, const GpuCount& gpus,
                               const Transformer& model) {
  if (has_prefix(settings, "distributed.") && has_prefix(settings, "step_scheduler."))
    return layout_of_automodel(settings, gpus, model);
  if (is_axolotl(settings)) return layout_of_axolotl(settings, gpus, model);
  if (has_sizes(settings)) return layout_of_nemo(program_of(settings), settings, gpus, model);
  if (is_deepspeed(settings)) return layout_of_deepspeed(settings, gpus, model);
  if (has_prefix(settings, "tokens.") && has_prefix(settings, "parallelism."))
    return layout_of_nanotron(settings, gpus, model);
  if (is_litgpt(settings)) return layout_of_litgpt(settings, gpus, model);
  if (is_titan(settings)) return layout_of_torchtitan(settings, gpus, model);
  refuse_unknown(settings);
}

// Of commands with settings of tables: "model.micro_batch_size=1", "--training.seq_len 4096".
ForeignLayout layout_of_dotted(const FlatSettings& settings, const GpuCount& gpus,
                               const Transformer& model) {
  ForeignLayout unread;
  check_unread(settings, unread);
  ForeignLayout found = has_sizes(settings)
                            ? layout_of_nemo(program_of(settings), settings, gpus, model)
                            : layout_of_torchtitan(settings, gpus, model);
  found.notes.insert(found.notes.end(), unread.notes.begin(), unread.notes.end());
  return found;
}

ForeignLayout layout_of_flags(const FlatSettings& settings, const GpuCount& gpus,
                              const Transformer& model) {
  if (has_any(settings,
              {"tensor-model-parallel-size", "pipeline-model-parallel-size", "micro-batch-size",
               "context-parallel-size", "expert-model-parallel-size"}))
    return layout_of_megatron(settings, gpus, model);
  if (has_sizes(settings) || is_titan(settings)) return layout_of_dotted(settings, gpus, model);
  if (has_any(settings, {"TENSOR_MODEL_PARALLEL", "PIPELINE_MODEL_PARALLEL"}))
    return layout_of_mlperf(settings, gpus, model);
  ForeignLayout none;
  check_unread(settings, none);
  refuse_unknown(settings);
}

ForeignLayout read_layout_of(const FlatSettings& settings, const GpuCount& gpus,
                             const Transformer& model) {
  switch (settings.kind()) {
    case Kind::flags:
      return layout_of_flags(settings, gpus, model);
    case Kind::toml:
      if (has_prefix(settings, "parallelism.") || has_prefix(settings, "training."))
        return layout_of_torchtitan(settings, gpus, model);
      break;
    case Kind::yaml:
    case Kind::json:
      return layout_of_tables(settings, gpus, model);
    case Kind::python:
      if (has_prefix(settings, "parallelism.") || settings.has("training.local_batch_size"))
        return layout_of_torchtitan(settings, gpus, model);
      return layout_of_nemo("Megatron-Bridge", settings, gpus, model);
  }
  refuse_unknown(settings);
}

// What another command gives, in words.
std::string text_of_other(const FlatSettings& settings, const GpuCount& gpus,
                          const Transformer& model, const ForeignLayout& first) {
  try {
    const ForeignLayout other = read_layout_of(settings, gpus, model);
    if (other.layout == first.layout && other.sequence == first.sequence) return "";
    return to_text(other.layout) +
           (other.sequence == first.sequence
                ? ""
                : " with sequences of " + std::to_string(other.sequence.value_or(0)));
  } catch (const InputError&) {
    return "a layout that cannot be read";
  }
}

// Of a script with several commands that train: which of them is meant is clear where all give the
// same.
void check_others(const FlatSettings& settings, const GpuCount& gpus, const Transformer& model,
                  const ForeignLayout& first) {
  for (const FlatSettings& other : settings.others()) {
    const std::string text = text_of_other(other, gpus, model, first);
    if (text.empty()) continue;
    throw InputError(settings.file(),
                     "the commands in line " + std::to_string(settings.line()) + " and line " +
                         std::to_string(other.line()) +
                         " have flags of a layout, and which of them trains is not clear (" +
                         to_text(first.layout) + ", or " + text +
                         "); give the file without the other");
  }
}

// Of torchtitan's classes in Python, what they begin with is known.
void note_missing(const FlatSettings& settings, ForeignLayout& found) {
  if (found.program == "torchtitan") return;
  for (const std::string& name : settings.missing())
    found.notes.push_back("what " + name + " sets is not in the file and not read");
}

}  // namespace

ForeignLayout foreign_layout(const FlatSettings& settings, const GpuCount& gpus,
                             const Transformer& model) {
  ForeignLayout found = read_layout_of(settings, gpus, model);
  check_sizes(found.layout, settings.file());
  check_others(settings, gpus, model, found);
  note_unpriced(settings, model, found);
  note_missing(settings, found);
  if (settings.end_line() > 0)
    found.notes.push_back("the script ends at line " + std::to_string(settings.end_line()) +
                          ", by exit: what stands behind it is not read");
  return found;
}

}  // namespace sgdsim
