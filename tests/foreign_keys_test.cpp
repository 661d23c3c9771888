// Keys of files of other programs: those that may stand beside each other with other values, those
// that are null, and those that stand twice.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

using KeyRows = std::vector<std::pair<std::string, std::string>>;

ForeignLayout keyed(const std::string& text) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = 8}, load_model("llama3.1_8b"));
}

void check_keyed(const KeyRows& rows) {
  for (const auto& row : rows) {
    INFO(row.first);
    CHECK(to_text(keyed(row.first).layout) == row.second);
  }
}

void check_twice(const KeyRows& rows) {
  for (const auto& row : rows) {
    INFO(row.first);
    CHECK(sgdsim::refusal_of([&row] { keyed(row.first); }) == row.second);
  }
}

const std::string axolotl = "base_model: x\nsequence_len: 2048\nmicro_batch_size: 2\n";

}  // namespace

TEST_CASE("foreign keys: settings that say different things") {
  const std::string flags = "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 ";
  check_keyed({{flags + "--bf16 --lr 1e-4 --train-iters 100 --global-batch-size 8",
                "dp8 zero0 overlap=off"},
               {flags + "--lr 1e-4 --train-samples 100", "dp8 zero0 overlap=off"},
               {flags + "--context-parallel-size 1 --ds-sequence-parallel-size 4",
                "cp4 dp2 zero0 context=ulysses overlap=off"}});
  CHECK(has_note(keyed(flags + "--lr 1e-4 --train-iters 100"), "precision is that of float32"));
  CHECK(!has_note(keyed(flags + "--bf16 --lr 1e-4 --train-iters 100"), "precision is that"));
  CHECK(holds(
      refusal_of([&] { keyed(flags + "--context-parallel-size 2 --ds-sequence-parallel-size 4"); }),
      "--ds-sequence-parallel-size: is not modelled together with"));
  // PyTorch's names and numbers of strategies, beside the list that Hugging Face's Trainer takes.
  const std::string listed = axolotl + "fsdp: [full_shard, auto_wrap]\nfsdp_config:\n  ";
  check_keyed(
      {{listed + "fsdp_sharding_strategy: FULL_SHARD\n", "dp8 mbs2 zero3"},
       {listed + "fsdp_sharding_strategy: 1\n", "dp8 mbs2 zero3"},
       {axolotl + "fsdp:\n  - auto_wrap\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n",
        "dp8 mbs2 zero2"},
       {axolotl + "fsdp: [auto_wrap]\n", "dp8 mbs2 zero3"}});
  CHECK(holds(refusal_of([&] { keyed(listed + "fsdp_sharding_strategy: SHARD_GRAD_OP\n"); }),
              "fsdp: is [full_shard, auto_wrap], but fsdp_config.fsdp_sharding_strategy is "
              "SHARD_GRAD_OP"));
}

TEST_CASE("foreign keys: settings that take the place of others") {
  // Megatron-Bridge: what mixed_precision and comm_overlap say replaces what ddp says, and either
  // of two settings turns a distributed optimizer on.
  const std::string bridge =
      "model:\n  tensor_model_parallel_size: 1\n  sequence_parallel: false\ntrain:\n"
      "  micro_batch_size: 1\nddp:\n  use_distributed_optimizer: ";
  check_keyed(
      {{bridge + "false\n  grad_reduce_in_fp32: true\nmixed_precision:\n"
                 "  grad_reduce_in_fp32: false\noptimizer:\n  use_distributed_optimizer: true\n",
        "dp8 zero1 gradients=bf16"},
       {bridge + "false\n  overlap_grad_reduce: true\ncomm_overlap:\n"
                 "  overlap_grad_reduce: false\n",
        "dp8 zero0 overlap=off"}});
  // NeMo 1 says the precision of a step apart from that of other things.
  CHECK(to_text(keyed("trainer:\n  precision: bf16-mixed\nprecision: 16\nmodel:\n"
                      "  tensor_model_parallel_size: 2\n")
                    .layout) == "tp2 dp4 zero0");
}

TEST_CASE("foreign keys: a method that is null leaves its rank without effect") {
  const std::string nemo =
      "model:\n  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n  peft:\n";
  const std::string rank = "    lora_tuning:\n      adapter_dim: 16\n";
  check_keyed({{nemo + "    peft_scheme: null\n" + rank, "tp2 dp4 zero0"},
               {nemo + "    peft_scheme:\n" + rank, "tp2 dp4 zero0"},
               {nemo + "    peft_scheme: lora\n" + rank, "tp2 dp4 zero0 lora=16"},
               {nemo + rank, "tp2 dp4 zero0 lora=16"},
               // axolotl trains all weights where nothing is said.
               {axolotl + "lora_r: 16\n", "dp8 mbs2 zero0"},
               {axolotl + "adapter:\nlora_r: 16\n", "dp8 mbs2 zero0"},
               {axolotl + "lora_r: 16\nadapter:\n", "dp8 mbs2 zero0"},
               {axolotl + "adapter: lora\nlora_r: 16\n", "dp8 mbs2 zero0 lora=16"}});
  CHECK(to_text(keyed("{\"model\": {\"tensor_model_parallel_size\": 2, \"peft\": {\"peft_scheme\": "
                      "null, \"lora_tuning\": {\"adapter_dim\": 16}}}}")
                    .layout) == "tp2 dp4 zero0");
  // `megatron sft` trains all weights unless --train_type is lora, other than `swift sft`.
  const std::string swift =
      "#!/bin/bash\nmegatron sft --tensor_model_parallel_size 2 --global_batch_size 8 ";
  check_keyed(
      {{swift + "--lora_rank 8", "tp2 dp4 ga2 zero1 overlap=off"},
       {swift + "--lora_rank 8 --train_type lora", "tp2 dp4 ga2 zero1 overlap=off lora=8"}});
}

TEST_CASE("foreign keys: nanotron without an engine ends all forward passes first") {
  // ParallelismArgs.__post_init__ takes AllForwardAllBackwardPipelineEngine.
  const std::string nano =
      "parallelism:\n  dp: 4\n  tp: 1\n  pp: 2\ntokens:\n"
      "  micro_batch_size: 1\n  batch_accumulation_per_replica: 8\n";
  check_keyed({{nano, "pp2 dp4 ga8 zero0 schedule=gpipe"},
               {nano + "x:\n  pp_engine: 1f1b\n", "pp2 dp4 ga8 zero0 schedule=gpipe"},
               {"parallelism:\n  pp_engine: 1f1b\n" + nano.substr(nano.find("  dp")),
                "pp2 dp4 ga8 zero0"}});
}

TEST_CASE("foreign keys: what stands twice is refused where it does") {
  const std::string in_model = "f: line 3: the key \"model.tensor_model_parallel_size\" occurs ";
  const std::string size = "tensor_model_parallel_size: ";
  check_twice(
      {{"model:\n  " + size + "2\n  " + size + "4\n", in_model + "twice in one table"},
       {"model:\n  " + size + "2\ntrainer:\n  x: 1\nmodel:\n  y: 1\n",
        "f: line 5: the key \"model\" occurs twice in one table"},
       {"model: {" + size + "2,\n  x: {a: 1},\n  x: 4}\n",
        "f: line 1: the key \"model.x\" occurs twice in one table"},
       {"model:\n  " + size + "2\nl:\n  - a: 1\n    a: 2\n",
        "f: line 5: the key \"l.-.a\" occurs twice in one table"},
       {"[parallelism]\ntensor_parallel_degree = 2\ntensor_parallel_degree = 4\n",
        "f: line 3: the key \"parallelism.tensor_parallel_degree\" occurs twice in one table"},
       {"[parallelism]\ntensor_parallel_degree = 2\n[training]\n[parallelism]\n",
        "f: line 4: the table [parallelism] occurs twice"},
       {"[parallelism]\na = {b = 1, b = 2}\n",
        "f: line 2: the key \"parallelism.a.b\" occurs twice in one table"}});
}

TEST_CASE("foreign keys: what may stand twice") {
  const std::string degree = "[parallelism]\ntensor_parallel_degree = 2\n";
  for (const std::string& text :
       {std::string("a: &a\n  x: 1\nb: &b\n  x: 2\nmodel:\n  <<: *a\n  <<: *b\n  x: 3\n"
                    "  tensor_model_parallel_size: 2\n"),
        std::string("model:\n  tensor_model_parallel_size: 2\nl:\n- a: 1\n  b: {c: 1}\n- a: 2\n"
                    "  b: {c: 2}\n"),
        std::string("x: 1\n---\nx: 2\nmodel:\n  tensor_model_parallel_size: 2\n"),
        degree + "[[x]]\na = 1\n[x.y]\nb = 1\n[[x]]\na = 2\n[x.y]\nb = 2\n",
        "[parallelism.more]\nx = 1\n" + degree + "z.a = 1\nz.b = 2\n"}) {
    INFO(text);
    CHECK(keyed(text).layout.tensor == 2);
  }
}

}  // namespace sgdsim
