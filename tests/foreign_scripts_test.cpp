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
      {"A=${B:-\"7\"}\ntorchrun --size $A", "7"},
      {"export A=\"${B:=7}\"\ntorchrun --size $A", "7"},
      {"A=4\ntorchrun --size $((A * 2))", "8"},
      {"A=4\ntorchrun --size $(( $A*${B:-3} + 1 ))", "13"},
      {"A=4\nC=$((A + 5 * (2 + 1)))\ntorchrun --size $C", "19"},
      {"A=64\nB=8\ntorchrun --size $((A / B % 5)) --y", "3"},
      {"torchrun --size $((-3 + 10))", "nothing"},  // signs are not read
      {"A=2\ntorchrun --size $(( ($A > 1) ? 8 : 4 ))", "8"},
      {"A=1\ntorchrun --size $((A >= 2 ? 8 : A == 1 ? 4 : 2))", "4"},
      {"torchrun --size $((4 != 4)) --y", "0"},
      {"torchrun --size $((1 ? 8))", "$"},
      {"torchrun --size $((UNKNOWN > 1 ? 8 : 4))", "$"},
      {"A=4\ntorchrun --size $((A * UNKNOWN))", "$"},
      {"torchrun --size $((1 / 0))", "$"},
      {"torchrun --size $((999999999999999 * 999999999999999))", "$"},
      {"torchrun --size $((99999999999999999999999))", "$"},
      {"torchrun --size $((1 + ))", "$"},
      {"torchrun --size $((1 + 2", "$"},
      {"torchrun --size \"Et*3|(tt|)*2L\"", "Et*3|(tt|)*2L"},
      {"A=(\n  --size 5\n)", "5"},
      {"A=(\"--size 5\" --y)\ntorchrun ${A[@]}", "5"},
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
      {"export TENSOR_MODEL_PARALLEL=$TP", "is $TP, which is not known without running it"},
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

// The branch whose test holds; nobody gives arguments or an environment.
TEST_CASE("foreign scripts: tests that are known") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"A=x\nif [ \"$A\" = x ]; then B=8; else B=4; fi", "8"},
      {"A=x\nif [[ $A != x ]]\nthen\n  B=8\nelif [ \"$A\" == \"x\" ]; then B=2\nelse B=4\nfi", "2"},
      {"A=9\nif [ $A -ge 8 ] && [ $A -lt 16 ]; then B=8; else B=4; fi", "8"},
      {"A=9\nif [[ $A -gt 16 || ( $A -eq 1 ) ]]; then B=8; fi\nB=${B:-4}", "$"},
      {"A=9\nif ! [ $A -ne 9 ]; then B=8; else B=4; fi", "8"},
      {"B=4\n[ -z \"$C\" ] && B=8", "8"},
      {"B=4\n[ -n \"${C:-}\" ] && B=8", "4"},
      {"C=1\nB=4\n[ -z \"$C\" ] || B=8", "8"},
      {": \"${B:=8}\"\n: ${B:=4}", "8"},
      {"mkdir -p x && B=8 || exit 1", "8"},
      {"B=4\nwhile [[ $# -gt 0 ]]; do\n  case $1 in --b) B=$2; shift 2;; esac\ndone", "4"},
      {"A=b\ncase \"$A\" in\n  a) B=4 ;;\n  b|c) B=8 ;;\n  *) B=2 ;;\nesac", "8"},
      {"f() {\n  if [ 1 = 1 ]; then B=8; fi\n}\nf", "8"},
      {"B=4\nfor B in 2 8; do\n  echo $B\ndone", "$"},
      {"declare -i B=8", "8"},
      {"A=1\nB=4\nif [[ $A == 1 || $B == 1 && $A == 0 ]]; then B=8; fi", "8"},
      {"A=1\nB=4\nif [ $A = 0 -a $B = 4 -o $A = 1 ]; then B=8; fi", "8"},
      {"A=2\nB=4\n[ \"$A\" = 4 ] && echo four || B=8", "8"},
      {"B=4\n[ \"$(f)\" = 4 ] && echo four || B=8", "$"},
      {"B=4\n! command -v x && B=8", "$"},
      {"B=4\nif [ 1 = 2 ]; then\n  if [ 1 = 1 ]; then B=8; fi\nfi", "4"}};
  for (const auto& row : rows) {
    INFO(row.first);
    const std::string script = row.first + "\nrun --size $B";
    if (row.second == "$")
      CHECK(holds(refusal_of([&] { value_of(script); }), "so that its value is not known"));
    else
      CHECK(value_of(script) == row.second);
  }
}

// "$": not known without running it, and refused.
TEST_CASE("foreign scripts: functions, loops, sums and exits") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"f() {\n  run --size ${1:-8}\n}\nf 4", "4"},
      {"f() { run --size ${1:-8}; }\nf", "8"},
      {"function f {\n  local B=$1\n  run --size $B\n}\nf 4 2", "4"},
      {"B=2\nf() { run --size $B; }\nB=4\nf", "4"},  // as it is where it is called
      {"f() { [ $# -eq 2 ] && B=$(($1 * $2)); }\nf 4 2\nrun --size $B", "8"},
      {"g() { B=$1; }\nf() { g 4; }\nf 8\nrun --size $B", "4"},
      {"B=4\nf() { B=8; }\nrun --size $B", "4"},
      {"f() { run --size 4 \"$@\"; }\nf --size 8", "8"},
      {"f() { run --y; }\nf --size 8\nrun --size 2", "2"},
      {"f() { local A=$1; shift; run --size $1 $A; }\nf 4 8", "8"},
      {"f() { B=8; if [ $1 = 4 ]; then return; fi; B=2; }\nf 4\nrun --size $B", "8"},
      {"f() { train --size 8; exit; }\nf\nrun --size 4", "8"},
      {"f() { run --size 8; exit; }\nf\nrun --size 4", "4"},  // nothing has trained before it
      {"f() { if $X; then shift; fi; run --size $1; }\nf 4 8", "$"},
      {"f() { run --size 8; }\nexport -f f", "$"},  // by whom, and with what?
      {"B=1\nfor i in 1 2; do B=$((B * 2)); done\nrun --size $B", "$"},
      {"B=1\ni=0\nwhile [ $i -lt 2 ]; do B=$((B * 2)); i=$((i + 1)); done\nrun --size $B", "$"},
      {"B=1\nfor i in 1 2; do run --size $B; B=$((B * 2)); done", "$"},
      {"B=1\nfor ((i = 0; i < 2; i++)); do ((B *= 2)); done\nrun --size $B", "$"},
      {"B=4\nfor i in 1 2; do A=\"$A --x $B\"; done\nrun --size $B $A", "4"},
      {"A=()\nfor i in 1 2; do A+=(--size 4); done\nrun ${A[@]}", "4"},
      {"B=2\nfor i in 1 2; do B=$((B * 2)); A+=(--size $B); done\nrun ${A[@]}", "$"},
      {"for i in 1 2; do for j in 1 2; do B=8; done; done\nrun --size $B", "8"},
      {"B=2\n((B *= 2))\nrun --size $B", "$"},
      {"B=2\n(( B++ ))\nrun --size $B", "$"},
      {"B=2\nlet B*=2\nrun --size $B", "$"},
      {"B=2\nlet \"B = 4\"\nrun --size $B", "$"},
      {"A=2\nB=2\nif ((A == 2)); then run --y; fi\nrun --size $B", "2"},
      {"(cd x; B=4; run --size $B)", "4"},
      {"A=8\nif [ $A = 8 ]; then train --size 8; exit 0; fi\nrun --size 4", "8"},
      {"if [ $# -lt 1 ]; then echo usage; exit 1; fi\nrun --size 4", "4"},
      {"cd -- x\nif $X; then exit 1; fi\nrun --size 4", "4"},  // no flag before it
      {"docker pull --quiet x\nif [ -z \"$D\" ]; then exit 1; fi\nrun --size 4", "4"},
      {"run --size 8\n(train --y; exit)\nrun --size 4", "4"},
      {"B=8\ncat << EOF\nDon't wait\nEOF\nB=2\nrun --size $B --path 'x'", "2"}};
  for (const auto& row : rows) {
    INFO(row.first);
    if (row.second == "$")
      CHECK(holds(refusal_of([&] { value_of(row.first); }), "so that its value is not known"));
    else
      CHECK(value_of(row.first) == row.second);
  }
  // Calls of calls end.
  const auto doubled = [](int depth) {
    std::string calls = "f0() { run --size 4; }\n";
    for (int i = 1; i <= depth; ++i) {
      const std::string inner = "f" + std::to_string(i - 1);
      calls += "f" + std::to_string(i) + "() { " + inner + "; " + inner + "; }\n";
    }
    return calls + "f" + std::to_string(depth);
  };
  CHECK(value_of(doubled(10)) == "4");
  for (const std::string& script : {doubled(29), std::string("f() { f; }\nf\nrun --size 4")}) {
    INFO(script);
    CHECK(holds(refusal_of([&] { value_of(script); }), "too long or too deep"));
  }
}

TEST_CASE("foreign scripts: flags of lists that commands take") {
  CHECK(value_of("A=\"--size 4\"\nif [ 1 = 2 ]; then A=\"$A --size 8\"; fi\nrun $A") == "4");
  CHECK(value_of("A=(--size 4)\nA+=(\n  --size 8  # more\n)\nrun \"${A[@]}\" --y") == "8");
  CHECK(value_of("A=\"--size 4\"\nUNUSED=\"--size 8\"\nrun $A --y 3") == "4");
  CHECK(value_of("bash -c \"run --size 4 --y\"") == "4");
  CHECK(value_of("run --size\necho 4") == "true");
  CHECK(value_of("cat <<EOF\nit's\nEOF\nrun --size 4") == "4");
  CHECK(value_of("echo it's\nrun --size 4") == "4");
  // Scripts of a shell that hold some of Python, by their first line or their name.
  CHECK(value_of("#!/bin/bash\nA=$(python -c '\nimport os\n')\nrun --size 4") == "4");
  const std::string inner = "python - << E\nimport os\nE\nrun --size 4";
  CHECK(FlatSettings::read(inner, "f.slurm").find("size") == "4");
  // GPUs that the script does not tell are not asked for where they are given.
  const std::string some = "if $X; then N=8; fi\ntorchrun --nnodes 1 --nproc-per-node $N ";
  const std::string whole = some + "--micro-batch-size 1 --overlap-grad-reduce";
  CHECK(to_text(script_read(whole, 16, "llama3.1_8b").layout) == "dp16 zero0");
  CHECK(holds(refusal_of([&] { script_read(whole, 0, "llama3.1_8b"); }),
              "--nproc-per-node: is set below an if"));
  // One node unless it names more; 16 are usual where only a program would tell.
  const auto replicas_of = [](const std::string& launch) {
    return foreign_layout(FlatSettings::read(launch + " --micro-batch-size 1", "f"), {.usual = 16},
                          load_model("llama3.1_8b"))
        .layout.replicas;
  };
  CHECK(replicas_of("torchrun --nproc_per_node 8") == 8);
  CHECK(replicas_of("torchrun --nproc_per_node 2 --nnodes=2") == 4);
  CHECK(replicas_of("deepspeed --num_gpus 4") == 4);
  CHECK(replicas_of("deepspeed --num_nodes 2 --num_gpus 4") == 8);
  CHECK(replicas_of("N=`nvidia-smi -L | wc -l`\ntorchrun --nproc_per_node $N") == 16);
  // Below a test that is not known: what both branches say, and what they do not.
  const std::string unknown = "if [ \"$1\" = a ]; then A=\"--size 4\"; else A=\"--size ";
  CHECK(holds(refusal_of([&] { value_of(unknown + "8\"; fi\nrun $A"); }),
              "f: line 1: --size: is set below an if"));
  CHECK(value_of("run --size 4\n[ -f x ] && run --size 4") == "4");
  CHECK(holds(refusal_of([&] { value_of("A=$(cat x)\n[ $A = 1 ] && B=\"--size 4\"\nrun $B"); }),
              "--size: is set below an if"));
  // Nested as nobody nests, and doubled as nobody doubles.
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "if [ 1 = 1 ]; then ( ";
  CHECK_NOTHROW(FlatSettings::read(deep + "run --size 4", "f"));
  std::string doubled = "A=\"--size 4\"\n";
  for (int i = 0; i < 60; ++i) doubled += "A=\"$A $A\"\n";
  CHECK(holds(refusal_of([&] { FlatSettings::read(doubled + "run $A", "f"); }),
              "f: it is too long or too deep to be followed"));
}

TEST_CASE("foreign scripts: what stands for variables of MLPerf") {
  CHECK(to_text(script_read(": \"${TENSOR_MODEL_PARALLEL:=4}\"\n"
                            "if [ $TENSOR_MODEL_PARALLEL -gt 2 ]; then\n"
                            "  export PIPELINE_MODEL_PARALLEL=2\nfi\n",
                            16, "llama3.1_8b")
                    .layout) == "tp4 pp2 dp2 zero1 sp");
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
