// Variables of scripts, sums in $(( )), and references of YAML to its own values.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/flat_settings.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout script_read(const std::string& text, int64_t gpus, const std::string& model) {
  return foreign_layout(FlatSettings::read(text, "f"), {.given = gpus}, load_model(model));
}

std::string value_of(const std::string& script) {
  return FlatSettings::read(script, "f").find("size").value_or("nothing");
}

}  // namespace

TEST_CASE("foreign scripts: variables and sums, by hand") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"A=4\ntorchrun --size $A", "4"},
      {"export A=\"4\"\ntorchrun --size ${A}", "4"},
      {"A='4'\ntorchrun --size=$A", "4"},
      {"torchrun --size=\"4\" --y 3", "4"},
      {"torchrun --size ${A:-7}", "7"},
      {"export A=\"${B:=7}\"\ntorchrun --size $A", "7"},
      {"A=4\ntorchrun --size $((A * 2))", "8"},
      {"A=4\ntorchrun --size $(( $A*${B:-3} + 1 ))", "13"},
      {"A=4\nC=$((A + 5 * (2 + 1)))\ntorchrun --size $C", "19"},
      {"A=64\nB=8\ntorchrun --size $((A / B % 5)) --y", "3"},
      {"torchrun --size $((-3 + 10))", "nothing"},  // signs are not read
      {"A=4\ntorchrun --size $((A * UNKNOWN))", "$"},
      {"torchrun --size $((1 / 0))", "$"},
      {"torchrun --size $((999999999999999 * 999999999999999))", "$"},
      {"torchrun --size $((99999999999999999999999))", "$"},
      {"torchrun --size $((1 + ))", "$"},
      {"torchrun --size $((1 + 2", "$"},
      {"torchrun --size \"Et*3|(tt|)*2L\"", "Et*3|(tt|)*2L"},
      {"A=(\n  --size 5\n)", "5"},
      {"OPTIONS=\" --size 5 \"", "5"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    const std::string value = value_of(row.first);
    if (row.second == "nothing" || row.second == "$")
      CHECK(value.find_first_of("0123456789") != 0);
    else
      CHECK(value == row.second);
  }
  // As deep as nobody writes.
  const std::string deep =
      "torchrun --size $((" + std::string(100'000, '(') + "1" + std::string(100'000, ')') + "))";
  CHECK(value_of(deep) != "1");
}

TEST_CASE("foreign scripts: variables of MLPerf") {
  const std::string text = read_text(SGDSIM_SOURCE_DIR "/tests/data/layouts/mlperf_config.sh");
  // 32 x 8 GPUs, 4 x 8 x 2 of a replica; 2 x 8 x 4 sequences of each.
  const ForeignLayout found = script_read(text, 0, "llama3.1_405b");
  CHECK(found.program == "MLPerf");
  CHECK(to_text(found.layout) == "tp4 pp8 cp2 vp8 dp4 ga64 zero1 sp ends=layers");
  CHECK(misfit_of(load_model("llama3.1_405b"), found.layout, 8192) == "");
  CHECK(has_note(found, "scripts that it sources are not read"));
  const std::string one = "export TENSOR_MODEL_PARALLEL=2\nexport MINIBS=4\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {one + "export INTERLEAVED_PIPELINE=null", "tp2 dp8 ga4 zero1 sp"},
      {one + "export INTERLEAVED_PIPELINE=0\nexport SEQ_PARALLEL=False", "tp2 dp8 ga4 zero1"},
      {one + "export USE_DIST_OPTIMIZER=False\nexport MICRO_BATCH_SIZE=2",
       "tp2 dp8 mbs2 ga2 zero0 sp"},
      {"export PIPELINE_MODEL_PARALLEL=3\nexport ASYM_PP_LOSS=True\n"
       "export TENSOR_MODEL_PARALLEL=1\nexport DGXNNODES=2\nexport DGXNGPU=3",
       "pp3 dp2 zero1 stages=11x2+10"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    const int64_t gpus = row.first.find("DGXNNODES") == std::string::npos ? 16 : 0;
    CHECK(to_text(script_read(row.first, gpus, "llama3.1_8b").layout) == row.second);
  }
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"export TENSOR_MODEL_PARALLEL=0", "f: line 1: TENSOR_MODEL_PARALLEL: expected a whole"},
      {"export TENSOR_MODEL_PARALLEL=$TP", "got \"$TP\""},
      {one + "export MICRO_BATCH_SIZE=3", "MINIBS: is 4, which does not divide by 3"},
      {one + "export DGXNNODES=2", "DGXNNODES: needs DGXNGPU"},
      {"export MASTER_PORT=1234", "f: expected a layout"},
  };
  for (const auto& row : wrong) {
    INFO(row.first);
    const int64_t gpus = row.first.find("DGXNNODES") == std::string::npos ? 16 : 0;
    CHECK_THROWS_WITH_AS(script_read(row.first, gpus, "llama3.1_8b"),
                         doctest::Contains(row.second.c_str()), InputError);
  }
}

TEST_CASE("foreign scripts: references of YAML") {
  const std::string text =
      "sizes:\n  tp: 4\n  again: ${sizes.tp}\nmodel:\n  micro_batch_size: 1\n"
      "  tensor_model_parallel_size: ${sizes.again}\n";
  CHECK(to_text(script_read(text, 16, "llama3.1_8b").layout) == "tp4 dp4 zero0");
  for (const std::string wrong : {"a: ${b}\nb: ${a}\nmodel:\n  tensor_model_parallel_size: ${a}\n",
                                  "model:\n  tensor_model_parallel_size: ${sizes.none}\n",
                                  "model:\n  tensor_model_parallel_size: ${multiply:2,3}\n"}) {
    INFO(wrong);
    CHECK_THROWS_WITH_AS(script_read(wrong, 16, "llama3.1_8b"),
                         doctest::Contains("expected a whole number"), InputError);
  }
}

}  // namespace sgdsim
