// Settings on command lines, files that others begin with, and commands in place of a file's name.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "study/layout/model_show.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout overridden(const std::string& text, int64_t gpus = 0) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = gpus, .usual = 32},
                        load_model("llama3.1_70b"));
}

const std::string titan = "torchrun --nproc_per_node=8 -m torchtitan.train ";

}  // namespace

TEST_CASE("foreign overrides: settings of Hydra are those of NeMo") {
  const std::string nemo =
      "#!/bin/bash\nNODES=8\npython examples/megatron_gpt_pretraining.py --config-path=conf \\\n"
      "  --config-name=gpt_70b trainer.num_nodes=$NODES trainer.devices=8 \\\n"
      "  model.tensor_model_parallel_size=8 ++model.pipeline_model_parallel_size=4 \\\n"
      "  +model.sequence_parallel=True model.micro_batch_size=1 'model.global_batch_size=512' \\\n"
      "  model.encoder_seq_length=4096 model.peft.peft_scheme=null 'model.data.x=[1.0,/data/y]'";
  // 64 GPUs are two replicas of 8 x 4, each with 256 of 512 sequences.
  const ForeignLayout found = overridden(nemo);
  CHECK(found.program == "NeMo");
  CHECK(to_text(found.layout) == "tp8 pp4 dp2 ga256 zero0 sp");
  CHECK(found.sequence == 4096);
  CHECK(has_note(found, "what gpt_70b sets is not in the file and not read"));
  // NeMo's launcher has a table around them; 4 x 8 GPUs are 16 replicas of two.
  CHECK(to_text(overridden("python3 main.py training=gpt3/5b training.trainer.num_nodes=4 "
                           "training.trainer.devices=8 training.model.micro_batch_size=2 "
                           "training.model.tensor_model_parallel_size=2")
                    .layout) == "tp2 dp16 mbs2 zero0");
  // Where no setting says how many GPUs there are, torchrun does.
  const ForeignLayout bridge = overridden(
      "torchrun --nproc_per_node 8 --nnodes 16 pretrain.py model.tensor_model_parallel_size=8 "
      "train.global_batch_size=512 train.micro_batch_size=1");
  CHECK(bridge.program == "Megatron-Bridge");
  CHECK(to_text(bridge.layout) == "tp8 dp16 ga32 zero1 sp");
  CHECK(has_note(bridge, "what the program's own configuration sets is not in the file"));
  CHECK(holds(refusal_of([&] {
                overridden("#!/bin/bash\npython x.py model.tensor_model_parallel_size=$TP");
              }),
              "f: line 2: model.tensor_model_parallel_size: is $TP, which is not known without"));
  CHECK(holds(refusal_of([&] {
                overridden(
                    "#!/bin/bash\npython x.py model.tensor_model_parallel_size=2 "
                    "trainer.num_nodes=1 trainer.devices=$GPUS");
              }),
              "trainer.devices: is $GPUS, so that the number of GPUs is not known; give --gpus"));
  CHECK(
      holds(refusal_of([&] { overridden("#!/bin/bash\npython x.py --config-name=gpt_70b a.b=1"); }),
            "--config-name: says the layout in a file of its own; give that file"));
}

TEST_CASE("foreign overrides: flags of torchtitan") {
  const ForeignLayout found =
      overridden(titan +
                 "--parallelism.tensor_parallel_degree 4 --training.local_batch_size=2 "
                 "--training.seq-len 4096 --activation_checkpoint.mode=full");
  CHECK(found.program == "torchtitan");
  CHECK(found.layout.tensor == 4);
  CHECK(found.layout.replicas == 2);
  CHECK(found.layout.micro_batch == 2);
  CHECK(found.layout.recompute == Recompute::full);
  CHECK(found.sequence == 4096);
  // Of which its file has the rest.
  for (const std::string degree : {"", " --parallelism.tensor_parallel_degree 4"}) {
    const std::string text = titan + "--job.config_file x.toml" + degree;
    CHECK(holds(refusal_of([&text] { overridden(text); }),
                "f: line 1: --job.config_file: the rest of the layout is in that file, which is "
                "not read; write what the flags change into it and give it, or say the layout in "
                "words"));
  }
}

TEST_CASE("foreign overrides: a file of accelerate is no layout by itself") {
  CHECK(holds(refusal_of([] {
                overridden(
                    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n"
                    "fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"
                    "num_machines: 1\nnum_processes: 8\n");
              }),
              "f: a file of accelerate says how weights are shared, and neither batches nor "
              "sequences, so that it is no layout by itself; say it in words"));
}

TEST_CASE("foreign overrides: files that a file begins with are noted") {
  const std::string sizes = "model:\n  tensor_model_parallel_size: 8\n";
  const ForeignLayout found = overridden(
      "defaults:\n  - base_llama3_70b\n  - model: llama3\n  - optional peft: null\n  - _self_\n"
      "  - override hydra/launcher: x\n_base_: ./common.yaml\n" +
      sizes);
  for (const std::string base : {"base_llama3_70b", "model/llama3", "./common.yaml"}) {
    INFO(base);
    CHECK(has_note(found, "what " + base + " sets is not in the file and not read"));
  }
  CHECK(found.notes.size() == 3);
  CHECK(overridden("defaults: [_self_]\n" + sizes).notes.empty());
  // Of other programs, too.
  CHECK(has_note(overridden("defaults: [base]\nbase_model: x\nsequence_len: 8\n"),
                 "what base sets is not"));
}

TEST_CASE("foreign overrides: a command in place of a file") {
  const Transformer model = load_model("llama3.1_70b");
  const auto asked = [&](const std::string& text) {
    return load_layout(text, "--layout", {.usual = 32}, model);
  };
  const std::string sizes = "--tensor-model-parallel-size 8 --micro-batch-size 1 --bf16";
  // 16 GPUs are two replicas.
  for (const std::string& text :
       {"torchrun --nnodes 2 --nproc_per_node 8 /a/b/pretrain_gpt.py " + sizes,
        "torchrun --nnodes 2 \\\n  --nproc_per_node 8 pretrain_gpt.py \\\n  " + sizes,
        "TP=8 srun -n 16 python pretrain_gpt.py " + sizes}) {
    INFO(text);
    CHECK(to_text(asked(text).layout) == "tp8 dp2 zero0 overlap=off");
  }
  CHECK(to_text(asked("python x.py model.tensor_model_parallel_size=8 trainer.devices=8 "
                      "trainer.num_nodes=2")
                    .layout) == "tp8 dp2 zero0");
  CHECK(refusal_of([&] { asked("tp8 dp4 --"); }) != "");
  CHECK(holds(refusal_of([&] { asked("bash train.sh --nodes 2"); }),
              "--layout: it has no flags of a layout, and starts train.sh, which is not given"));
}

TEST_CASE("foreign overrides: model show takes the sequence of a file") {
  const std::string file =
      "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --micro-batch-size 1 "
      "--global-batch-size 64 --bf16 --seq-length 4096";
  // 32 GPUs are one replica of 8 x 4, with all 64 sequences.
  const std::string words = "tp8 pp4 ga64 zero0 overlap=off";
  const auto shown = [](const std::string& layout, int64_t sequence) {
    ModelShowWords asked_for;
    asked_for.model = "llama3.1_70b";
    asked_for.layout = layout;
    asked_for.sequence = sequence;
    asked_for.gpus = 32;
    return show_model(asked_for);
  };
  for (const auto& [asked, expected] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 4096}, {2048, 2048}}) {
    const ModelShown of_file = shown(file, asked);
    const ModelShown of_words = shown(words, expected);
    CHECK(of_file.sequence == expected);
    CHECK(to_text(*of_file.layout) == to_text(*of_words.layout));
    CHECK(of_file.stages.at(0).total_B() == of_words.stages.at(0).total_B());
  }
  CHECK(shown(words, 0).sequence == 8192);  // the model's own
}

}  // namespace sgdsim
