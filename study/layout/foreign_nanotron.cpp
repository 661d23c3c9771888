// YAML of nanotron: degrees below `parallelism`, batches below `tokens`.
#include "study/layout/foreign_reader.h"

namespace sgdsim {
namespace {

class NanotronReader : public ForeignReader {
 public:
  using ForeignReader::ForeignReader;

  ForeignLayout read() {
    found_.program = "nanotron";
    Layout& layout = found_.layout;
    const std::string all = "parallelism.";
    layout.tensor = size({all + "tp"});
    layout.pipeline = size({all + "pp"});
    layout.context = size({all + "context_parallel_size"});
    if (size({all + "expert_parallel_size"}) > 1) refuse({all + "expert_parallel_size"});
    replicas_of_shards({all + "dp"}, 1);
    set_ways(all);
    layout.zero = static_cast<int>(whole({"optimizer.zero_stage"}, 0, 1).value_or(0));
    const std::string whole_gradients = "optimizer.accumulate_grad_in_fp32";
    layout.half_gradients = settings_.find(whole_gradients) && !flag({whole_gradients});
    if (flag({all + "recompute_layer"})) layout.recompute = Recompute::full;
    layout.micro_batch = whole({"tokens.micro_batch_size"}, 1, most_micro_batch_size).value_or(1);
    layout.micro_batches =
        whole({"tokens.batch_accumulation_per_replica"}, 1, most_micro_batches).value_or(1);
    found_.sequence = whole({"tokens.sequence_length"});
    return found_;
  }

 private:
  // Which schedule, and how matrices are split.
  void set_ways(const std::string& all) {
    Layout& layout = found_.layout;
    const std::string mode = lower_of(all + "tp_mode", "all_reduce");
    if (mode != "all_reduce" && mode != "reduce_scatter")
      settings_.fail(all + "tp_mode", unknown_name("mode", mode, {"all_reduce", "reduce_scatter"}));
    layout.sequence_parallel = layout.tensor > 1 && mode == "reduce_scatter";
    // Where nothing is said, nanotron ends all forward passes first.
    const std::string engine = lower_of(all + "pp_engine", "afab");
    if (engine != "1f1b" && engine != "afab")
      settings_.fail(all + "pp_engine", unknown_name("schedule", engine, {"1f1b", "afab"}));
    if (layout.pipeline > 1 && engine == "afab") layout.schedule = PipelineSchedule::gpipe;
  }
  std::string lower_of(const std::string& name, const std::string& usual) const {
    std::string text = settings_.find(name).value_or(usual);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
};

}  // namespace

ForeignLayout layout_of_nanotron(const FlatSettings& settings, const GpuCount& gpus,
                                 const Transformer& model) {
  return NanotronReader(settings, gpus, model).read();
}

}  // namespace sgdsim
