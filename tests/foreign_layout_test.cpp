// Layouts as training programs say them, by hand; what cannot be said here is refused by name.
#include "study/layout/foreign_layout.h"

#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

const std::string layouts = "tests/data/layouts/";

ForeignLayout of_text(const std::string& text, int64_t gpus, const std::string& model) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = gpus}, load_model(model));
}

ForeignLayout of_file(const std::string& name, int64_t gpus, const std::string& model) {
  return of_text(read_text(SGDSIM_SOURCE_DIR "/" + layouts + name), gpus, model);
}

}  // namespace

TEST_CASE("foreign layouts: one file of each program") {
  // 144 nodes of 8 are 1,152 GPUs; 8 x 9 x 2 = 144 of a replica, 8 replicas, 504 / 8 = 63.
  const ForeignLayout megatron = of_file("megatron.sh", 0, "llama3.1_405b");
  CHECK(to_text(megatron.layout) == "tp8 pp9 cp2 vp7 dp8 ga63 zero1 sp");
  CHECK(megatron.sequence == 8192);
  CHECK(of_file("megatron.sh", 288, "llama3.1_405b").layout.replicas == 2);
  // 64 GPUs, 16 of a replica; 128 / 4 = 32.
  const ForeignLayout nemo = of_file("nemo.yaml", 0, "llama3.1_70b");
  CHECK(to_text(nemo.layout) == "tp4 pp4 vp5 dp4 ga32 zero1 sp gradients=bf16 overlap=off");
  CHECK(nemo.sequence == 4096);
  // 256 / (16 x 2) = 8.
  CHECK(to_text(of_file("deepspeed.json", 16, "llama3.1_8b").layout) ==
        "dp16 mbs2 ga8 zero3 gradients=bf16");
  // Of 64 GPUs, 8 of a replica; sequences of a pipeline go one by one.
  const ForeignLayout titan = of_file("torchtitan.toml", 64, "llama3.1_8b");
  CHECK(to_text(titan.layout) ==
        "tp2 pp4 vp2 dp8 ga8 zero3 sp recompute=full reshard=off kernels=eager");
  CHECK(titan.sequence == 4096);
}

TEST_CASE("foreign layouts: flags by themselves, and what they mean") {
  struct Row {
    std::string flags;
    std::string layout;
  };
  const std::string two = "--tensor-model-parallel-size 2 ";
  const std::vector<Row> rows = {
      {two, "tp2 etp2 dp8 zero0 overlap=off"},
      {two + "--micro-batch-size 2 --global-batch-size 64 --overlap-grad-reduce",
       "tp2 etp2 dp8 mbs2 ga4 zero0"},
      {two + "--overlap-grad-reduce --no-gradient-accumulation-fusion",
       "tp2 etp2 dp8 zero0 accumulate=apart"},
      {two + "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads",
       "tp2 etp2 dp8 zero2"},
      // Its shards are none where nobody says which; those of PyTorch are all.
      {two + "--use-megatron-fsdp --overlap-grad-reduce", "tp2 etp2 dp8 zero0"},
      {two + "--use-torch-fsdp2", "tp2 etp2 dp8 zero3"},
      {two + "--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward",
       "tp2 etp2 dp8 zero3 reshard=off"},
      {two + "--use-torch-fsdp2 --torch-fsdp2-reshard-after-forward false",
       "tp2 etp2 dp8 zero3 reshard=off"},
      // Scores that are written, and dropped until the backward pass.
      {two + "--attention-backend unfused --overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 attention=unfused"},
      {two + "--attention-backend flash --overlap-grad-reduce", "tp2 etp2 dp8 zero0"},
      {two + "--attention-backend unfused --recompute-granularity selective "
             "--overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 recompute=selective attention=unfused"},
      {two + "--attention-backend unfused --recompute-granularity selective "
             "--recompute-modules layernorm --overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 recompute=modules:layernorm attention=unfused"},
      {two + "--context-parallel-size 2 --cp-comm-type a2a --overlap-grad-reduce",
       "tp2 cp2 etp2 dp4 zero0 context=ulysses"},
      {two + "--context-parallel-size 2 --cp-comm-type all_gather --overlap-grad-reduce",
       "tp2 cp2 etp2 dp4 zero0 context=gather"},
      {two + "--context-parallel-size 2 --cp-comm-type p2p p2p --overlap-grad-reduce",
       "tp2 cp2 etp2 dp4 zero0"},
      // 8 of 32 layers are a quarter.
      {two + "--cpu-offloading-num-layers 8 --overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 offload=activations:25"},
      {two + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
             "--overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 recompute=full"},
      // Whole layers, as flags said it until 2022.
      {two + "--checkpoint-activations", "tp2 etp2 dp8 zero0 recompute=full overlap=off"},
      {two + "--checkpoint-activations --checkpoint-num-layers 4 --overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 recompute=uniform:4"},
      {two + "--activations-checkpoint-method block --activations-checkpoint-num-layers 8 "
             "--overlap-grad-reduce",
       "tp2 etp2 dp8 zero0 recompute=block:8"},
      // Flags of Megatron-DeepSpeed. Both ends count as layers: 34 of two stages.
      {two + "--zero-stage 3 --cpu-optimizer", "tp2 etp2 dp8 zero3 offload=optimizer"},
      {two + "--ds-sequence-parallel-size 2 --overlap-grad-reduce",
       "tp2 cp2 etp2 dp4 zero0 context=ulysses"},
      {"--micro-batch-size 1 --moe-expert-parallel-size 4 --overlap-grad-reduce", "ep4 dp16 zero0"},
      {"--pipeline-model-parallel-size 2 --pp-partition-method 'type:transformer|embedding' "
       "--overlap-grad-reduce",
       "pp2 dp8 zero0 ends=layers"},
      {"--tensor_model_parallel_size=1 --pipeline-model-parallel-size 2 --overlap-grad-reduce "
       "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
       "pp2 dp8 zero0 ends=layers"},
      {two + "--sequence-parallel --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 "
             "--use-distributed-optimizer --overlap-grad-reduce",
       "tp2 ep4 dp8 zero1 sp"},
      // Without a word of it experts are split as all matrices are.
      {two + "--sequence-parallel --expert-model-parallel-size 4 --overlap-grad-reduce",
       "tp2 ep4 etp2 dp8 zero0 sp"},
      {"--tensor-model-parallel-size 1 --expert-tensor-parallel-size 2 --mtp-num-layers 1 "
       "--overlap-grad-reduce --optimizer-cpu-offload --use-distributed-optimizer",
       "etp2 dp16 zero1 offload=optimizer mtp=1"},
      {R"({"train_batch_size": 16, "zero_optimization": {"stage": 2, "offload_optimizer":
          {"device": "cpu"}}})",
       "dp16 zero2 offload=optimizer"},
      // torchtitan splits experts by tp where they have no ranks of their own, or as it says; it
      // has 8 sequences and computes every second layer again where nobody says otherwise.
      {"[parallelism]\ntensor_parallel_degree = 4",
       "tp4 etp4 dp4 mbs8 zero3 sp recompute=block:16 kernels=compiled"},
      {"[parallelism]\ntensor_parallel_degree = 4\nexpert_parallel_degree = 2",
       "tp4 ep2 dp4 mbs8 zero3 sp recompute=block:16 kernels=compiled"},
      {"[parallelism]\ntensor_parallel_degree = 4\nexpert_parallel_degree = 2\n"
       "expert_tensor_parallel_degree = 4",
       "tp4 ep2 etp4 dp4 mbs8 zero3 sp recompute=block:16 kernels=compiled"},
      // While pipelines were experimental, a batch was as many micro-batches as they had ranks.
      {"[experimental]\npipeline_parallel_degree = 4\n[training]\nbatch_size = 32",
       "pp4 dp4 mbs8 ga4 zero3 recompute=block:4 reshard=off kernels=compiled"},
      {"[experimental]\npipeline_parallel_degree = 4\npipeline_parallel_microbatches = 16\n"
       "[training]\nbatch_size = 32",
       "pp4 dp4 mbs2 ga16 zero3 recompute=block:4 reshard=off kernels=compiled"},
      // Ranks that have all positions of some heads, of DeepSpeed.
      {R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
          "sequence_parallel_size": 4, "zero_optimization": {"stage": 1, "overlap_comm": true}})",
       "cp4 dp4 mbs2 ga4 zero1 context=ulysses"},
      // DeepSpeed exchanges under the backward pass by itself with stage 3 alone.
      {R"({"train_batch_size": 16, "zero_optimization": {"stage": 1}})", "dp16 zero1 overlap=off"},
      // Of a batch alone nothing is accumulated; true is the first stage.
      {R"({"train_batch_size": 64, "zero_optimization": {"stage": 1}})",
       "dp16 mbs4 zero1 overlap=off"},
      {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1,
           "zero_optimization": {"stage": 1}})",
       "dp16 ga4 zero1 overlap=off"},
      {R"({"train_batch_size": 16, "zero_optimization": true})", "dp16 zero1 overlap=off"},
      {R"({"zero_optimization": false, "train_batch_size": 16})", "dp16 zero0 overlap=off"},
      {R"({"zero_optimization": true})", "dp16 zero1 overlap=off"},
      {R"({"train_batch_size": 16, "zero_optimization": {"stage": 1, "overlap_comm": true}})",
       "dp16 zero1"},
      {R"({"train_batch_size": 16, "zero_optimization": {"stage": 3,
          "zero_hpz_partition_size": 1}, "pipeline": {"stages": 2}})",
       "pp2 dp8 mbs2 zero3"},
  };
  for (const Row& row : rows) {
    INFO(row.flags);
    CHECK(to_text(of_text(row.flags, 16, "mixtral_8x7b").layout) == row.layout);
  }
  CHECK(of_text(two + "--recompute-granularity selective", 16, "llama3.1_8b").notes.size() == 1);
  // Copies of shards.
  const std::string none = "[activation_checkpoint]\nmode = \"none\"\n";
  const std::string titan =
      none +
      "[training]\nlocal_batch_size = 1\n"
      "[parallelism]\ndata_parallel_shard_degree = 2\ndata_parallel_replicate_degree = ";
  const std::vector<Row> copied = {
      {titan + "8", "dp16 zero3 hsdp8 kernels=eager"},
      {titan + "8\n[compile]\nenable = true", "dp16 zero3 hsdp8 kernels=compiled"},
      {titan + "8\n[compile]\nenable = true\ncomponents = [\"model\", \"loss\"]",
       "dp16 zero3 hsdp8"},
      {titan + "8\n[compile]\nenable = true\ncomponents = [\"loss\"]",
       "dp16 zero3 hsdp8 kernels=eager"},
      {titan + "1\ncontext_parallel_degree = 8", "cp8 dp2 zero3 context=gather kernels=eager"},
      {titan + "1\ncontext_parallel_degree = 8\ncontext_parallel_rotate_method = \"alltoall\"",
       "cp8 dp2 zero3 kernels=eager"},
      {titan + "8\nfsdp_reshard_after_forward = \"never\"",
       "dp16 zero3 hsdp8 reshard=off kernels=eager"},
      {two + "--use-distributed-optimizer --num-distributed-optimizer-instances 2 "
             "--overlap-grad-reduce",
       "tp2 dp8 zero1 hsdp2"},
      {R"({"train_batch_size": 16, "zero_optimization": {"stage": 3, "mics_shard_size": 4}})",
       "dp16 zero3 hsdp4"},
      // GPT-NeoX, of which no stages are one; the host as it was said until 2021.
      {R"({"pipe-parallel-size": 2, "model_parallel_size": 2, "gradient_accumulation_steps": 4,
          "train_micro_batch_size_per_gpu": 2, "checkpoint-activations": true,
          "zero_optimization": {"stage": 1, "overlap_comm": true}})",
       "tp2 pp2 dp4 mbs2 ga4 zero1 recompute=full"},
      {R"({"pipe-parallel-size": 0, "train_micro_batch_size_per_gpu": 4,
          "zero_optimization": {"stage": 3, "cpu_offload": true}})",
       "dp16 mbs4 zero3 offload=optimizer"},
      {none + "[training]\nlocal_batch_size = 1\nmixed_precision_reduce = \"bfloat16\"",
       "dp16 zero3 gradients=bf16 kernels=eager"}};
  for (const Row& row : copied) {
    INFO(row.flags);
    CHECK(to_text(of_text(row.flags, 16, "llama3.1_8b").layout) == row.layout);
  }
}

TEST_CASE("foreign layouts: what no word of a layout says is noted") {
  const std::string two = "--tensor-model-parallel-size 2 ";
  const std::string selective = two + "--recompute-granularity selective --recompute-modules ";
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {two + "--use-tp-pp-dp-mapping", "use-tp-pp-dp-mapping is not modelled"},
           {two + "--overlap-moe-expert-parallel-comm", "overlap-moe-expert-parallel-comm is not"},
           {two + "--moe-shared-expert-overlap", "moe-shared-expert-overlap is not priced"},
           {two + "--fp8-format hybrid", "fp8-format is not taken over; --precision fp8"},
           {"model:\n  tensor_model_parallel_size: 2\n  fp8: e4m3\n",
            "model.fp8 is not taken over"},
           {"[model]\nconverters = [\"float8\"]\n[training]\nseq_len = 64\n",
            "model.converters is not taken over"},
           {R"({"zero_optimization": {"stage": 3, "zero_quantized_weights": true}})",
            "zero_optimization.zero_quantized_weights is not priced"},
           {R"({"zero_optimization": {"stage": 2}})", "zero2 without it is not modelled"},
           {two + "--deepspeed_config x.json", "the file of --deepspeed_config is not read"},
           {"[training]\nseq_len = 8192\n",
            "not said, and taken as torchtitan has it: mode = \"selective\", selective_ac_option = "
            "\"2\", local_batch_size = 8"},
           {"[training]\ndtype = \"bfloat16\"", "training.dtype is not taken over"},
           // Of 8 replicas with 4 sequences each, 128 are four rounds.
           {"[training]\nlocal_batch_size = 4\nglobal_batch_size = 128\n"
            "[parallelism]\npipeline_parallel_degree = 2",
            "it drains 4 times"},
           {selective + "core_attn", "selective recomputation has no effect"},
           {selective + "mlp core_attn mhc", "recomputation of mhc alone is not priced"}}) {
    INFO(row.first);
    CHECK(has_note(of_text(row.first, 16, "llama3.1_8b"), row.second));
  }
  CHECK(of_text("[parallelism]\ntensor_parallel_degree = 8", 16, "llama3.1_8b").sequence == 2048);
  const std::string off = "model:\n  tensor_model_parallel_size: 2\n  fp8: null\n";
  CHECK_FALSE(has_note(of_text(off, 16, "llama3.1_8b"), "fp8"));
}

TEST_CASE("foreign layouts: what is computed again, and zero bubble") {
  struct Row {
    std::string flags;
    std::string layout;
  };
  // Of 32 layers in two stages, some are computed again.
  const std::string stages =
      "--pipeline-model-parallel-size 2 --overlap-grad-reduce "
      "--recompute-granularity full --recompute-method ";
  const std::string of_two = "pp2 dp8 zero0 recompute=";
  const std::string some =
      "[parallelism]\npipeline_parallel_degree = 2\n"
      "pipeline_parallel_schedule = \"";
  const std::string every =
      "\"\n[activation_checkpoint]\nmode = \"selective\"\n"
      "selective_ac_option = \"";
  const std::string sharded = "pp2 dp8 ga8 zero3";  // and weights stay where a pipeline is
  const std::vector<Row> recomputed = {
      {stages + "block --recompute-num-layers 3", of_two + "block:3"},
      {stages + "block --recompute-num-layers 16", of_two + "full"},
      {stages + "block --recompute-num-layers 99", of_two + "full"},
      {stages + "uniform --recompute-num-layers 4", of_two + "uniform:4"},
      {stages + "uniform --recompute-num-layers 99", of_two + "uniform:16"},
      {stages + "uniform --recompute-num-layers 1", of_two + "full"},
      {"model:\n  micro_batch_size: 1\n  pipeline_model_parallel_size: 4\n"
       "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: block\n"
       "  activations_checkpoint_num_layers: 2\n",
       "pp4 dp4 zero0 recompute=block:2"},
      {some + "1F1B" + every + "4", sharded + " recompute=block:4"},
      {some + "1F1B" + every + "3", sharded + " recompute=block:5"},
      {some + "1F1B" + every + "1", sharded + " recompute=full"},
      {some + "1F1B" + every + "17", sharded},
      {some + "1F1B" + every + "op", sharded + " recompute=operations"},
      {some + "ZBVZeroBubble\"\nx = \"", "pp2 vp2 dp8 ga8 zero3 recompute=block:4 schedule=zbv"},
      {some + "InterleavedZeroBubble\"\npipeline_parallel_layers_per_stage = 16\nx = \"",
       sharded + " recompute=block:8 schedule=zb1p"}};
  for (const Row& row : recomputed) {
    INFO(row.flags);
    const bool is_titan = row.flags.starts_with("[");
    const std::string text = row.flags + (is_titan ? "\"" : "");
    CHECK(to_text(of_text(text, 16, "llama3.1_8b").layout) ==
          row.layout + (is_titan ? " reshard=off kernels=eager" : ""));
  }
}

TEST_CASE("foreign layouts: what is refused") {
  struct Row {
    std::string text;
    std::string sentence;
  };
  const std::string pp = "[parallelism]\npipeline_parallel_degree = 2\n";
  const std::vector<Row> rows = {
      {"", "f: it is empty"},
      {"hello", "f: expected a layout"},
      {"{}", "f: expected a layout"},
      {"[1, 2", "f: expected a layout"},
      {"{\"train_batch_size\": ", "f"},
      {"model:\n  hidden: 3\n", "f: expected a layout"},
      {"--tensor-model-parallel-size 3", "by which 16 GPUs do not divide"},
      {"--tensor-model-parallel-size 0", "expected a whole number from 1 to"},
      {"--tensor-model-parallel-size 99999999999999999999", "expected a whole number from 1 to"},
      {"--tensor-model-parallel-size $TP", "is $TP, which is not known without running it"},
      {"--tensor-model-parallel-size 1000000 --pipeline-model-parallel-size 1000000 "
       "--context-parallel-size 1000000",
       "is above 1048576 GPUs"},
      {"--tensor-model-parallel-size 2\n--micro-batch-size 3 --global-batch-size 64",
       "f: line 2: --global-batch-size: is 64, which does not divide by 24"},
      {"--tensor-model-parallel-size 2 --pipeline-model-parallel-layout Et*3|",
       "--pipeline-model-parallel-layout: expected one E, the embedding"},
      {"--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 5",
       "--num-layers-per-virtual-pipeline-stage: is 16, which does not divide by 5"},
      {"--tensor-model-parallel-size 2 --mtp-num-layers 17",
       "--mtp-num-layers: expected a whole number from 0 to 16"},
      {R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme"}}})",
       "is not modelled"},
      {"--micro-batch-size 1 --use-megatron-fsdp --data-parallel-sharding-strategy all",
       "unknown strategy \"all\""},
      {"--micro-batch-size 1 --context-parallel-size 2 --cp-comm-type a2a+p2p",
       "--cp-comm-type: unknown exchange that is modelled \"a2a+p2p\""},
      {"[parallelism]\ncontext_parallel_degree = 2\ncontext_parallel_rotate_method = \"ring\"",
       "unknown method \"ring\""},
      {"[parallelism]\nfsdp_reshard_after_forward = \"no\"", "unknown value \"no\""},
      {"--micro-batch-size 1 --recompute-granularity full --recompute-method blocks",
       "--recompute-method: unknown method \"blocks\""},
      {"--micro-batch-size 1 --recompute-granularity full --recompute-num-layers 0",
       "--recompute-num-layers: expected a whole number from 1 to"},
      {"model:\n  micro_batch_size: 1\n  activations_checkpoint_layers_per_pipeline: 2\n",
       "activations_checkpoint_layers_per_pipeline: is not modelled"},
      {"[training]\nseq_len = 1\n[activation_checkpoint]\nmode = \"selective\"\n"
       "selective_ac_option = \"some\"",
       "selective_ac_option: expected a whole number from 1 to"},
      {R"({"train_batch_size": "auto"})", "is \"auto\"; say the number"},
      {R"({"train_batch_size": 32.5})", "expected a whole number"},
      {R"({"zero_optimization": {"stage": 4}})", "from 0 to 3"},
      {R"({"zero_optimization": {"stage": 3, "cpu_offload_params": true}})", "is not modelled"},
      {R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})", "is not modelled"},
      {R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1,
           "gradient_accumulation_steps": 2})",
       "train_batch_size: is 64, but 16 replicas with these micro-batches have 32"},
      {"[training]\nseq_len = 1\nenable_cpu_offload = true", "enable_cpu_offload: is not modelled"},
      {"--micro-batch-size 1 --use-torch-fsdp2 --torch-fsdp2-reshard-after-forward 4",
       "is not modelled with groups of ranks"},
      {"model:\n  micro_batch_size: 1\n  fsdp: true\n  fsdp_sharding_strategy: hybrid\n",
       "fsdp_sharding_strategy: is hybrid"},
      {pp + "pipeline_parallel_split_points = \"layers.8,layers.16\"",
       "makes 3 stages for pp2, of which each rank has one"},
      {pp + "pipeline_parallel_split_points = [\"norm\"]",
       "expected names in order from layers.0 to layers.31, got \"norm\""},
      {pp + "pipeline_parallel_split_points = [\"layers.16\"]\n"
            "pipeline_parallel_layers_per_stage = 16",
       "contradicts parallelism.pipeline_parallel_split_points"},
      {pp + "pipeline_parallel_schedule = \"DualPipeV\"", "DualPipeV is not modelled"},
      {pp + "pipeline_parallel_schedule = \"ZB\"", "unknown schedule"},
      {pp + "pipeline_parallel_schedule = \"InterleavedZeroBubble\"",
       "with 2 virtual stages is not modelled; with one "
       "(parallelism.pipeline_parallel_layers_per_stage = 16) it is zb1p"},
      {pp + "data_parallel_shard_degree = 4", "there are 8 GPUs, but --gpus is 16"},
      {"[parallelism]\ntensor_parallel_degree = \"two\"", "got \"two\""},
      {"[training]\nseq_len = 1\n[activation_checkpoint]\nmode = \"some\"", "unknown mode"},
      {"model:\n  micro_batch_size: 1\n  global_batch_size: 32\ndata:\n  global_batch_size: 64\n",
       "is 64, but model.global_batch_size is 32"},
      {"model:\n  micro_batch_size: 1\n  sequence_parallel: maybe\n", "expected true or false"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THROWS_WITH_AS(of_text(row.text, 16, "llama3.1_8b"),
                         doctest::Contains(row.sentence.c_str()), InputError);
  }
  CHECK_THROWS_WITH_AS(of_text("--tensor-model-parallel-size 2", 0, "llama3.1_8b"),
                       doctest::Contains("it does not say on how many GPUs; give --gpus"),
                       InputError);
}

TEST_CASE("foreign layouts: commands take them, and say how they read them") {
  const std::string box = "topologies/data/dgx_h100_4.json";
  const Ran foreign = run_sgdsim({"layout", "llama3.1_405b", "-c", box, "--memory", "96GB",
                                  "--layout", layouts + "megatron.sh", "--format", "json"});
  CAPTURE(foreign.log);
  REQUIRE(foreign.exit_code == 0);
  const std::string text = "tp8 pp9 cp2 vp7 dp8 ga63 zero1 sp";
  CHECK(foreign.log.find("read as Megatron-LM: " + text) != std::string::npos);
  const Ran own = run_sgdsim({"layout", "llama3.1_405b", "-c", box, "--memory", "96GB", "--layout",
                              text, "--sequence", "8192", "--format", "json"});
  REQUIRE(own.exit_code == 0);
  CHECK(Json::parse(foreign.out)["layouts"] == Json::parse(own.out)["layouts"]);
  const Ran flags = run_sgdsim({"model", "show", "llama3.1_8b", "--gpus", "16", "--layout",
                                "--tensor-model-parallel-size 2 --use-distributed-optimizer",
                                "--format", "json"});
  CAPTURE(flags.log);
  REQUIRE(flags.exit_code == 0);
  CHECK(Json::parse(flags.out)["gpus"] == 16);
  CHECK(run_sgdsim({"model", "show", "llama3.1_8b", "--gpus", "16"}).exit_code == 2);
  CHECK(run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--layout", "missing.toml"}).exit_code ==
        2);
}

}  // namespace sgdsim
