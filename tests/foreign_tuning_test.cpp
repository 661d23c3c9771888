// Layouts of programs for fine-tuning, and of others with files of their own: axolotl,
// LLaMA-Factory, ms-swift, slime, litgpt, nanotron. Replicas are GPUs / (tp x pp x cp), by hand.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

struct TunedRow {
  std::string text;
  std::string layout;
};

ForeignLayout tuned(const std::string& text, int64_t gpus = 0,
                    const std::string& model = "llama3.1_8b") {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = gpus, .usual = 32},
                        load_model(model));
}

void check_tuned(const std::vector<TunedRow>& rows, int64_t gpus,
                 const std::string& model = "llama3.1_8b") {
  for (const TunedRow& row : rows) {
    INFO(row.text);
    CHECK(to_text(tuned(row.text, gpus, model).layout) == row.layout);
  }
}

void check_refused(const std::vector<TunedRow>& rows, int64_t gpus) {
  for (const TunedRow& row : rows) {
    INFO(row.text);
    CHECK(holds(sgdsim::refusal_of([&] { tuned(row.text, gpus); }), row.layout));
  }
}

}  // namespace

TEST_CASE("foreign tuning: axolotl") {
  const std::string base = "base_model: x\nsequence_len: 2048\nmicro_batch_size: 2\n";
  const std::string fsdp = base + "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: ";
  const std::string lora = base + "lora_r: 16\nadapter: ";
  check_tuned({{base, "dp16 mbs2 zero0"},
               {base + "gradient_accumulation_steps: 4\n", "dp16 mbs2 ga4 zero0"},
               {base + "batch_size: 8\n", "dp16 mbs2 ga4 zero0"},  // of a replica
               {fsdp + "true\n", "dp16 mbs2 zero3"},
               {fsdp + "false\n", "dp16 mbs2 zero3 reshard=off"},
               {fsdp + "true\ntensor_parallel_size: 2\ndp_shard_size: 4\ndp_replicate_size: 2\n",
                "tp2 dp8 mbs2 zero3 hsdp2"},
               {fsdp + "true\ndp_replicate_size: 2\n", "dp16 mbs2 zero3 hsdp2"},
               {base + "fsdp: [full_shard, auto_wrap]\n", "dp16 mbs2 zero3"},
               {base + "fsdp: [shard_grad_op]\n", "dp16 mbs2 zero2"},
               {base + "deepspeed: deepspeed_configs/zero2.json\n", "dp16 mbs2 zero2"},
               {base + "gradient_checkpointing: true\n", "dp16 mbs2 zero0 recompute=full"},
               {base + "context_parallel_size: 2\n", "cp2 dp8 mbs2 zero0"},
               {base + "context_parallel_size: 2\nsample_packing: true\n",
                "cp2 dp8 mbs2 zero0 context=gather"},
               {lora + "lora\n", "dp16 mbs2 zero0 lora=16"},
               {lora + "lora\nlora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n",
                "dp16 mbs2 zero0 lora=16:attention"},
               {lora + "lora\nlora_target_modules: [q_proj]\nlora_target_linear: true\n",
                "dp16 mbs2 zero0 lora=16"},
               {lora + "qlora\n", "dp16 mbs2 zero0 lora=16 frozen=nf4"},
               {lora + "lora\nload_in_4bit: true\n", "dp16 mbs2 zero0 lora=16 frozen=nf4"}},
              16);
  CHECK(tuned(base).sequence == 2048);
  CHECK(tuned(base).program == "axolotl");
  CHECK(has_note(tuned(base + "deepspeed: x/zero3_bf16.json\n"), "is taken to be zero3"));
  CHECK(has_note(tuned(base + "optimizer: paged_adamw_8bit\n"), "optimizer is not taken over"));
  // 4 x 2 replicas of two ranks are 16 GPUs, and 32 others.
  check_refused(
      {{fsdp + "true\ntensor_parallel_size: 2\ndp_shard_size: 4\n",
        "f: line 8: dp_shard_size: with 4 replicas there are 8 GPUs, but --gpus is 16"},
       {base + "fsdp: [hybrid_shard]\n", "say it with dp_replicate_size"},
       {base + "fsdp_config:\n  offload_params: true\n", "is not modelled"},
       {base + "deepspeed: zero3_bf16_cpuoffload_all.json\n", "by its name the host keeps"},
       {base + "deepspeed: other.json\n", "its name does not say a stage of ZeRO"},
       {base + "gradient_checkpointing: offload\n", "the host keeps so are not modelled"},
       {lora + "lora\nload_in_8bit: true\n", "load_in_8bit: is not modelled"},
       {lora + "lora\npeft_use_dora: true\n", "peft_use_dora: is not modelled"},
       {lora + "lora\nlora_target_modules: [q_proj, v_proj]\n",
        "adapters of some matrices of attention"}},
      16);
}

TEST_CASE("foreign tuning: LLaMA-Factory, with degrees of Megatron's") {
  const std::string base =
      "model_name_or_path: x\ncutoff_len: 4096\nper_device_train_batch_size: 1\n"
      "gradient_accumulation_steps: 8\n";
  const std::string ranks =
      "pipeline_model_parallel_size: 4\nexpert_model_parallel_size: 2\n"
      "use_distributed_optimizer: true\noverlap_grad_reduce: true\n"
      "recompute_granularity: full\nfinetuning_type: ";
  // 8 GPUs in four stages are 2 replicas, each with 8 sequences.
  const ForeignLayout found = tuned(base + ranks + "full\nlora_rank: 4\n", 8, "qwen3_30b_a3b");
  CHECK(to_text(found.layout) == "pp4 ep2 dp2 ga8 zero1 recompute=full");
  CHECK(found.layout.batch() == 16);
  CHECK(found.sequence == 4096);
  CHECK(found.program == "LLaMA-Factory");
  const std::string tensor = base + "tensor_model_parallel_size: 2\nfinetuning_type: ";
  check_tuned({{tensor + "full\n", "tp2 dp4 ga8 zero0 overlap=off"},
               {tensor + "lora\n", "tp2 dp4 ga8 zero0 overlap=off lora=8"},
               {tensor + "lora\nlora_rank: 4\nlora_target: all\nquantization_bit: 4\n",
                "tp2 dp4 ga8 zero0 overlap=off lora=4 frozen=nf4"}},
              8);
  check_refused({{base + "finetuning_type: full\ndeepspeed: z3.json\n",
                  "LLaMA-Factory's file has no degree of Megatron's"},
                 {tensor + "freeze\n", "finetuning_type: is not modelled; lora is"},
                 {tensor + "lora\nquantization_bit: 8\n", "quantization_bit: is not modelled"}},
                8);
}

TEST_CASE("foreign tuning: ms-swift, with its own defaults") {
  const std::string launch = "#!/bin/bash\nNPROC_PER_NODE=8 \\\nmegatron sft \\\n  ";
  const std::string some = launch + "--tensor_model_parallel_size 2 --max_length 2048 ";
  // Eight GPUs are four replicas; 16 sequences where nothing is said.
  check_tuned({{some, "tp2 dp4 ga4 zero1 overlap=off"},
               {some + "--use_distributed_optimizer false --global_batch_size 8",
                "tp2 dp4 ga2 zero0 overlap=off"},
               {some + "--train_type lora --lora_rank 4 --target_modules all-linear",
                "tp2 dp4 ga4 zero1 overlap=off lora=4"},
               {some + "--train_type lora", "tp2 dp4 ga4 zero1 overlap=off lora=8"},
               {some + "--train_type full --lora_rank 4", "tp2 dp4 ga4 zero1 overlap=off"},
               {some + "--recompute_granularity none", "tp2 dp4 ga4 zero1 overlap=off"},
               {some + "--attention_backend unfused",
                "tp2 dp4 ga4 zero1 recompute=selective attention=unfused overlap=off"},
               {"#!/bin/bash\nNNODES=2 NPROC_PER_NODE=4 megatron pt --micro_batch_size 1",
                "dp8 ga2 zero1 overlap=off"},
               {"#!/bin/bash\ntorchrun --nproc_per_node 4 swift/cli/_megatron/sft.py "
                "--micro_batch_size 1",
                "dp4 ga4 zero1 overlap=off"}},
              0);
  const std::string experts = "--expert_model_parallel_size 4 --micro_batch_size 8 ";
  check_tuned({{some + experts + "--global_batch_size 32", "tp2 ep4 dp4 mbs8 zero1 overlap=off"}},
              0, "qwen3_30b_a3b");
  CHECK(tuned(some).sequence == 2048);
  CHECK(tuned(some).program == "ms-swift");
  CHECK(has_note(tuned(some), "global_batch_size is not said, and 16 in ms-swift"));
}

TEST_CASE("foreign tuning: slime") {
  const std::string some =
      "#!/bin/bash\nray start --head --num-gpus 2\nA=(--use-lora --lora-rank 32 "
      "--lora-target-preset moe_language_all)\nray job submit -- python3 train.py "
      "--actor-num-nodes 2 --actor-num-gpus-per-node 8 --tensor-model-parallel-size 4 "
      "--global-batch-size 64 --use-dynamic-batch-size ";
  // 16 GPUs are four replicas, each with 16 sequences.
  check_tuned({{some, "tp4 dp4 ga16 zero1 overlap=off"},
               {some + "${A[@]}", "tp4 dp4 ga16 zero1 overlap=off lora=32"}},
              0);
  CHECK(has_note(tuned(some), "as fit into --max-tokens-per-gpu are not modelled"));
  CHECK(has_note(tuned(some), "without rollouts"));
}

TEST_CASE("foreign tuning: litgpt and nanotron") {
  const std::string lit =
      "train:\n  global_batch_size: 512\n  micro_batch_size: 4\n  max_seq_length: ";
  const std::string model = "null\nmodel:\n  name: x\n  block_size: 1024\n";
  // 512 / (16 x 4) = 8.
  check_tuned({{lit + model, "dp16 mbs4 ga8 zero3"},
               {lit + model + "num_nodes: 2\n", "dp16 mbs4 ga8 zero3 hsdp2"},
               {lit + "64\ncheckpoint_dir: x\n", "dp16 mbs4 ga8 zero3 recompute=full"}},
              16);
  check_tuned({{lit + model + "num_nodes: 2\ndevices: 4\n", "dp8 mbs4 ga16 zero3 hsdp2"}}, 0);
  // "auto" are those of a node.
  const auto on_nodes = [&](const std::string& nodes, int64_t of_node) {
    return foreign_layout(FlatSettings::read(lit + model + "devices: auto\n" + nodes, "f"),
                          {.usual = 32, .of_node = of_node}, load_model("llama3.1_8b"));
  };
  CHECK(to_text(on_nodes("num_nodes: 2\n", 8).layout) == "dp16 mbs4 ga8 zero3 hsdp2");
  CHECK(to_text(on_nodes("num_nodes: 1\n", 8).layout) == "dp8 mbs4 ga16 zero3");
  CHECK(to_text(on_nodes("", 8).layout) == "dp32 mbs4 ga4 zero3");
  CHECK(has_note(on_nodes("num_nodes: 2\n", 8), "the 8 GPUs of a node of the cluster, on 2 nodes"));
  CHECK(
      holds(refusal_of([&] { on_nodes("num_nodes: 2\n", 0); }), "devices: is auto, and how many"));
  CHECK(tuned(lit + model).sequence == 1024);
  CHECK(tuned(lit + "64\ncheckpoint_dir: x\n").sequence == 64);
  CHECK(has_note(tuned(lit + model), "num_nodes is not said"));
  const std::string nano =
      "parallelism:\n  dp: 4\n  tp: 2\n  pp: 2\n  tp_mode: REDUCE_SCATTER\n  pp_engine: afab\n"
      "tokens:\n  micro_batch_size: 2\n  batch_accumulation_per_replica: 8\n"
      "  sequence_length: 512\noptimizer:\n  zero_stage: 1\n  accumulate_grad_in_fp32: ";
  check_tuned({{nano + "true\n", "tp2 pp2 dp4 mbs2 ga8 zero1 sp schedule=gpipe"},
               {nano + "false\n", "tp2 pp2 dp4 mbs2 ga8 zero1 sp schedule=gpipe gradients=bf16"}},
              0);
  CHECK(tuned(nano + "true\n").sequence == 512);
  check_refused(
      {{lit + "64\nlora_r: 8\n", "lora_r: is of litgpt's adapters"},
       {nano + "true\n", "there are 16 GPUs, but --gpus is 8"},
       {"parallelism:\n  dp: 8\n  expert_parallel_size: 2\ntokens:\n  x: 1\n",
        "expert_parallel_size: is not modelled"},
       {"train:\n  global_batch_size: 512\n  micro_batch_size: 4\n", "f: expected a layout"}},
      8);
}

}  // namespace sgdsim
