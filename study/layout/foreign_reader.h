// What the readers of layouts of training programs have in common: settings by their names, and
// what follows from GPUs and layers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/product.h"
#include "study/layout/foreign_gpus.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/foreign_stages.h"

namespace sgdsim {

using SettingNames = std::vector<std::string>;  // of which one may be there

// A reader is one with functions of its own; programs differ in names and rules only.
class ForeignReader {
 public:
  ForeignReader(const FlatSettings& settings, const GpuCount& gpus, const Transformer& model)
      : settings_(settings), gpus_(gpus), model_(model) {}

 protected:
  static SettingNames with(SettingNames names, const SettingNames& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  }
  // Settings that change the layout in a way that is not modelled.
  void refuse(const SettingNames& names) {
    for (const std::string& name : names)
      if (const auto value = settings_.find(name); value && *value != "none")
        settings_.fail(name,
                       "is not modelled; without it, or with --layout \"tp8 pp2 ...\", the "
                       "rest can be");
  }
  std::optional<int64_t> whole(const SettingNames& names, int64_t least = 1,
                               int64_t most = most_global_batch) {
    const auto value = settings_.find_any(names);
    if (!value) return std::nullopt;
    const std::string name = name_of(names);
    if (*value == "auto") settings_.fail(name, "is \"auto\"; say the number");
    return settings_.whole(name, *value, least, most);
  }
  std::optional<int64_t> whole_if_positive(const SettingNames& names) {
    const auto value = settings_.find_any(names);
    return value && *value == "-1" ? std::nullopt : whole(names);
  }
  int64_t size(const SettingNames& names, int64_t usual = 1) {
    return whole(names, 1, most_gpus).value_or(usual);
  }
  bool flag(const SettingNames& names) {
    const auto value = settings_.find_any(names);
    return value && settings_.flag(name_of(names), *value);
  }
  // The one that is there.
  std::string name_of(const SettingNames& names) const {
    for (const std::string& name : names)
      if (settings_.has_any({name})) return name;
    return names.front();
  }
  // Of names for different things, of which the first that is there counts.
  std::optional<std::string> first(const SettingNames& names) const {
    return settings_.find(name_of(names));
  }
  int64_t quotient(const std::string& name, int64_t whole, int64_t by) {
    if (whole % by != 0)
      settings_.fail(
          name, "is " + std::to_string(whole) + ", which does not divide by " + std::to_string(by));
    return whole / by;
  }
  // Whether exchanges of experts lie under these, where that is modelled.
  void hide_experts(ExpertsUnder under, const SettingNames& names) {
    if (!flag(names)) return;
    Layout hidden = found_.layout;
    hidden.experts = under;
    if (hidden_experts_misfit(model_, hidden).empty()) found_.layout = hidden;
  }
  // Of weights that replicas gather for each other, where a setting has that done under nothing.
  void note_gathers(const SettingNames& names, bool is_under_passes) {
    if (found_.layout.zero != 1 || !found_.layout.overlaps || is_under_passes) return;
    found_.notes.push_back(names.front() +
                           " is not said or off, which is not modelled where gradients are "
                           "exchanged under passes: weights are taken to be gathered there, too");
  }
  void check_size() const { check_sizes(found_.layout, settings_.file()); }
  int64_t replicas(int64_t in_file = 0) {
    check_size();
    const Layout& layout = found_.layout;
    const int64_t gpus = gpus_.given > 0 ? gpus_.given : in_file > 0 ? in_file : launched();
    const int64_t of_replica = layout.tensor * layout.pipeline * layout.context;
    if (gpus % of_replica != 0)
      throw InputError(settings_.file(), "tp x pp x cp is " + std::to_string(of_replica) +
                                             ", by which " + std::to_string(gpus) +
                                             " GPUs do not divide" + from_);
    return gpus / of_replica;
  }
  // Where no settings say it: those of the script's launch, of its job, or of the cluster.
  int64_t launched() {
    const bool is_script = settings_.kind() == FlatSettings::Kind::flags;
    if (const int64_t gpus = is_script ? gpus_of_launch(settings_) : 0; gpus > 0) return gpus;
    const int64_t of_job = is_script ? gpus_of_job(settings_) : 0;
    const int64_t gpus = of_job > 0 ? of_job : gpus_.usual;
    if (gpus == 0)
      throw InputError(settings_.file(), "it does not say on how many GPUs; give --gpus");
    const std::string whose = of_job > 0 ? "those of the job, " : "those of the cluster, ";
    const std::string why =
        of_job > 0 ? "as its lines of #SBATCH say" : "because " + gpus_unsaid(settings_);
    if (is_script)
      found_.notes.push_back("GPUs: " + whose + std::to_string(gpus) + ", " + why +
                             "; --gpus says how many");
    from_ = "; they are " + whose + why + ": --gpus N says how many there are";
    return gpus;
  }
  // Shards times copies of them; of all GPUs where nobody says how many shards.
  int64_t replicas_of_shards(const SettingNames& shards, int64_t copies) {
    const auto sharded = whole_if_positive(shards);
    Layout& layout = found_.layout;
    layout.replicas = sharded ? *sharded * copies : replicas();
    check_size();
    if (sharded && gpus_.given > 0 && layout.replicas != replicas())
      settings_.fail(name_of(shards), "with " + std::to_string(layout.replicas) +
                                          " replicas there are " + std::to_string(layout.gpus()) +
                                          " GPUs, but --gpus is " + std::to_string(gpus_.given));
    return layout.replicas;
  }
  // 0 where the user says how many there are, whatever the file has.
  int64_t gpus_in_all(const SettingNames& nodes, const SettingNames& per_node) {
    return gpus_.given > 0 ? 0 : gpus_of_nodes(settings_, nodes, per_node);
  }
  void batches(const SettingNames& micro, const SettingNames& global, int64_t gpus) {
    Layout& layout = found_.layout;
    layout.replicas = replicas(gpus);
    layout.micro_batch = whole(micro, 1, most_micro_batch_size).value_or(1);
    if (const auto batch = whole(global))
      layout.micro_batches = micro_batches_of(name_of(global), *batch);
  }
  // Of each replica, where a step of all of them has so many sequences.
  int64_t micro_batches_of(const std::string& name, int64_t batch) {
    const Layout& layout = found_.layout;
    const int64_t at_once = layout.replicas * layout.micro_batch;
    if (batch % at_once != 0 && !from_.empty())
      settings_.fail(name, "is " + std::to_string(batch) + ", which does not divide by " +
                               std::to_string(at_once) + ", dp x mbs on " +
                               std::to_string(layout.gpus()) + " GPUs" + from_);
    return quotient(name, batch, at_once);
  }
  // Of a program that runs a schedule to its end for each of its batches of a replica.
  void note_drains(int64_t batches) {
    if (found_.layout.pipeline > 1 && batches > 1)
      found_.notes.push_back("the pipeline is taken to drain once a step; it drains " +
                             std::to_string(batches) +
                             " times, once for each local batch, which takes longer");
  }
  // Within what a layout may have: the product is asked for before it is checked.
  int64_t chunks_in_all() const {
    check_size();
    return found_.layout.chunks_in_all();
  }
  void set_chunks(const std::string& name, const ForeignStages& stages) {
    if (!stages.wrong.empty()) settings_.fail(name, stages.wrong);
    found_.layout.stages = listed(stages.layers);
    const std::vector<LayerRun>& runs = found_.layout.stages.list;
    const bool are_alike = runs.size() == 1 && runs[0].layers * runs[0].chunks == model_.layers;
    if (are_alike) found_.layout.stages = {};
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
    if (!found_.layout.stages.are_even())
      return std::max<int64_t>(1, longest_chunk(model_.layers, found_.layout));
    const int64_t units = model_.layers + (found_.layout.ends_are_layers ? 2 : 0);
    return std::max<int64_t>(1, units / found_.layout.chunks_in_all());
  }

  const FlatSettings& settings_;
  GpuCount gpus_;
  const Transformer& model_;
  ForeignLayout found_;

 private:
  std::string from_;  // who says how many GPUs there are, where no one is asked; empty: the file
};

// Said of files that train in float32, or say nothing of precision where that means it.
extern const char* const float32_note;
// Settings that change a step, and that no word of a layout says, as notes; and sizes of a model
// other than the one that is priced.
void note_unpriced(const FlatSettings& settings, const Transformer& model, ForeignLayout& found);

// Of one program each.
ForeignLayout layout_of_torchtitan(const FlatSettings& settings, const GpuCount& gpus,
                                   const Transformer& model);
ForeignLayout layout_of_deepspeed(const FlatSettings& settings, const GpuCount& gpus,
                                  const Transformer& model);
ForeignLayout layout_of_automodel(const FlatSettings& settings, const GpuCount& gpus,
                                  const Transformer& model);
ForeignLayout layout_of_megatron(const FlatSettings& settings, const GpuCount& gpus,
                                 const Transformer& model);
ForeignLayout layout_of_mlperf(const FlatSettings& settings, const GpuCount& gpus,
                               const Transformer& model);
ForeignLayout layout_of_axolotl(const FlatSettings& settings, const GpuCount& gpus,
                                const Transformer& model);
ForeignLayout layout_of_litgpt(const FlatSettings& settings, const GpuCount& gpus,
                               const Transformer& model);
ForeignLayout layout_of_nanotron(const FlatSettings& settings, const GpuCount& gpus,
                                 const Transformer& model);
// "NeMo", "Megatron-Bridge", "Megatron-LM" or "LLaMA-Factory", which have the same names.
ForeignLayout layout_of_nemo(const std::string& program, const FlatSettings& settings,
                             const GpuCount& gpus, const Transformer& model);

}  // namespace sgdsim
