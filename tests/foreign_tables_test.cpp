// YAML and TOML whose tables lie on lines, in braces, behind anchors, and where nobody looks.
#include <doctest/doctest.h>
#include <tuple>

#include "sim/core/error.h"
#include "study/layout/flat_settings.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout tables_read(const std::string& text, const std::string& file = "f") {
  return foreign_layout(FlatSettings::read(text, file), {.given = 64}, load_model("llama3.1_70b"));
}

struct TableRow {
  std::string text;
  std::string layout;
};

}  // namespace

// 64 GPUs; replicas are 64 / (tp x pp), micro-batches the sequences of a step through replicas.
TEST_CASE("foreign tables: braces and lists of YAML are what stands in them") {
  for (const TableRow& row : std::vector<TableRow>{
           {"model: {tensor_model_parallel_size: 8, micro_batch_size: 1, global_batch_size: 32}\n",
            "tp8 dp8 ga4 zero0"},
           {"model: {tensor_model_parallel_size: 8,  # a comment\n  optim: {name: "
            "distributed_fused_adam, lr: 1.e-4},\n  pipeline_model_parallel_size: 2}\n",
            "tp8 pp2 dp4 zero1"},
           {"{model: {tensor_model_parallel_size: 8}, peft: {peft_scheme: lora, dim: 8}}",
            "tp8 dp8 zero0 lora=8"},
           {"model:\n  tensor_model_parallel_size: 8\npeft: {_target_: lora, dim: 4,\n"
            "  target_modules: [linear_qkv, 'linear_proj']}\n",
            "tp8 dp8 zero0 lora=4:attention"},
           {"model:\n  tensor_model_parallel_size: 8\npeft:\n  dim: 4\n  target_modules:\n"
            "    - linear_fc1\n    - linear_fc2\n  x: 1\n",
            "tp8 dp8 zero0 lora=4:mlp"},
           {R"({"model": {"tensor_model_parallel_size": 8}, "peft": {"dim": 4,
                "target_modules": ["linear_fc1", "linear_fc2"]}})",
            "tp8 dp8 zero0 lora=4:mlp"},
           // What stands below names of other tables, texts and lists of tables is theirs.
           {"model:\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 1\n"
            "  context_parallel_size: 1\n  note: |\n    pipeline_model_parallel_size: "
            "4\n\n    context_parallel_size: 2\n  runs:\n    - context_parallel_size: 2\n"
            "      pipeline_model_parallel_size: 4\n    - {context_parallel_size: 4}\n",
            "tp8 dp8 zero0"}}) {
    INFO(row.text);
    CHECK(to_text(tables_read(row.text).layout) == row.layout);
  }
  // Of 16 nodes with 8 GPUs each.
  const std::string nodes =
      "trainer: {devices: 8, num_nodes: 16}\nmodel: {tensor_model_parallel_size: 8}\n";
  const ForeignLayout all =
      foreign_layout(FlatSettings::read(nodes, "f"), {}, load_model("llama3.1_70b"));
  CHECK(to_text(all.layout) == "tp8 dp16 zero0");
}

// A recipe of NeMo 2 as it is written out: lengths below data, shards below optim.config or ddp.
TEST_CASE("foreign tables: files of NeMo 2") {
  const auto file = [](const std::string& ddp, const std::string& optimizer) {
    return "_target_: nemo_run.Partial\ndata:\n  _target_: nemo.MockDataModule\n"
           "  global_batch_size: 64\n  micro_batch_size: 2\n  seq_length: 4096\n"
           "model:\n  _target_: nemo.LlamaModel\n  config:\n    _target_: nemo.Llama31Config8B\n"
           "    seq_length: 4096\n    recompute_granularity: full\ntrainer:\n"
           "  _target_: nemo.Trainer\n  devices: 8\n  num_nodes: 2\n  strategy:\n"
           "    _target_: nemo.MegatronStrategy\n    tensor_model_parallel_size: 4\n"
           "    sequence_parallel: true\n    ddp:\n      _target_: megatron.Config\n" +
           ddp +
           "optim:\n  _target_: nemo.MegatronOptimizerModule\n  config:\n"
           "    _target_: megatron.OptimizerConfig\n    lr: 0.0003\n" +
           optimizer;
  };
  const auto read = [](const std::string& text) {
    return foreign_layout(FlatSettings::read(text, "f"), {}, load_model("llama3.1_8b"));
  };
  const std::string gathers = "      overlap_param_gather: true\n";
  const std::string is_on = "use_distributed_optimizer: true\n";
  const std::string is_off = "use_distributed_optimizer: false\n";
  const ForeignLayout found = read(file(gathers, "    " + is_on));
  CHECK(to_text(found.layout) == "tp4 dp4 mbs2 ga8 zero1 sp recompute=full");
  CHECK(found.sequence == 4096);
  CHECK_FALSE(has_note(found, "weights are taken to be gathered there"));
  for (const auto& [ddp, optimizer, zero] : std::vector<std::tuple<std::string, std::string, int>>{
           {"      " + is_on, "", 1},
           {"      " + is_off, "", 0},
           {"      " + is_off, "    " + is_on, 1},
           {"      " + is_on, "    " + is_off, 0},
           {"", "", 0}})
    CHECK(read(file(ddp + gathers, optimizer)).layout.zero == zero);
  const std::string others = "      overlap_grad_reduce: false\n      grad_reduce_in_fp32: false\n";
  const Layout other = read(file(others, "    " + is_on)).layout;
  CHECK_FALSE(other.overlaps);
  CHECK(other.half_gradients);
}

TEST_CASE("foreign tables: anchors of YAML") {
  const std::string base =
      "base: &base\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 2\n";
  for (const TableRow& row : std::vector<TableRow>{
           {base + "model:\n  <<: *base\n  pipeline_model_parallel_size: 4\n", "tp8 pp4 dp2 zero0"},
           {base + "model: {pipeline_model_parallel_size: 4, <<: *base}\n", "tp8 pp4 dp2 zero0"},
           {base + "model: *base\n", "tp8 pp2 dp4 zero0"},
           // Of several the first counts.
           {base + "more: &more {tensor_model_parallel_size: 2, context_parallel_size: 2}\n"
                   "model:\n  <<: [*base, *more]\n",
            "tp8 pp2 cp2 dp2 zero0"},
           {"x: &tp 8\nmodel: {tensor_model_parallel_size: *tp}\n", "tp8 dp8 zero0"},
           // One that nobody names says nothing.
           {base + "model:\n  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 1\n",
            "tp4 dp16 zero0"}}) {
    INFO(row.text);
    CHECK(to_text(tables_read(row.text).layout) == row.layout);
  }
}

TEST_CASE("foreign tables: what is not understood is refused") {
  const std::string elsewhere = "is not looked for there; write it as ";
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"policy:\n  megatron_cfg:\n    tensor_model_parallel_size: 8\n",
            "f: line 3: policy.megatron_cfg.tensor_model_parallel_size: " + elsewhere},
           {"base: &base\n  tensor_model_parallel_size: 8\nmodel:\n  micro_batch_size: 1\n",
            "base.tensor_model_parallel_size: " + elsewhere},
           {"model: {tensor_model_parallel_size: 8\n", "f: line 1: a bracket is opened and not"},
           {"model: {a: 1}}\n", "stands behind a closed bracket"},
           {"model: *base\n", "f: line 1: *base has no anchor &base before it"}}) {
    INFO(row.first);
    const std::string refusal = refusal_of([&] { tables_read(row.first); });
    CAPTURE(refusal);
    CHECK(holds(refusal, row.second));
  }
  // Anchors that grow by doubling, and brackets as deep as nobody writes.
  std::string doubled = "a0: &a0 {x: 1}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    doubled += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {x: " + before +
               ", y: " + before + "}\n";
  }
  CHECK(holds(refusal_of([&] { tables_read(doubled); }), "expected at most"));
  const std::string deep = std::string(100'000, '{') + std::string(100'000, '}');
  CHECK(holds(refusal_of([&] { tables_read("model: " + deep); }), "brackets lie deeper than"));
}

// Its own tables; gradients are exchanged under the passes where it says so, and not otherwise.
TEST_CASE("foreign tables: YAML of Megatron-LM") {
  const std::string text =
      "language_model:\n  recompute_granularity: full\n  recompute_method: uniform\n"
      "  recompute_num_layers: 1\nmodel_parallel:\n  tensor_model_parallel_size: 4\n"
      "  sequence_parallel: True\nmicro_batch_size: 2\nglobal_batch_size: 128\n"
      "use_distributed_optimizer: True\n";
  CHECK(tables_read(text).program == "Megatron-LM");
  // 64 / 4 = 16 replicas of 2 sequences; 128 / 32 = 4.
  CHECK(to_text(tables_read(text).layout) ==
        "tp4 dp16 mbs2 ga4 zero1 sp recompute=full overlap=off");
  CHECK(to_text(tables_read(text + "overlap_grad_reduce: True\n").layout) ==
        "tp4 dp16 mbs2 ga4 zero1 sp recompute=full");
}

TEST_CASE("foreign tables: TOML without lines of tables") {
  const std::string layout = "tp8 dp8 mbs2 zero3 sp recompute=block:40 kernels=eager";
  for (const std::string& text : std::vector<std::string>{
           "parallelism.tensor_parallel_degree = 8\ntraining.local_batch_size = 2\n",
           "parallelism = {tensor_parallel_degree = 8}\ntraining = {local_batch_size = 2, steps = "
           "1}",
           "parallelism.\"tensor_parallel_degree\" = 8\n[training]\nlocal_batch_size = 2\n",
           "[training]\nlocal_batch_size = 2\nnote = '''\nlocal_batch_size = 9\n'''\n"
           "[parallelism]\ntensor_parallel_degree = 8\n"}) {
    INFO(text);
    CHECK(to_text(tables_read(text).layout) == layout);
  }
  const std::string grouped = "[training]\nlocal_batch_size = 1_024\n";
  CHECK(to_text(tables_read(grouped + "[parallelism]\ntensor_parallel_degree = 8\n").layout) ==
        "tp8 dp8 mbs1024 zero3 sp recompute=block:40 kernels=eager");
}

TEST_CASE("foreign tables: a value below its name") {
  for (const std::string value : {"8", "\"8\"  # eight", "'8'", "&a 8"})
    CHECK(to_text(tables_read("model:\n  tensor_model_parallel_size:\n    " + value +
                              "\n  micro_batch_size: 2\n")
                      .layout) == "tp8 dp8 mbs2 zero0");
  // Not one that has no value, nor a text that goes on.
  CHECK(to_text(tables_read("model:\n  tensor_model_parallel_size: 8\n  name: a\n    4\n  x:\n"
                            "  micro_batch_size: 2\n")
                    .layout) == "tp8 dp8 mbs2 zero0");
}

}  // namespace sgdsim
