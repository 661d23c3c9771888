// YAML of litgpt: sizes of batches below `train`; weights are shared by the GPUs of a node.
#include "study/layout/foreign_reader.h"

namespace sgdsim {
namespace {

using LitNames = SettingNames;

class LitgptReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout read() {
    found_.program = "litgpt";
    Layout& layout = found_.layout;
    if (settings_.find("lora_r"))
      settings_.fail("lora_r",
                     "is of litgpt's adapters, which are of some matrices of attention "
                     "and not modelled; of all they are, as --layout \"dp8 lora=8\"");
    layout.replicas = replicas(gpus_of_file());
    layout.zero = layout.replicas > 1 ? 3 : 0;
    is_pretraining_ = settings_.find("model_name") || has_below("model.");
    set_copies();
    layout.micro_batch = whole({"train.micro_batch_size"}, 1, most_micro_batch_size).value_or(1);
    const LitNames global = {"train.global_batch_size"};
    if (const auto batch = whole(global))
      layout.micro_batches = micro_batches_of(global.front(), *batch);
    // Fine-tuning computes layers again, training from the beginning does not.
    if (!is_pretraining_) layout.recompute = Recompute::full;
    found_.sequence = whole({"train.max_seq_length"});
    if (!found_.sequence) found_.sequence = whole({"model.block_size"});
    return found_;
  }

 private:
  bool has_below(const std::string& prefix) const {
    const auto found = settings_.values().lower_bound(prefix);
    return found != settings_.values().end() && found->first.starts_with(prefix);
  }
  int64_t nodes() { return size({"num_nodes"}); }
  // "auto" are those of each node that there are. 0: those of the cluster.
  int64_t gpus_of_file() {
    const std::string devices = settings_.find("devices").value_or("auto");
    if (devices != "auto") return gpus_in_all({"num_nodes"}, {"devices"});
    if (!settings_.find("num_nodes") || gpus_.given > 0) return 0;
    if (gpus_.of_node == 0)
      settings_.fail("devices",
                     "is auto, and how many GPUs a node has is not known; write their number, or "
                     "give --gpus");
    const auto gpus = product_up_to(most_gpus, {nodes(), gpus_.of_node});
    if (!gpus) settings_.fail("num_nodes", "they have more GPUs than are modelled");
    found_.notes.push_back("devices is auto: the " + std::to_string(gpus_.of_node) +
                           " GPUs of a node of the cluster, on " + std::to_string(nodes()) +
                           (nodes() == 1 ? " node" : " nodes"));
    return *gpus;
  }
  void set_copies() {
    Layout& layout = found_.layout;
    if (layout.zero == 0 || !is_pretraining_) return;
    if (settings_.find("num_nodes")) {
      if (layout.replicas % nodes() == 0) layout.shard_copies = nodes();
      return;
    }
    found_.notes.emplace_back(
        "num_nodes is not said: all GPUs are taken to share weights, as on one node; on several, "
        "each node has all of them (hsdp)");
  }

  bool is_pretraining_ = false;
};

}  // namespace

ForeignLayout layout_of_litgpt(const FlatSettings& settings, const GpuCount& gpus,
                               const Transformer& model) {
  return LitgptReader(settings, gpus, model).read();
}

}  // namespace sgdsim
