// Recipes of Megatron-Bridge in Python and as YAML, fine-tuning and offload of NeMo, and what
// variables stand for, by hand.
#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

// Two functions as recipes are written, one that begins as the other, and constants.
const std::string recipes = R"(# Copyright
import torch
from megatron.bridge.recipes.common import _pretrain_common

LENGTH_16K: int = 16384

def llama_common(rank: int = 3) -> ConfigContainer:
    """Not a setting: cfg.model.context_parallel_size = 64"""
    cfg = _pretrain_common()
    cfg.model = provider(
        num_layers=80,
        seq_length=LENGTH_16K,
    )
    cfg.dataset.blend = None  # Ex: (["path"], 0.2), tensor_model_parallel_size = 4
    cfg.model.seq_length = LENGTH_16K
    cfg.ddp.use_distributed_optimizer = True
    cfg.ddp.grad_reduce_in_fp32 = False
    cfg.model.recompute_granularity = None
    return cfg

def llama_70b_pretrain_config() -> ConfigContainer:
    cfg = llama_common()
    cfg.model.tensor_model_parallel_size = 4
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.virtual_pipeline_model_parallel_size = 5
    cfg.model.context_parallel_size = 2
    cfg.model.sequence_parallel = True
    cfg.train.global_batch_size = 128
    cfg.train.micro_batch_size = 1
    return cfg

def llama_70b_peft_config(scheme: str = "lora") -> ConfigContainer:
    cfg = llama_70b_pretrain_config()
    cfg.peft = LoRA(dim=16, target_modules=["linear_qkv", "linear_proj"])
    if scheme == "lora":
        cfg.peft.dim = 8
    return cfg

def llama_70b_other_config(scheme: str = "lora") -> ConfigContainer:
    cfg = llama_70b_pretrain_config()
    for scheme in schemes():
        cfg.train.micro_batch_size = 2
    return cfg

def llama_70b_branch_config(scheme: str) -> ConfigContainer:
    cfg = llama_70b_pretrain_config()
    if scheme == "lora":
        cfg.model.context_parallel_size = 1
    return cfg
)";

// Tables of base configurations, which replace() changes.
const std::string tables = R"(from dataclasses import replace

BASE_70B = WorkloadBaseConfig(
    num_gpus=64,
    global_batch_size=128,
)
H100_BF16 = replace(
    BASE_70B,
    tensor_model_parallel_size=4,
    pipeline_model_parallel_size=4,
    context_parallel_size=2,
    virtual_pipeline_model_parallel_size=5,
)
H100_ALSO = H100_BF16
GB200 = replace(
    BASE_70B,
    micro_batch_size=2,
    use_megatron_fsdp=True,
    cpu_offloading_num_layers=20,
)
)";

ForeignLayout of_recipe(const std::string& text, const std::string& recipe, int64_t gpus) {
  return foreign_layout(FlatSettings::read(text, "f", recipe), {.given = gpus},
                        load_model("llama3.1_70b"));
}
std::string words_of(const std::string& text, const std::string& recipe, int64_t gpus) {
  return to_text(of_recipe(text, recipe, gpus).layout);
}

}  // namespace

TEST_CASE("recipes: functions of Megatron-Bridge, with what they begin with") {
  // 32 GPUs of a replica; 64 are two, and 128 / 2 = 64.
  const ForeignLayout found = of_recipe(recipes, "llama_70b_pretrain_config", 64);
  CHECK(found.program == "Megatron-Bridge");
  CHECK(to_text(found.layout) == "tp4 pp4 cp2 vp5 dp2 ga64 zero1 sp gradients=bf16");
  CHECK(found.sequence == 16384);
  CHECK(std::find(found.notes.begin(), found.notes.end(),
                  "what _pretrain_common sets is not in the file and not read") !=
        found.notes.end());
  CHECK(words_of(recipes, "llama_70b_peft_config", 64) ==
        "tp4 pp4 cp2 vp5 dp2 ga64 zero1 sp gradients=bf16 lora=8:attention");
  CHECK(words_of(tables, "H100_BF16", 0) == "tp4 pp4 cp2 vp5 dp2 ga64 zero1 sp");
  CHECK(words_of(tables, "H100_ALSO", 0) == "tp4 pp4 cp2 vp5 dp2 ga64 zero1 sp");
  const std::string script =
      "from recipes import llama\ncfg = llama()\n"
      "cfg.model.tensor_model_parallel_size = 2\n";
  CHECK(words_of(script, "", 8) == "tp2 dp4 zero1 sp");
  // 20 of 80 layers are a quarter; 64 replicas of 2 sequences.
  CHECK(words_of(tables, "GB200", 0) == "dp64 mbs2 zero3 offload=activations:25");
}

TEST_CASE("recipes: what is not known is asked for") {
  struct Row {
    std::string text;
    std::string recipe;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {recipes, "", "it has 4 recipes; say which one, as FILE.py:llama_70b_branch_config"},
           {recipes, "llama_common", "unknown recipe \"llama_common\""},
           {recipes, "llama_70b_branch_config", "context_parallel_size: is set below an if"},
           {recipes, "llama_70b_other_config", "micro_batch_size: is set below an if"},
           {"import torch\nx = 1\n", "", "no function or call in it sets"}}) {
    INFO(row.recipe);
    const std::string refusal = refusal_of([&] { of_recipe(row.text, row.recipe, 64); });
    INFO(refusal);
    CHECK(refusal.find(row.sentence) != std::string::npos);
  }
}

TEST_CASE("recipes: a file that is named with one of its recipes") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string file = folder.name() + "/recipes.py";
  std::ofstream(file) << tables;
  const Ran ran = run_sgdsim({"model", "show", "llama3.1_70b", "--layout", file + ":H100_BF16"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("read as Megatron-Bridge: tp4 pp4 cp2 vp5 dp2 ga64 zero1 sp") !=
        std::string::npos);
}

// The reader works in steps of the text, whatever it holds.
TEST_CASE("recipes: texts that nobody writes are read in no time") {
  std::string equals = "def f():\n    cfg.model.tensor_model_parallel_size = 2\n    cfg.x = (";
  for (int i = 0; i < 200'000; ++i) equals += "a=";
  std::string circle = "import x\nA = replace(B, micro_batch_size=1)\nB = replace(A, x=1)\n";
  std::string many = "import x\n";
  for (int i = 0; i < 5000; ++i)
    many += "A" + std::to_string(i + 1) + " = replace(A" + std::to_string(i) +
            ", micro_batch_size=1)\n";
  CHECK(words_of(equals, "", 2) == "tp2 zero1 sp");
  CHECK(words_of(circle, "A", 2) == "dp2 zero1");
  CHECK(words_of(many, "A5000", 2) == "dp2 zero1");
}

TEST_CASE("recipes: configurations of Megatron-Bridge and NeMo as YAML") {
  struct Row {
    std::string reason;
    std::string text;
    std::string layout;
  };
  const std::string bridge = R"(model:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 2
train:
  micro_batch_size: 2
  global_batch_size: 64
)";
  const std::string nemo = R"(model:
  tensor_model_parallel_size: 2
  sequence_parallel: true
  micro_batch_size: 1
  global_batch_size: 32
)";
  for (const Row& row : std::vector<Row>{
           {"tables of Megatron-Bridge", bridge, "tp2 pp2 dp4 mbs2 ga8 zero1 sp"},
           {"below ConfigContainer",
            "ConfigContainer:\n  ddp:\n    use_megatron_fsdp: true\n    "
            "data_parallel_sharding_strategy: optim_grads\n  model:\n    "
            "tensor_model_parallel_size: 2\n    sequence_parallel: true\n",
            "tp2 dp8 zero2 sp"},
           {"recomputation",
            bridge + "ddp:\n  overlap_grad_reduce: false\nrecompute_granularity: "
                     "full\nrecompute_method: block\nrecompute_num_layers: 3\n",
            "tp2 pp2 dp4 mbs2 ga8 zero1 sp recompute=block:3 overlap=off"},
           {"adapters of NeMo", nemo + R"(  peft:
    peft_scheme: "lora"
    lora_tuning:
      adapter_dim: 16
      target_modules: ['attention_qkv', 'attention_dense']
)",
            "tp2 dp8 ga4 zero0 sp lora=16:attention"},
           {"adapters in a list of lines, of Megatron-Bridge", bridge + R"(peft:
  _target_: megatron.bridge.peft.lora.LoRA
  dim: 8
  target_modules:
  - linear_fc1
  - linear_fc2
)",
            "tp2 pp2 dp4 mbs2 ga8 zero1 sp lora=8:mlp"},
           {"adapters without a rank", nemo + "  peft:\n    peft_scheme: lora\n",
            "tp2 dp8 ga4 zero0 sp lora=32"},
           {"none", nemo + "  peft:\n    peft_scheme: null\n", "tp2 dp8 ga4 zero0 sp"},
           {"the distributed optimizer of Megatron-LM, in NeMo 1",
            nemo + "  optim:\n    name: mcore_distributed_optim\n",
            "tp2 dp8 ga4 zero1 sp overlap=off"},
           {"and under the passes",
            nemo + "  optim:\n    name: mcore_distributed_optim\n    overlap_grad_sync: true\n",
            "tp2 dp8 ga4 zero1 sp"},
           {"shards of PyTorch, of NeMo 1", nemo + "  fsdp: True\n", "tp2 dp8 ga4 zero3 sp"},
           {"without those of weights", nemo + "  fsdp: True\n  fsdp_sharding_strategy: 'grad'\n",
            "tp2 dp8 ga4 zero2 sp"},
           {"shards of PyTorch, of Megatron-Bridge",
            bridge + "dist:\n  use_torch_fsdp2: true\nddp:\n  use_distributed_optimizer: false\n",
            "tp2 pp2 dp4 mbs2 ga8 zero3 sp"},
           {"scores that are written", nemo + "  attention_backend: AttnBackend.unfused\n",
            "tp2 dp8 ga4 zero0 sp attention=unfused"},
           {"layers on the host, 8 of 80",
            nemo + "  cpu_offloading: true\n  "
                   "cpu_offloading_num_layers: 8\n",
            "tp2 dp8 ga4 zero0 sp offload=activations:10"},
           {"the optimizer on the host", nemo + "optimizer:\n  optimizer_cpu_offload: true\n",
            "tp2 dp8 ga4 zero0 sp offload=optimizer"},
           {"beside, above, and an environment", R"(model:
  tensor_model_parallel_size: ${oc.env:TP,2}
  global_batch_size: ${.sizes.batch}
  sizes:
    batch: ${..batches}
    micro: 4
  batches: 64
  micro_batch_size: ${model.sizes.micro}
)",
            "tp2 dp8 mbs4 ga2 zero0"}}) {
    INFO(row.reason);
    CHECK(words_of(row.text, "", 16) == row.layout);
  }
}

// The published step of LoRA: eight GPUs, 32 sequences, tp2 pp4 with ten stages of two layers a
// rank.
TEST_CASE("recipes: configurations of NeMo AutoModel") {
  const std::string start = R"(step_scheduler:
  global_batch_size: 32
  local_batch_size: 4
distributed:
  strategy: fsdp2
  dp_size: none
)";
  const std::string pipeline = start + R"(  tp_size: 2
  pp_size: 4
  sequence_parallel: true
  pipeline:
    pp_schedule: interleaved1f1b
    pp_microbatch_size: 1
    layers_per_stage: 2
peft:
  _target_: nemo_automodel.components._peft.lora.PeftConfig
  target_modules: "*_proj"
  dim: 16
)";
  CHECK(words_of(pipeline, "", 8) == "tp2 pp4 vp10 ga32 zero0 sp lora=16");
  CHECK(words_of(start, "", 8) == "dp8 mbs4 zero3");
  CHECK(words_of(start + "  dp_replicate_size: 2\n  activation_checkpointing: true\n", "", 8) ==
        "dp8 mbs4 zero3 hsdp2 recompute=full");
  CHECK(words_of("step_scheduler:\n  local_batch_size: 2\ndistributed:\n  _target_: "
                 "nemo_automodel.components.distributed.ddp.DDPManager\n",
                 "", 8) == "dp8 mbs2 zero0");
  // Packed sequences, or those of the data.
  const auto sequence = [&](const std::string& more) {
    return of_recipe(start + more, "", 8).sequence.value_or(0);
  };
  CHECK(sequence("") == 0);
  CHECK(sequence("dataset:\n  seq_length: 2048\n") == 2048);
  CHECK(sequence("packed_sequence:\n  packed_sequence_size: 4096\n"
                 "dataset:\n  seq_length: 2048\n") == 4096);
  CHECK(sequence("packed_sequence:\n  packed_sequence_size: 0\ndataset:\n  seq_length: 2048\n") ==
        2048);
  const std::string refusal = refusal_of(
      [&] { of_recipe(start + "  pp_size: 2\n  pipeline:\n    pp_schedule: dualpipev\n", "", 8); });
  CHECK(refusal.find("unknown schedule \"dualpipev\"") != std::string::npos);
}

TEST_CASE("recipes: fine-tuning and offload that are not modelled") {
  const std::string nemo = "model:\n  tensor_model_parallel_size: 2\n";
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"  peft:\n    peft_scheme: ptuning\n", "peft_scheme: is not modelled; lora is"},
           {"  peft:\n    peft_scheme: dora\n", "peft_scheme: is not modelled; lora is"},
           {"  peft:\n    peft_scheme: lora\n    lora_tuning:\n      target_modules: "
            "[attention_qkv]\n",
            "lora=16:attention"},
           {"  cpu_offloading_weights: true\n", "weights that the host keeps"},
           {"  fine_grained_activation_offloading: true\n", "single operations"}}) {
    const std::string whole = nemo + text;
    const std::string refusal = refusal_of([&] { of_recipe(whole, "", 16); });
    INFO(refusal);
    CHECK(refusal.find(sentence) != std::string::npos);
  }
}

TEST_CASE("recipes: what variables of scripts stand for") {
  for (const auto& [script, value] : std::vector<std::pair<std::string, std::string>>{
           {"TP=${TP:-8}\nrun --size $TP", "8"},
           {"TP=${TP-8}\nrun --size ${TP}", "8"},
           {"A=4\nTP=${TP:-$A}\nrun --size $TP", "4"},
           {"A=4\nTP=${TP:-${A}}\nrun --size $((TP * 2))", "8"},
           {"NODES=${NODES:-2}\nG=$(( NODES * ${PER_NODE:-8} ))\nrun --size $G", "16"},
           {"A=$B\nB=$A\nrun --size $B", "$B"}}) {
    CHECK(FlatSettings::read(script, "f").find("size").value_or("nothing") == value);
  }
}

}  // namespace sgdsim
