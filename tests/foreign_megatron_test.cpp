// Flags of Megatron-LM and of programs that hand them on: what is computed again, schedules without
// a bubble, GPUs that a launch names; and tables with Megatron's names.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout megatron_read(const std::string& text, int64_t gpus = 16,
                            const std::string& file = "f") {
  return foreign_layout(FlatSettings::read(text, file), {.given = gpus, .usual = 32},
                        load_model("llama3.1_8b"));
}

std::string megatron_text(const std::string& text, int64_t gpus = 16,
                          const std::string& file = "f") {
  return to_text(megatron_read(text, gpus, file).layout);
}

const std::string two_ranks = "--tensor-model-parallel-size 2 ";

}  // namespace

// DeepEP and HybridEP lie below the dispatcher "flex"; their names alone switch nothing, but in
// tables of benchmarks.
TEST_CASE("foreign programs: tokens that go to their experts by nodes") {
  const std::string flags = "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1 ";
  const std::string nemo = "model:\n  expert_model_parallel_size: 8\n  micro_batch_size: 1\n";
  const std::string bridge =
      "train:\n  micro_batch_size: 2\nmodel:\n  tensor_model_parallel_size: 1\n"
      "  expert_model_parallel_size: 8\n  moe_token_dispatcher_type: ";
  const std::string table =
      "from dataclasses import replace\n\nBASE = WorkloadBaseConfig(\n    num_gpus=16,\n    "
      "global_batch_size=16,\n"
      "    expert_model_parallel_size=8,\n    moe_flex_dispatcher_backend=";
  const std::string titan = "[training]\nlocal_batch_size = 1\n[parallelism]\nexpert_parallel_";
  const std::string automodel =
      "step_scheduler:\n  local_batch_size: 1\ndistributed:\n  strategy: fsdp2\n  ep_size: 8\n"
      "model:\n  backend:\n    ";
  const auto goes_by_nodes = [](const std::string& text) {
    INFO(text);
    const Layout layout =
        foreign_layout(FlatSettings::read(text, "f"), {.given = 16}, load_model("qwen3_30b_a3b"))
            .layout;
    return layout.dispatch == Dispatch::node;
  };
  for (const std::string& text : std::vector<std::string>{
           flags + "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
           flags + "--moe-token-dispatcher-type flex --moe-enable-deepep",
           nemo + "  moe_token_dispatcher_type: flex\n", bridge + "flex\n",
           table + "\"deepep\",\n)\n",
           titan + "degree = 8\nexpert_parallel_comm_backend = \"hybridep\"",
           automodel + "dispatcher: deepep\n", automodel + "enable_deepep: true\n"})
    CHECK(goes_by_nodes(text));
  for (const std::string& text : std::vector<std::string>{
           flags, flags + "--moe-token-dispatcher-type alltoall",
           flags + "--moe-flex-dispatcher-backend deepep",
           std::string("--moe-token-dispatcher-type flex --tensor-model-parallel-size 1"),
           bridge + "alltoall\n  moe_flex_dispatcher_backend: deepep\n",
           titan + "degree = 8\nexpert_parallel_comm_backend = \"standard\"", table + "None,\n)\n",
           automodel + "dispatcher: torch\n"})
    CHECK_FALSE(goes_by_nodes(text));
  const ForeignLayout gathered =
      foreign_layout(FlatSettings::read(flags + "--moe-token-dispatcher-type allgather", "f"),
                     {.given = 16}, load_model("qwen3_30b_a3b"));
  CHECK(has_note(gathered, "moe-token-dispatcher-type allgather is priced as alltoall"));
}

TEST_CASE("foreign programs: no layers that predict further tokens") {
  for (const std::string& text :
       {two_ranks + "--mtp-num-layers 0",
        std::string("model:\n  tensor_model_parallel_size: 2\n  mtp_num_layers: 0\n")}) {
    CHECK_FALSE(megatron_read(text).layout.predictions.has_value());
    // Of a model that has one by itself.
    Transformer model = load_model("llama3.1_8b");
    model.predictions = 1;
    const ForeignLayout none = foreign_layout(FlatSettings::read(text, "f"), {.given = 16}, model);
    CHECK(none.layout.predictions == 0);
  }
}

TEST_CASE("foreign Megatron: modules of its own write scores, and are computed again") {
  const std::string flags = two_ranks + "--overlap-grad-reduce ";
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"--transformer-impl local", " attention=unfused"},
           {"--transformer-impl local --attention-backend auto", " attention=unfused"},
           {"--transformer-impl local --use-flash-attn", ""},
           {"--transformer-impl local --use-flash-attn --use-mcore-models", " attention=unfused"},
           {"--transformer-impl transformer_engine", ""},
           {"--transformer-impl local --recompute-activations",
            " recompute=selective attention=unfused"},
           // It takes the place of another granularity.
           {"--attention-backend unfused --recompute-activations --recompute-granularity full",
            " recompute=selective attention=unfused"},
           {"--recompute-granularity none", ""}}) {
    INFO(row.first);
    CHECK(megatron_text(flags + row.first) == "tp2 dp8 zero0" + row.second);
  }
  CHECK(has_note(megatron_read(flags + "--recompute-activations"),
                 "selective recomputation has no effect"));
}

TEST_CASE("foreign Megatron: schedules without a bubble") {
  const std::string stages = "--pipeline-model-parallel-size 4 --overlap-grad-reduce ";
  const std::string v = stages + "--zero-bubble-v-schedule --enable-zero-bubble ";
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {stages + "--enable-zero-bubble", "pp4 dp4 zero0 schedule=zb1p"},
           {stages + "--enable-zero-bubble --zero-bubble-max-pending-backward 4",
            "pp4 dp4 zero0 schedule=zb1p"},
           {stages + "--enable-zero-bubble --zero-bubble-max-pending-backward auto",
            "pp4 dp4 zero0 schedule=zb1p"},
           {v, "pp4 vp2 dp4 zero0 schedule=zbv"},
           {v + "--zero-bubble-max-pending-backward 8", "pp4 vp2 dp4 zero0 schedule=zbv"},
           {v + "--zero-bubble-v-schedule-mem-setup zb", "pp4 vp2 dp4 zero0 schedule=zbv"},
           {two_ranks + "--enable-zero-bubble", "tp2 dp8 zero0 overlap=off"}}) {
    INFO(row.first);
    CHECK(megatron_text(row.first) == row.second);
  }
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {v + "--zero-bubble-v-schedule-mem-setup half",
            "--zero-bubble-v-schedule-mem-setup: is half, which is not modelled"},
           {stages + "--enable-zero-bubble --zero-bubble-max-pending-backward 8",
            "--zero-bubble-max-pending-backward: is 8, and schedules with more passes"},
           {stages + "--enable-zero-bubble --num-virtual-stages-per-pipeline-rank 2",
            "--enable-zero-bubble: is not modelled with 2 virtual stages"},
           {v + "--num-virtual-stages-per-pipeline-rank 4", "goes with two virtual stages"},
           {stages + "--enable-1f1b-v", "--enable-1f1b-v: is not modelled"}}) {
    INFO(row.first);
    CHECK(holds(refusal_of([&] { megatron_read(row.first); }), row.second));
  }
}

TEST_CASE("foreign Megatron: GPUs that a launch names") {
  const auto replicas_of = [](const std::string& launch) {
    return megatron_read("#!/bin/bash\nN=4\n" + launch + " --micro-batch-size 1", 0)
        .layout.replicas;
  };
  for (const auto& row : std::vector<std::pair<std::string, int64_t>>{
           {"mpirun -np 128 python pretrain.py", 128},
           {"mpirun --allow-run-as-root -np 16 python pretrain.py", 16},
           {"/usr/bin/mpirun -np $((N * 8)) --npernode 8 python3 pretrain.py", 32},
           {"mpiexec -n 64 python pretrain.py -n 2", 64},
           {"srun -n16 python pretrain.py", 16},
           {"srun --ntasks=24 python pretrain.py", 24},
           {"srun --nodes=2 --ntasks-per-node 8 python pretrain.py", 16},
           {"srun -N 3 --ntasks-per-node=8 python pretrain.py", 24},
           // One process of each node starts others.
           {"srun -n 2 torchrun --nnodes 2 --nproc-per-node 4 pretrain.py", 8},
           {"mpirun -np 2 bash node.sh", 32},
           {"mpirun -np $NP python pretrain.py", 32},
           {"python pretrain.py -n 8", 32}}) {
    INFO(row.first);
    CHECK(replicas_of(row.first) == row.second);
  }
  const std::string none = "#!/bin/bash\npython pretrain.py --micro-batch-size 1";
  CHECK(has_note(megatron_read(none, 0), "GPUs: those of the cluster, 32, because"));
  CHECK_FALSE(has_note(megatron_read(none, 8), "GPUs: those"));
  CHECK_FALSE(has_note(megatron_read("#!/bin/bash\nsrun -n 8 python pretrain.py "
                                     "--micro-batch-size 1",
                                     0),
                       "GPUs: those"));
}

TEST_CASE("foreign Megatron: what no word says, and sizes of another model, are noted") {
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {two_ranks + "--use-precision-aware-optimizer", "use-precision-aware-optimizer is not"},
           {two_ranks + "--exp-avg-dtype bf16", "exp-avg-dtype is not taken over"},
           {two_ranks + "--optimizer sgd", "optimizer is not taken over"},
           {two_ranks + "--hybrid-context-parallel", "hybrid-context-parallel is not modelled"},
           {"[training]\nseq_len = 64\n[optimizer]\nearly_step_in_backward = true",
            "optimizer.early_step_in_backward is not modelled"},
           {"export FP8=True\nexport TENSOR_MODEL_PARALLEL=2\n", "FP8 is not taken over"},
           {two_ranks + "--num-layers 14",
            "num-layers is 14, but the model that is priced has 32, which counts"},
           {two_ranks + "--num-query-groups 4",
            "num-query-groups is 4, but the model that is priced has 8"},
           {two_ranks + "--ffn-hidden-size 11008",
            "ffn-hidden-size is 11008, but the model that is priced has 14336"},
           {"model:\n  tensor_model_parallel_size: 2\n  hidden_size: 8192\n",
            "model.hidden_size is 8192, but the model that is priced has 4096"}}) {
    INFO(row.first);
    CHECK(has_note(megatron_read(row.first), row.second));
  }
  const std::string usual = two_ranks +
                            "--optimizer adam --exp-avg-dtype fp32 --num-layers 32 "
                            "--hidden-size 4096 --micro-batch-size 1";
  CHECK(megatron_read(usual).notes.empty());
  CHECK_FALSE(has_note(megatron_read("export FP8=False\nexport TENSOR_MODEL_PARALLEL=2\n"), "FP8"));
}

TEST_CASE("foreign layouts: types of weights and gradients, and what is gathered under nothing") {
  const std::string whole =
      two_ranks + "--lr 1e-4 --use-distributed-optimizer --global-batch-size 64 ";
  const auto is_half = [](const std::string& text) {
    return megatron_read(text).layout.half_gradients;
  };
  CHECK_FALSE(is_half(whole + "--bf16"));
  CHECK(is_half(whole + "--bf16 --grad-reduce-in-bf16"));
  CHECK(is_half(whole + "--fp16"));
  CHECK_FALSE(is_half(whole + "--fp16 --accumulate-allreduce-grads-in-fp32"));
  const char* float32 = "float32, or not said";
  CHECK(has_note(megatron_read(whole), float32));
  CHECK_FALSE(has_note(megatron_read(whole + "--bf16"), float32));
  CHECK_FALSE(has_note(megatron_read(two_ranks), float32));  // flags alone
  CHECK(has_note(megatron_read("trainer:\n  precision: 32\n" +
                               std::string("model:\n  tensor_model_parallel_size: 2\n")),
                 float32));
  CHECK(has_note(megatron_read("[training]\nseq_len = 64\nmixed_precision_param = \"float32\"\n"),
                 float32));
  const char* gathers = "weights are taken to be gathered there";
  CHECK(has_note(megatron_read(whole + "--overlap-grad-reduce"), gathers));
  CHECK_FALSE(
      has_note(megatron_read(whole + "--overlap-grad-reduce --overlap-param-gather"), gathers));
  CHECK_FALSE(has_note(megatron_read(whole), gathers));
  CHECK(has_note(megatron_read(whole + "--tp-comm-overlap"), "lie under nothing"));

  const auto deepspeed = [](const std::string& more) {
    return megatron_read(R"({"train_batch_size": 16, "zero_optimization": {"stage": 2}, )" + more +
                         "}");
  };
  const std::string bf16 = R"("bf16": {"enabled": true})";
  CHECK(deepspeed(bf16).layout.half_gradients);
  CHECK_FALSE(deepspeed(bf16 + R"(, "communication_data_type": "fp32")").layout.half_gradients);
  CHECK_FALSE(
      deepspeed(bf16 + R"(, "data_types": {"grad_accum_dtype": "fp32"})").layout.half_gradients);
  // As files for a Trainer have it, which says the type itself.
  CHECK(deepspeed(R"("bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"})")
            .layout.half_gradients);
  const auto offloaded = [&](const std::string& part) {
    return megatron_read(R"({"train_batch_size": 16, )" + bf16 +
                         R"(, "zero_optimization": {"stage": 2, "offload_optimizer": {"device":
                            "cpu", "ratio": )" +
                         part + "}}}");
  };
  CHECK(has_note(offloaded("0.3"), "ratio is not taken over"));
  CHECK_FALSE(has_note(offloaded("1.0"), "ratio is not taken over"));
  CHECK(has_note(deepspeed(R"("steps_per_print": 1)"), float32));
  CHECK_FALSE(has_note(deepspeed(bf16), float32));
}

TEST_CASE("foreign Megatron: texts of a shell grow as in a shell") {
  const auto tensor_of = [](const std::string& script) {
    return megatron_read(script + "\ntorchrun --nproc_per_node 8 pretrain_gpt.py $ARGS\n")
        .layout.tensor;
  };
  const std::string flag = "--tensor-model-parallel-size ";
  CHECK(tensor_of("X=1\nX+=6\nARGS=\"" + flag + "$X\"") == 16);
  CHECK(tensor_of("ARGS=\"" + flag + "\"\nARGS+=8") == 8);
  CHECK(tensor_of("ARGS=\"" + flag + "2 \"\nARGS+=\"--micro-batch-size 1\"") == 2);
  CHECK(tensor_of("ARGS=\"" + flag + "2\"\nARGS+=\" --micro-batch-size 1\"") == 2);
  CHECK(tensor_of("ARGS=\"" + flag + "1\"\nARGS+=\"6 --micro-batch-size 1\"") == 16);
  CHECK(tensor_of("ARGS=(" + flag + "4)\nARGS+=(--micro-batch-size 1)\nARGS=\"${ARGS[*]}\"") == 4);
}

TEST_CASE("foreign Megatron: tables at the top, of Primus, and of its own tests") {
  const std::string sizes =
      "micro_batch_size: 4\nglobal_batch_size: 64\ntensor_model_parallel_size: 2\n";
  // 64 / (8 x 4) = 2, by whatever else the file counts.
  CHECK(megatron_text(sizes + "train_iters: 50\n") == "tp2 dp8 mbs4 ga2 zero0 overlap=off");
  CHECK(megatron_read(sizes + "train_iters: 50\n").program == "Megatron-LM");
  CHECK(megatron_text(sizes) == "tp2 dp8 mbs4 ga2 zero0");
  const std::string primus =
      "modules:\n  pre_trainer:\n    overrides:\n      train_iters: 50\n"
      "      tensor_model_parallel_size: ${PRIMUS_TP:2}\n      overlap_grad_reduce: true\n"
      "      gradient_accumulation_fusion: false\n";
  CHECK(megatron_text(primus) == "tp2 dp8 zero0 accumulate=apart");
  // Micro-batches alone have other programs, too.
  CHECK(holds(refusal_of([] { megatron_read("micro_batch_size: 4\n"); }), "expected a layout"));
  const std::string own =
      "ENV_VARS:\n  X: 1\nMODEL_ARGS:\n  --tensor-model-parallel-size: 2\n"
      "  --pipeline-model-parallel-size: 2\n  --use-distributed-optimizer: true\n"
      "  --overlap-grad-reduce: true\n  --sequence-parallel: false\n  --micro-batch-size: 1\n"
      "  --global-batch-size: 16\n";
  const std::string stages = "  --pipeline-model-parallel-layout: Et*15\\\\|t*17L  # not even\n";
  CHECK(megatron_text(own, 16, "f.yaml") == "tp2 pp2 dp4 ga4 zero1");
  CHECK(megatron_text(own + stages, 16, "f.yaml") == "tp2 pp2 dp4 ga4 zero1 stages=15+17");
  CHECK(holds(refusal_of([&] { megatron_read(own, 6, "f.yaml"); }), "6 GPUs do not divide"));
}

}  // namespace sgdsim
