// Rules over the sizes of a layout.
#include "models/training/training_program.h"

#include "models/training/layer_matrices.h"

namespace sgdsim {
namespace {

// Of the runs that were published with their layout and time: Llama 3 and MLPerf have up to 16
// stages, and two context-parallel ranks for sequences of 8,192 (16 for those of 131,072).
constexpr int64_t usual_stages = 16;
constexpr int64_t usual_context = 2;
constexpr int64_t usual_tokens = 4096;  // of a sequence on a context-parallel rank

bool only_replicates(const Layout& layout) {
  return layout.tensor == 1 && layout.pipeline == 1 && layout.context == 1 && layout.expert == 1;
}

// Whether several ranks have the same head of keys and values.
bool shares_heads(const Transformer& model, const Layout& layout) {
  const OfKinds<int64_t> kinds = model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i) {
    const Mixing mixing = kind_at(i).mixing;
    if (kinds[i] > 0 && kind_at(i).attends() &&
        held_widths(model, layout, mixing).keys > attention_widths(model, mixing).keys)
      return true;
  }
  return false;
}

}  // namespace

std::string_view title_of(TrainingProgram program) {
  switch (program) {
    case TrainingProgram::megatron:
      return "Megatron-LM";
    case TrainingProgram::torchtitan:
      return "torchtitan";
    default:
      return "any program";
  }
}

bool can_do(TrainingProgram program, const Layout& layout) {
  switch (program) {
    case TrainingProgram::megatron:
      return layout.zero <= 1 && !(layout.pairs_passes() && layout.recompute == Recompute::full);
    case TrainingProgram::torchtitan:
      return layout.sequence_parallel == (layout.tensor > 1) &&
             (layout.zero == 3 || (layout.zero == 0 && only_replicates(layout)));
    default:
      return true;
  }
}

Kernels kernels_of(TrainingProgram program) {
  return program == TrainingProgram::torchtitan ? Kernels::compiled : Kernels::fused;
}

std::string family_of(const Layout& layout) {
  std::string text;
  auto add = [&](bool has, const char* name) {
    if (has) text += (text.empty() ? "" : " + ") + std::string(name);
  };
  add(layout.tensor > 1, "tp");
  add(layout.pipeline > 1, "pp");
  add(layout.context > 1, "cp");
  add(layout.expert > 1, "ep");
  const bool has_shards = layout.shards() > 1 || (layout.expert > 1 && layout.expert_shards() > 1);
  add(layout.zero == 3 && has_shards, "fsdp");
  return text.empty() ? "replicas" : text;
}

std::vector<std::string> beyond_published(const Transformer& model, const Layout& layout,
                                          int64_t sequence) {
  std::vector<std::string> all;
  if (layout.pipeline > usual_stages)
    all.push_back("pp" + std::to_string(layout.pipeline) + " (published: up to " +
                  std::to_string(usual_stages) + " stages)");
  if (layout.context > usual_context && sequence / layout.context < usual_tokens)
    all.push_back("cp" + std::to_string(layout.context) + " for sequences of " +
                  std::to_string(sequence) + " (published: up to " + std::to_string(usual_context) +
                  ", or " + std::to_string(usual_tokens) + " tokens a rank)");
  if (layout.zero == 3 && model.experts) all.emplace_back("zero3 of experts (published: none)");
  if (layout.lora.is_used()) all.emplace_back("lora (compared: no tuned step)");
  if (layout.offload.is_used()) all.emplace_back("offload (compared: none)");
  if (layout.expert_tensor > 1) all.emplace_back("etp (compared: none)");
  if (shares_heads(model, layout))
    all.push_back("tp" + std::to_string(layout.tensor) +
                  " for fewer heads of keys and values (compared: none)");
  if (layout.host_launches) all.emplace_back("cuda_graphs=off (compared: none)");
  return all;
}

}  // namespace sgdsim
