// What recipes in Python compute: sums, tuples, aliases, calls, and what only running would tell.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/flat_settings.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

// A recipe of these lines, after its first.
std::string recipe_of(const std::string& lines, const std::string& parameters = "") {
  return "import os\nTP = 8\ndef f(" + parameters +
         "):\n    cfg = _pretrain_common()\n    cfg.model.context_parallel_size = 1\n" + lines +
         "    return cfg\n";
}
ForeignLayout python_read(const std::string& text) {
  return foreign_layout(FlatSettings::read(text, "f", "f"), {.given = 64},
                        load_model("llama3.1_70b"));
}

const std::string tp = "    cfg.model.tensor_model_parallel_size = ";

}  // namespace

// Each says eight, of 64 GPUs: eight replicas.
TEST_CASE("recipes: what the file alone tells is computed") {
  for (const std::string& lines : std::vector<std::string>{
           tp + "2 * 4\n",
           tp + "2 ** 3\n",
           tp + "(17 - 1) // 2\n",
           tp + "TP\n",
           tp + "TP * 2 % 9 + 1\n",
           tp + "8 if TP > 4 else 4\n",
           tp + "4 if not TP == 8 or False else 8\n",
           tp + "int(os.environ.get(\"TP\", 8))\n",
           tp + "max(4, TP)\n",
           tp + "{\"a\": 8}[\"a\"]\n",
           "    tp, pp = 8, 1\n" + tp + "tp\n    cfg.model.pipeline_model_parallel_size = pp\n",
           "    m = cfg.model\n    m.tensor_model_parallel_size = 8\n",
           std::string("    setattr(cfg.model, \"tensor_model_parallel_size\", 8)\n"),
           "    p = GPTProvider(tensor_model_parallel_size=4)\n    p.tensor_model_parallel_size *= "
           "2\n"
           "    cfg.model = p\n",
           "    if TP is None or TP < 4:\n    " + tp + "2\n    elif TP == 8:\n    " + tp +
               "8\n    else:\n    " + tp + "4\n",
           tp + "4; cfg.model.tensor_model_parallel_size += \\\n        4\n",
           "    more = dict(tensor_model_parallel_size=8)\n    cfg.model = "
           "GPTProvider(**more)\n",
           "    more = dict(tensor_model_parallel_size=4)\n"
           "    more.update(tensor_model_parallel_size=8)\n    cfg.model = GPTProvider(**more)\n",
           std::string("    cfg.model.update(tensor_model_parallel_size=8)\n"),
           std::string("    vars(cfg.model)[\"tensor_model_parallel_size\"] = 8\n"),
           std::string("    cfg.model.__dict__[\"tensor_model_parallel_size\"] = 8\n"),
           "    def g(c, n=8):\n        c.model.tensor_model_parallel_size = n\n    g(cfg)\n",
           "    def g(n):\n        cfg.model.tensor_model_parallel_size = n\n    g(8)\n",
           "    def g(n):\n        def h():\n            return n * 2\n        return h()\n" + tp +
               "g(4)\n"}) {
    INFO(lines);
    CHECK(to_text(python_read(recipe_of(lines)).layout) == "tp8 dp8 zero1 sp");
  }
  // Turns of loops over what is in the file.
  const std::string sizes =
      "\"tensor_model_parallel_size\": 8, \"pipeline_model_parallel_size\": 4";
  for (const std::string& loop :
       {"    for k, v in {" + sizes + "}.items():\n        setattr(cfg.model, k, v)\n",
        "    sizes = {" + sizes +
            "}\n    for k, v in sizes.items():\n        setattr(cfg.model, k, v)\n",
        tp + "1\n    for i in [2, 2, 2]:\n        cfg.model.tensor_model_parallel_size *= i\n"
             "    cfg.model.pipeline_model_parallel_size = i * 2\n"}) {
    INFO(loop);
    CHECK(to_text(python_read(recipe_of(loop)).layout) == "tp8 pp4 dp2 zero1 sp");
  }
  const std::string left = "    for i in [8, 4]:\n    " + tp + "i\n        if TP: break\n";
  CHECK(holds(refusal_of([&] { python_read(recipe_of(left)); }), "is set below an if"));
  // What stands for a parameter; a function and a class of the file.
  const std::string others =
      "class Provider(GPTProvider):\n    tensor_model_parallel_size: int = 8\n"
      "def set_stages(cfg, pp=1):\n    cfg.model.pipeline_model_parallel_size = pp\n"
      "    if pp > 1:\n        cfg.model.virtual_pipeline_model_parallel_size = 5\n";
  CHECK(to_text(python_read(others + recipe_of(tp + "size\n", "size: int = 8")).layout) ==
        "tp8 dp8 zero1 sp");
  CHECK(to_text(python_read(others +
                            recipe_of("    cfg.model = Provider()\n    set_stages(cfg, pp=4)\n"))
                    .layout) == "tp8 pp4 vp5 dp2 zero1 sp");
  // What a class gets by the places of its fields, and what its function sets.
  const std::string fields =
      "@dataclass\nclass P:\n    tensor_model_parallel_size: int = 1\n"
      "    pipeline_model_parallel_size: int = 1\n";
  const std::string init =
      "class P:\n    def __init__(self, tp, pp=1):\n"
      "        self.tensor_model_parallel_size = tp\n"
      "        self.pipeline_model_parallel_size = pp\n";
  for (const std::string& type : {fields, init})
    for (const char* given : {"8, 2", "8, pp=2"}) {
      if (type == fields && given != std::string("8, 2")) continue;
      CHECK(to_text(python_read(type + recipe_of("    cfg.model = P(" + std::string(given) + ")\n"))
                        .layout) == "tp8 pp2 dp4 zero1 sp");
    }
  // Tables of other programs, by their structure.
  // Adapters by the name of their method; FP8 by that of a function.
  CHECK(to_text(python_read(recipe_of("    cfg.peft = default_peft_config(scheme)\n" + tp + "8\n",
                                      "scheme: str = \"lora\""))
                    .layout) == "tp8 dp8 zero1 sp lora=32");
  CHECK(has_note(python_read(recipe_of(tp + "8\n    cfg.mixed_precision = bf16_with_fp8_mixed()\n"
                                            "    cfg.mixed_precision.x = 1\n")),
                 "mixed_precision is not taken over; --precision fp8"));
  const std::string whole =
      "from x import y\ndef f():\n    return ConfigContainer(model=GPTProvider("
      "tensor_model_parallel_size=8), train=TrainingConfig(global_batch_size=64), "
      "peft=LoRA(dim=4))\n";
  CHECK(to_text(python_read(whole).layout) == "tp8 dp8 ga8 zero1 sp lora=4");
}

TEST_CASE("recipes: torchtitan, NeMo 2 and tables of benchmarks, by hand") {
  const std::string titan =
      "from torchtitan.config import ParallelismConfig, TrainingConfig\n"
      "def f():\n    return Trainer.Config(\n"
      "        model_converters=All.Config(converters=[Float8LinearConverter.Config()]),\n"
      "        training=TrainingConfig(local_batch_size=2, seq_len=4096),\n"
      "        parallelism=ParallelismConfig(tensor_parallel_degree=8),\n"
      "        activation_checkpoint=ActivationCheckpointConfig(mode=\"full\"),\n    )\n";
  const ForeignLayout found = python_read(titan);
  CHECK(found.program == "torchtitan");
  CHECK(to_text(found.layout) == "tp8 dp8 mbs2 zero3 sp recompute=full kernels=eager");
  CHECK(found.sequence == 4096);
  CHECK(has_note(found, "model_converters.converters is not taken over"));
  CHECK(to_text(python_read("def f():\n    c = Trainer.Config(training=TrainingConfig("
                            "local_batch_size=4))\n    return c\n")
                    .layout) == "dp64 mbs4 zero3 recompute=operations kernels=eager");
  const std::string lora = "    cfg.peft = run.Config(LoRA)\n    cfg.peft.dim = 16\n";
  CHECK(to_text(python_read(recipe_of(tp + "8\n" + lora)).layout) == "tp8 dp8 zero1 sp lora=16");
  const std::string table = "f = replace(Base(), tensor_model_parallel_size=8, ";
  CHECK(to_text(python_read("import x\n" + table + "recompute_num_layers=10)\n").layout) ==
        "tp8 dp8 zero1 sp recompute=block:10");
}

TEST_CASE("recipes: what only running would tell is refused where it is asked for") {
  const std::string line = "f: line 6: model.tensor_model_parallel_size: is ";
  const std::string unknown = "which is not known without running it; write its value there";
  for (const std::string& value :
       std::vector<std::string>{"get_tp()", "8 if big else 4", "int(os.environ[\"TP\"])",
                                "[x for x in (8, 4)][0]", "f\"{TP}\""}) {
    const std::string refusal =
        refusal_of([&] { python_read(recipe_of(tp + value + "\n", "big")); });
    INFO(refusal);
    CHECK(holds(refusal, line + "\"" + value + "\", " + unknown));
  }
  const std::string branch =
      recipe_of("    if big:\n    " + tp + "8\n    else:\n    " + tp + "4\n", "big");
  CHECK(holds(refusal_of([&] { python_read(branch); }), "is set below an if"));
  const std::string match =
      recipe_of("    match big:\n        case 1:\n        " + tp + "8\n" + tp + "8\n", "big");
  CHECK(to_text(python_read(match).layout) == "tp8 dp8 zero1 sp");
  const std::string cases =
      recipe_of("    match big:\n        case 1:\n        " + tp + "8\n", "big");
  CHECK(holds(refusal_of([&] { python_read(cases); }), "is set below an if"));
  // What takes the place of a table takes its fields, too.
  for (const std::string other :
       {"cfg.model = load_model()", "cfg = dataclasses.replace(cfg, model=other)",
        "cfg.model = other.model"}) {
    INFO(other);
    const std::string text = recipe_of(tp + "4\n    " + other + "\n");
    CHECK(holds(refusal_of([&] { python_read(text); }), "f: line 7: model."));
    CHECK(holds(refusal_of([&] { python_read(text); }), unknown));
    const std::string again = recipe_of(tp + "4\n    " + other + "\n" + tp +
                                        "8\n    cfg.model.context_parallel_size = 1\n");
    CHECK(to_text(python_read(again).layout) == "tp8 dp8 zero1 sp");
  }
  for (const std::string same : {"m = cfg.model\n    cfg.model = m", "cfg.model = wrap(cfg.model)",
                                 "cfg = dataclasses.replace(cfg, train=other)"}) {
    INFO(same);
    CHECK(to_text(python_read(recipe_of(tp + "8\n    " + same + "\n")).layout) ==
          "tp8 dp8 zero1 sp");
  }
  // Nobody asks for these.
  const std::string others =
      recipe_of(tp + "8\n    cfg.train.train_iters = steps()\n    cfg.dataset = data(cfg)\n");
  CHECK(to_text(python_read(others).layout) == "tp8 dp8 zero1 sp");
  CHECK(has_note(python_read(recipe_of(tp + "8\n    set_layout(cfg.model)\n")),
                 "what set_layout sets is not in the file and not read"));
}

TEST_CASE("recipes: files that go on without end") {
  const std::string circle = "import x\ndef g():\n    return f()\ndef f():\n    g()\n    g()\n" +
                             recipe_of(tp + "8\n").substr(10);
  CHECK(to_text(python_read(circle).layout) == "tp8 dp8 zero1 sp");
  std::string doubled = "import x\nA0 = Config(micro_batch_size=1)\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    doubled += "A" + std::to_string(i) + " = Config(x=" + before + ", y=" + before + ")\n";
  }
  CHECK(holds(refusal_of([&] { FlatSettings::read(doubled, "f", "A59"); }),
              "it is too long or too deep to be followed"));
  const std::string deep = tp + std::string(100'000, '(') + "8" + std::string(100'000, ')') + "\n";
  CHECK(holds(refusal_of([&] { python_read(recipe_of(deep)); }), "not known without running it"));
}

}  // namespace sgdsim
