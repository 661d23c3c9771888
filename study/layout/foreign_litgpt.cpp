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
      layout.micro_batches = quotient(global.front(), *batch, layout.replicas * layout.micro_batch);
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
  // 0: "auto", which is as many as there are.
  int64_t gpus_of_file() {
    const std::string devices = settings_.find("devices").value_or("auto");
    return devices == "auto" ? 0 : gpus_in_all({"num_nodes"}, {"devices"});
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
