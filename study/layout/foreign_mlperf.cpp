// Variables of NVIDIA's scripts for MLPerf, which other scripts hand to NeMo.
#include "study/layout/foreign_reader.h"
#include "study/layout/megatron_reader.h"

namespace sgdsim {
namespace {

class MlperfReader : public MegatronReader {
 public:
  using MegatronReader::MegatronReader;

  ForeignLayout read() {
    found_.program = "MLPerf";
    Layout& layout = found_.layout;
    layout.tensor = size({"TENSOR_MODEL_PARALLEL"});
    layout.pipeline = size({"PIPELINE_MODEL_PARALLEL"});
    layout.context = size({"CONTEXT_PARALLEL"});
    layout.expert = size({"EXPERT_PARALLEL"});
    const SettingNames chunks = {"INTERLEAVED_PIPELINE"};  // 0: none
    layout.chunks = std::max<int64_t>(1, whole(chunks, 0, most_gpus).value_or(1));
    set_stages_of({{"ASYM_PP_EMBED"}, {"ASYM_PP_LOSS"}, {}, {}, {}, chunks, {}});
    const SettingNames sequence = {"SEQ_PARALLEL"};
    const SettingNames optimizer = {"USE_DIST_OPTIMIZER"};
    layout.sequence_parallel =
        layout.tensor > 1 && (!settings_.has_any(sequence) || flag(sequence));
    layout.zero = !settings_.has_any(optimizer) || flag(optimizer) ? 1 : 0;
    const SettingNames nodes = {"DGXNNODES"};
    const SettingNames devices = {"DGXNGPU"};
    if (gpus_.given == 0 && settings_.has_any(nodes) && !settings_.has_any(devices))
      settings_.fail("DGXNNODES",
                     "needs DGXNGPU, the GPUs of a node, which config_common.sh may "
                     "say; give --gpus");
    layout.replicas = replicas(settings_.has_any(nodes) ? gpus_in_all(nodes, devices) : 0);
    layout.micro_batch = whole({"MICRO_BATCH_SIZE"}, 1, most_micro_batch_size).value_or(1);
    if (const auto sequences = whole({"MINIBS"}))
      layout.micro_batches = quotient("MINIBS", *sequences, layout.micro_batch);
    found_.notes.emplace_back(
        "scripts that it sources are not read; what it does not say is taken to be sp with tp, and "
        "a distributed optimizer (zero1)");
    return found_;
  }
};

}  // namespace

ForeignLayout layout_of_mlperf(const FlatSettings& settings, const GpuCount& gpus,
                               const Transformer& model) {
  return MlperfReader(settings, gpus, model).read();
}

}  // namespace sgdsim
