// Which commands of a script count, and what shells of their own, builtins and texts for others
// change in it. Every value is what bash gives.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/flat_settings.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/script_sizes.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

const std::string micro = "--micro-batch-size ";
const std::string tensor = "--tensor-model-parallel-size ";

}  // namespace

TEST_CASE("foreign scripts: what shells of their own, functions and prefixes set ends with them") {
  check_sizes_of({{"B=8\n( B=2 )\nrun --size $B", "8"},
                  {"B=8\nB=2 run --size $B", "8"},
                  {"B=8\nf() { run --size $B; }\nB=2 f", "2"},
                  {"B=8\nf() { run --size $B; }\nB=2 f\nrun --size $B", "8"},
                  {"B=8\nf() { local B=2; }\nf\nrun --size $B", "8"},
                  {"B=8\nf() { declare B=2; }\nf\nrun --size $B", "8"},
                  {"B=8\nf() { declare -g B=2; }\nf\nrun --size $B", "2"},
                  {"B=8\ng() { run --size $B; }\nf() { local B=2; g; }\nf", "2"},
                  {"B=8\nf() { local B; B=2; }\nf\nrun --size $B", "8"},
                  {"B=8\necho a | { B=4; cat; }\nrun --size $B", "8"},
                  {"B=8\n{ B=4; } | cat\nrun --size $B", "8"},
                  {"B=8\nf() { B=4; }\nf | cat\nrun --size $B", "8"},
                  {"B=8\nf() { B=4; }\nf > /dev/null 2>&1\nrun --size $B", "4"},
                  {"B=8\n{ B=4; } &\nwait\nrun --size $B", "8"},
                  {"run 2>&1 --size 4", "4"},
                  {"B=8\n: '\n--size 4\n'\nrun --size $B", "8"},
                  {"B=8\nf() ( B=4 )\nf\nrun --size $B", "8"},
                  {"A=\"--size 4\"; A=\"${A} --y\"\nrun $A", "4"},
                  {"B=8\necho \"B=4\" > /dev/null\nrun --size $B", "8"},
                  {"B=8\nlocal_b() { local -i B=4 C=2; }\nlocal_b\nrun --size $B", "8"},
                  {"B=8\ncase x in x) B=4;; esac | cat\nrun --size $B", "8"}});
}

TEST_CASE("foreign scripts: builtins that set variables") {
  check_sizes_of(
      {{"B=8\nB=2 true\nrun --size $B", "8"},
       {"B=8\nif true; then B=4; fi | cat\nrun --size $B", "8"},
       {"B=8\nread B C <<< \"4 2\"\nrun --size $B", "4"},
       {"B=8\nread -r C B <<< \"4 2\"\nrun --size $B", "2"},
       {"B=8\nA=4,2\nIFS=, read -r C B <<< $A\nrun --size $B", "2"},
       {"B=8\nread -d '' B <<EOF\n4\nEOF\nrun --size $B", "4"},
       {"B=8\nprintf -v B \"%d\" 4\nrun --size $B", "4"},
       {"B=8\nprintf -v B '%s%s' 1 6\nrun --size $B", "16"},
       {"B=8\nunset B\nrun --size ${B:-2}", "2"},
       {"B=8\nunset -v B C\n[ -z \"$B\" ] && B=4\nrun --size $B", "4"},
       {"set -- 8 4\nrun --size $2", "4"},
       {"set -- --size 4\nrun \"$@\"", "4"},
       {"set -euo pipefail\nrun --size ${1:-8}", "8"},
       {"set -- a --size 4\nshift\nrun \"$@\"", "4"},
       {"A=(--size 8)\nA[1]=4\nrun \"${A[@]}\"", "4"},
       {"A=(--size 8)\nA[2]=--size\nA[3]=2\nrun \"${A[@]}\"", "2"},
       {"B=8\nif false; then B=4; fi\nrun --size $B", "8"},
       {"B=8\nX=false\nif $X; then B=4; fi\nrun --size $B", "8"},
       {"B=8\nX=true\nif $X; then B=4; else B=2; fi\nrun --size $B", "4"},
       {"B=8\nfalse && B=4\nrun --size $B", "8"},
       {"B=8\nfalse || B=4\nrun --size $B", "4"},
       {"B=8\nwhile false; do B=4; done\nrun --size $B", "8"},
       {"B=8\nwhile getopts \"t:\" o; do case $o in t) B=$OPTARG;; esac; done\nrun --size $B", "8"},
       {"B=8\nfor i in 1; do unset C; done\nrun --size $B", "8"},
       {"f() { run --size ${1:-8}; }\nset -- 4\nf \"$@\"", "4"},
       {"main() { B=8; while getopts \"t:\" o; do B=4; done; run --size $B; }\nmain \"$@\"", "8"},
       {"B=8; export B=4; readonly C=3\nrun --size $B", "4"},
       {"B=8\nmapfile -t A <<< \"x\"\nrun --size $B", "8"},
       {"B=8\ntrue && { B=4; }\nrun --size $B", "4"},
       {"B=8\n! false && B=4\nrun --size $B", "4"}});
  // What only running would tell.
  for (const std::string set :
       {"read B < file", "read -p 'size? ' B", "read -ra B <<< '4 2'", "mapfile -t B < file",
        "printf -v B %03d 4", "printf -v B %d $X", "read -n1 B", "B[$i]=2", "unset B[0]",
        "if $X; then unset B; fi", "readarray -d '' -t B", "IFS=: read -r B C <<< \"$X:2\""}) {
    INFO(set);
    CHECK(holds(refusal_of([&] { flag_in("B=8\n" + set + "\nrun --size $B", "size"); }),
                "so that its value is not known"));
  }
}

TEST_CASE("foreign scripts: here-documents and other texts that a shell runs") {
  check_sizes_of({{"B=8\neval \"B=4\"\nrun --size $B", "4"},
                  {"B=8\neval B=4\nrun --size $B", "4"},
                  {"C=\"run --size 4\"\neval $C", "4"},
                  {"C=\"run --size 4\"\neval \"$C\" 2>&1 | cat", "4"},
                  {"B=8\ncat > /dev/null <<EOF\nB=4\nrun --size 4\nEOF\nrun --size $B", "8"},
                  {"B=8\ncat > /dev/null <<-'EOF'\n\tB=4\n\tEOF\nrun --size $B", "8"},
                  {"B=8\ncat <<A > /dev/null; B=2\nB=4\nA\nrun --size $B", "2"},
                  {"B=8\ncat > /dev/null <<A <<C\nB=2\nA\nB=4\nC\nrun --size $B", "8"},
                  {"B=8\nexport B\nbash <<EOF\nrun --size $B\nEOF", "8"},
                  {"B=8\nbash <<EOF\nB=2\nrun --size $B\nEOF", "8"},
                  {"B=8\nbash <<EOF\nB=2\nrun --size \\$B\nEOF", "2"},
                  {"B=8\nbash <<'EOF'\nB=2\nrun --size $B\nEOF", "2"},
                  {"B=8\nbash <<EOF > /dev/null\nB=2\nEOF\nrun --size $B", "8"},
                  {"bash -c \"run --size 4\"", "4"},
                  {"B=8\nbash -c \"B=2; run --size $B\"", "8"},
                  {"B=8\nbash -c 'B=2; run --size $B'", "2"},
                  {"B=8\nB=2 bash -c 'run --size $B'", "2"},
                  {"B=8\nB=2 bash -c \"run --size $B\"", "8"},
                  {"B=8\nbash -c 'B=2'\nrun --size $B", "8"},
                  {"bash -c 'cd / && run --size 4 --y 2>&1'", "4"},
                  {"cat <<EOF | bash\nrun --size 4\nEOF", "4"},
                  {"(( B = 1 << 2 ))\nB=8\nrun --size $B", "8"}});
  // Of files that it writes and runs, or does not run.
  const std::string written = "cat > job.sh <<EOF\nrun --size 4\nEOF\n";
  for (const std::string ran : {"bash job.sh", "sbatch job.sh", "./job.sh", "srun bash job.sh",
                                "source job.sh", "chmod +x job.sh && ./job.sh"})
    CHECK(flag_in(written + ran, "size") == "4");
  CHECK(flag_in(written + "cat job.sh\nrun --size 8", "size") == "8");
  CHECK(flag_in(written + "rm job.sh", "size") == "nothing");
  CHECK(flag_in("tee job.sh <<EOF\nrun --size 4\nEOF\nsh job.sh", "size") == "4");
  CHECK(flag_in("cat <<EOF | sbatch\nrun --size 4\nEOF", "size") == "4");
  CHECK(flag_in("sbatch <<EOF\n#!/bin/bash\n#SBATCH -N 4\nsrun run --size 4\nEOF", "size") == "4");
  CHECK(flag_in("srun bash -c 'cd x; run --size 4'", "size") == "4");
  CHECK(flag_in("python - <<EOF\nB = 4\nprint('--size', B)\nEOF\nrun --size 8", "size") == "8");
  CHECK(holds(refusal_of([] { flag_in("A='eval $A'\neval $A", "size"); }), "too deep"));
}

// The others do what they do, with whatever flags.
TEST_CASE("foreign scripts: flags of the command that trains") {
  const std::string train = "torchrun pretrain_gpt.py " + micro + "1 --seq-length 4096\n";
  for (const std::string& other : std::vector<std::string>{
           "echo again with " + micro + "2 --seq-length 8", "grep '" + micro + "2' log",
           "printf '%s' \"" + micro + "2\"", "cat x | sed 's/" + micro + "1/" + micro + "2/'",
           "python tools/checkpoint/util.py " + micro + "2 --seq-length 8",
           "torchrun tools/run_text_generation_server.py " + micro + "2 --seq-length 8",
           "python -m tools.preprocess_data " + micro + "2", "python convert.py " + micro + "2",
           "python other.py " + micro + "2 --seq-length 8", "./warm_up --seq-length 8",
           ": " + micro + "2", "trap 'echo " + micro + "2' EXIT"}) {
    INFO(other);
    for (const std::string& script : {train + other + "\n", other + "\n" + train}) {
      CHECK(flag_in(script, "micro-batch-size") == "1");
      CHECK(flag_in(script, "seq-length") == "4096");
    }
  }
  // The flags of one program are not those of another that has none.
  CHECK(flag_in("python convert.py " + tensor + "4\ntorchrun train.py --num-layers 8",
                "tensor-model-parallel-size") == "nothing");
  CHECK(flag_in("echo torchrun train.py " + tensor + "4", "tensor-model-parallel-size") == "4");
  CHECK(flag_in("A=(" + tensor + "8)\necho usage: " + tensor + "4", "tensor-model-parallel-size") ==
        "8");
  CHECK(flag_in("CMD=\"torchrun train.py " + tensor + "4\"\necho $CMD\n$CMD",
                "tensor-model-parallel-size") == "4");
  CHECK(flag_in("run " + tensor + "8 > log 2>&1 " + micro + "2", "micro-batch-size") == "2");
}

// They are compared by the layouts that they give, and lines are those of the calls.
TEST_CASE("foreign scripts: two commands that train") {
  const auto layout_of = [](const std::string& script) {
    const FlatSettings settings = FlatSettings::read("#!/bin/bash\n" + script, "f");
    return to_text(foreign_layout(settings, {.given = 16}, load_model("llama3.1_8b")).layout);
  };
  const std::string first = "torchrun pretrain_a.py " + tensor + "8 --lr 1 --save x\n";
  for (const std::string& second : std::vector<std::string>{
           "torchrun pretrain_a.py " + tensor + "8 --lr 2 --load x",
           "torchrun pretrain_a.py " + tensor + "8 --max-timestep-boundary 2",
           "torchrun pretrain_b.py " + micro + "1 " + tensor + "8 --split 9,1"})
    CHECK(layout_of(first + second) == "tp8 dp2 zero0 overlap=off");
  const auto refused = [](const std::string& lines, const std::string& layouts) {
    return "f: the commands in line " + lines +
           " have flags of a layout, and which of them trains is not clear (" + layouts +
           "); give the file without the other";
  };
  const std::string one = "tp8 dp2 zero0 overlap=off";
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"torchrun pretrain_b.py " + tensor + "4", one + ", or tp4 dp4 zero0 overlap=off"},
           {"torchrun finetune.py " + tensor + "8 " + micro + "2",
            one + ", or tp8 dp2 mbs2 zero0 overlap=off"},
           {"torchrun finetune.py " + tensor + "8 --seq-length 64",
            one + ", or " + one + " with sequences of 64"},
           {"torchrun finetune.py " + tensor + "3", one + ", or a layout that cannot be read"}})
    CHECK(holds(refusal_of([&] { layout_of(first + row.first); }),
                refused("2 and line 3", row.second)));
  const std::string two = "a " + micro + "1\nb " + micro + "2";
  CHECK(holds(refusal_of([&] { layout_of(two); }), "the commands in line 2 and line 3"));
  // Words that are expanded lie in the line of the command, and those of functions where they are
  // called.
  const std::string python = "P=python\n\n$P pretrain.py " + micro + "1\n$P pretrain.py " + micro;
  CHECK(layout_of(python + "1 --a 2") == "dp16 zero0 overlap=off");
  CHECK(holds(refusal_of([&] { layout_of(python + "2"); }), "in line 4 and line 5"));
  const std::string called = "f() { python pretrain.py " + micro + "$1; }\n\nf 1\nf ";
  CHECK(layout_of(called + "1") == "dp16 zero0 overlap=off");
  CHECK(holds(refusal_of([&] { layout_of(called + "2"); }), "in line 4 and line 5"));
}

TEST_CASE("foreign scripts: an exit, and what stands behind it") {
  const auto read = [](const std::string& script) {
    return foreign_layout(FlatSettings::read("#!/bin/bash\n" + script, "f"), {.given = 16},
                          load_model("llama3.1_8b"));
  };
  // A check that failed: a command with flags before it, which is no training.
  const std::string train = "torchrun pretrain.py " + tensor + "4\n";
  const std::string check = "docker pull --quiet x\nif [ -z \"$DATA\" ]; then\n  exit 1\nfi\n";
  const ForeignLayout checked = read(check + train);
  CHECK(to_text(checked.layout) == "tp4 dp4 zero0 overlap=off");
  CHECK_FALSE(has_note(checked, "by exit"));
  CHECK_FALSE(has_note(read(train + "exit 0\n"), "by exit"));
  CHECK(has_note(read(train + "exit 0\ntorchrun finetune.py " + tensor + "8"),
                 "the script ends at line 3, by exit: what stands behind it is not read"));
  CHECK(holds(refusal_of([&] { read("./train --size 8\nexit\n" + train); }),
              "; the script ends at line 3, by exit"));
}

// Words of eval that may differ leave the others as they are.
TEST_CASE("foreign scripts: eval of words that are known, and others") {
  const std::string ranks = "for ((i = 1; i < $N; i++)); do R=\"$R $i\"; done\n";
  check_sizes_of({{ranks + "C=\"run --size 4 --ranks $R\"\neval $C", "4"},
                  {ranks + "C=\"run --ranks $R --size 4\"\neval $C", "4"},
                  {ranks + "eval run --size 4 --ranks \"$R\" --y", "4"},
                  {"if $X; then A=--a; fi\nB=8\neval run $A --size $B", "8"}});
  for (const char* script : {"if $X; then B=2; fi\neval run --size $B",
                             "if $X; then B='B=2; C'; fi\neval $B\n"
                             "run --size $B"}) {
    INFO(script);
    CHECK(holds(refusal_of([&] { flag_in(std::string("B=8\n") + script, "size"); }),
                "is set below an if"));
  }
}

TEST_CASE("foreign scripts: flags that a broken line cuts off") {
  const std::string begin = "torchrun pretrain_gpt.py " + micro + "1 \\\n";
  for (const std::string& rest : std::vector<std::string>{
           "  --y \\\n  # --z \\\n  " + tensor + "8", "  --y   # one \\\n\n  " + tensor + "8",
           "  --y \\ \n\n  " + tensor + "8", "  --y\n\n  " + tensor + "8"}) {
    INFO(rest);
    CHECK(holds(refusal_of([&] { flag_in(begin + rest, "micro-batch-size"); }),
                "f: line 5: bash ends the command above here, so that "
                "--tensor-model-parallel-size is taken for a program"));
  }
  const std::string list = "A=(" + tensor + "8)\n" + begin + "  # --z \\\n  ${A[@]} --y";
  CHECK(holds(refusal_of([&] { flag_in(list, "micro-batch-size"); }), "f: line 5: bash ends"));
  // Lines of YAML, and of flags alone, are one command.
  const std::string list_of_yaml = "args:\n  - --micro-batch-size=2\n  - " + tensor + "8\n";
  const std::string folded = "job: >\n  run " + micro + "2\n  " + tensor + "8\n";
  const std::string alone = micro + "2\n" + tensor + "8\n";
  const std::string merged = "a: &a\n  b: 1\nc:\n  <<: *a\n" + list_of_yaml;
  for (const std::string& text : {list_of_yaml, folded, alone, merged}) {
    const FlatSettings settings = FlatSettings::read(text, "f.yaml");
    CHECK(settings.find("micro-batch-size") == "2");
    CHECK(settings.find("tensor-model-parallel-size") == "8");
  }
  // Comments within a list of words, and flags that are all that a file has.
  CHECK(flag_in("A=(\n  --size 4  # four\n  # --size 8\n  --y\n)\nrun ${A[@]}", "size") == "4");
  CHECK(flag_in("# mine\n--size 4\n--y", "size") == "4");
  CHECK(FlatSettings::read("--size 4\n--y 3\n", "f").find("y") == "3");
}

}  // namespace sgdsim
