// Flags of Megatron-LM that are others than they look, and settings of other programs that no word
// of a layout says.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout flagged(const std::string& text) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = 8}, load_model("llama3.1_8b"));
}

const std::string sized = "--tensor-model-parallel-size 8 --micro-batch-size 1 --bf16 ";
const char* const kept_inputs = "is not taken over: each rank of tp is taken to keep all inputs";

}  // namespace

TEST_CASE("foreign flags: abbreviations are refused, as Megatron-LM's parser does") {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [flag, whole] :
       Rows{{"--tensor-model-parallel 8", "write --tensor-model-parallel-size"},
            {"--pipeline-model-parallel 2",
             "write --pipeline-model-parallel-size or --pipeline-model-parallel-layout"},
            {"--seq-len 4096", "write --seq-length"},
            {"--recompute-gran full", "write --recompute-granularity"}}) {
    const std::string text = "--micro-batch-size 1 " + flag;
    INFO(text);
    CHECK(refusal_of([&text] { flagged(text); }) ==
          "f: line 1: " + flag.substr(0, flag.find(' ')) +
              ": Megatron-LM takes no abbreviations of flags; " + whole);
  }
  // Flags by themselves, though others begin so.
  for (const std::string flag : {"--num-layers 32", "--optimizer adam", "--use-mcore-models"}) {
    const std::string text = sized + flag;
    INFO(text);
    CHECK(flagged(text).notes.empty());
  }
}

TEST_CASE("foreign flags: flags near to those of a layout are noted") {
  for (const std::string flag :
       {"--tensor-model-parallel-sise is not read; is --tensor-model-parallel-size meant?",
        "--globl-batch-size is not read; is --global-batch-size meant?",
        "--expert-parallel-size is not read: no flag of a layout",
        "--micro-batch-size-per-gpu is not read: no flag of a layout"}) {
    INFO(flag);
    CHECK(has_note(flagged(sized + flag.substr(0, flag.find(' ')) + " 2"), flag));
  }
  for (const std::string flag : {"--decoder-seq-length 128", "--sglang-tensor-parallel-size 8"}) {
    INFO(flag);
    CHECK(flagged(sized + flag).notes.empty());
  }
  CHECK(flagged(sized + "--encoder-seq-length 512").sequence == 512);  // of T5 and BERT
}

TEST_CASE("foreign flags: inputs that ranks of tp share are noted") {
  // A rank keeps 1/tp of the inputs of layers: with sp it does so by itself.
  const std::string flags = sized + "--recompute-granularity full --recompute-method uniform ";
  const std::string shared = flags + "--distribute-saved-activations ";
  CHECK(has_note(flagged(shared), kept_inputs));
  CHECK(!has_note(flagged(flags), kept_inputs));
  CHECK(!has_note(flagged(shared + "--sequence-parallel"), kept_inputs));
  const std::string deepspeed =
      "{\"zero_optimization\": {\"stage\": 1}, \"activation_checkpointing\": "
      "{\"partition_activations\": true}, \"tensor_parallel\": {\"autotp_size\": ";
  CHECK(has_note(flagged(deepspeed + "2}}"), kept_inputs));
  CHECK(!has_note(flagged(deepspeed + "1}}"), kept_inputs));
}

TEST_CASE("foreign flags: optimizers and numbers of tables") {
  const std::string titan = "[parallelism]\ntensor_parallel_degree = 2\n";
  const std::string states = " is not taken over: states of the optimizer";
  CHECK(has_note(flagged(titan + "[optimizer]\nname = \"SGD\"\n"), "optimizer.name" + states));
  CHECK(!has_note(flagged(titan + "[optimizer]\nname = \"AdamW\"\n"), states));
  CHECK(has_note(flagged("{\"zero_optimization\": {\"stage\": 1}, \"optimizer\": {\"type\": "
                         "\"SGD\"}}"),
                 "optimizer.type" + states));
  CHECK(has_note(flagged("model:\n  tensor_model_parallel_size: 2\n  optim:\n    name: sgd\n"),
                 "model.optim.name" + states));
  const std::string fp8 = " is not taken over; --precision fp8";
  CHECK(has_note(flagged(titan + "[float8]\nenable_float8_linear = true\n"),
                 "float8.enable_float8_linear" + fp8));
  CHECK(!has_note(flagged(titan + "[float8]\nenable_float8_linear = false\n"), fp8));
}

TEST_CASE("foreign flags: a file with a schedule is refused") {
  const std::string titan =
      "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule_csv = ";
  CHECK(holds(refusal_of([&] { flagged(titan + "\"x.csv\"\n"); }),
              "f: line 3: parallelism.pipeline_parallel_schedule_csv: is a file with a schedule of "
              "its own, which is not modelled"));
  CHECK(flagged(titan + "\"\"\n").layout.pipeline == 2);
}

}  // namespace sgdsim
