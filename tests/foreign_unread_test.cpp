// Scripts of which a part stands elsewhere: words that only running them would tell, other files,
// and counts of launchers that start a shell.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

ForeignLayout script_read(const std::string& script) {
  return foreign_layout(FlatSettings::read("#!/bin/bash\n" + script, "f"), {.usual = 32},
                        load_model("llama3.1_8b"));
}

const std::string launched = "torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py ";
const std::string batches_said =
    "--bf16 --micro-batch-size 1 --global-batch-size 64 --seq-length 4096 ";
const std::string degree_said = "--tensor-model-parallel-size 2 ";
const std::string training = launched + batches_said + "--use-distributed-optimizer ";

}  // namespace

TEST_CASE("foreign scripts: words that may hold any flags are refused") {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [script, word] :
       Rows{{training + "$(cat args.txt)", "line 2: $(cat args.txt)"},
            {training + "`cat args.txt`", "line 2: `cat args.txt`"},
            {training + "$(< args.txt)", "line 2: $(< args.txt)"},
            {training + "\"$(cat args.txt)\"", "line 2: $(cat args.txt)"},
            {training + "$(python3 layout_args.py)", "line 2: $(python3 layout_args.py)"},
            {training + "\\\n  --lr 1 $(cat args.txt)", "line 3: $(cat args.txt)"},
            {"A=$(cat args.txt)\n" + training + "$A", "line 2: $(cat args.txt)"},
            {"A=`cat args.txt`\n" + training + "$A", "line 2: `cat args.txt`"},
            {"A=(--lr 1 $(cat x))\n" + training + "${A[@]}", "$(cat x)"},
            {"f() { " + training + "\"$@\"; }\nf $(cat x)", "$(cat x)"},
            {"mapfile -t A < args.txt\n" + training + "${A[@]}", "line 2: $A"},
            {"source parallel.sh\n" + training + "${PARALLEL_ARGS[@]}",
             "${PARALLEL_ARGS[@]} may hold any flags, and which ones is not known without running "
             "the script (parallel.sh is not read); write them there, or leave it out"},
            {training + "$EXTRA_ARGS", "$EXTRA_ARGS may hold"},
            {training + degree_said + "$MODEL_PARALLEL_ARGS", "$MODEL_PARALLEL_ARGS may hold"},
            {training + degree_said + "$(cat args.txt)", "$(cat args.txt) may hold"},
            {launched + "$(cat args.txt)", "$(cat args.txt) may hold"},
            {launched + "--seq-length 4096 --yaml-cfg args.yaml", "--yaml-cfg: says the layout"},
            {training + "--yaml-cfg args.yaml", "--yaml-cfg: says the layout in a file of its own"},
            {training + "--config-file args.yaml", "--config-file: says the layout in a file"}}) {
    const std::string text = script;
    const std::string refusal = refusal_of([&text] { script_read(text); });
    INFO(text);
    INFO(refusal);
    CHECK(holds(refusal, word));
  }
}

TEST_CASE("foreign scripts: words that may be none, and files beside, are noted") {
  const std::string with_degree = training + degree_said;
  using Rows = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [script, note] :
       Rows{{with_degree + "$EXTRA_ARGS \"$@\"",
             "flags that $EXTRA_ARGS, $@ may hold are not known"},
            {training + "\"$@\"", "flags that $@ may hold are not known and not read"},
            {with_degree + "${@:2}", "flags that ${@:2} may hold"},
            {"source models/8b.sh\n" + with_degree + "${MODEL_ARGS[@]}", "${MODEL_ARGS[@]}"},
            {"source models/8b.sh\n" + with_degree, "sources is not read: models/8b.sh"},
            {"D=\"$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" &>/dev/null && pwd)\"\n"
             "source \"${D}/models/8b.sh\"\n" +
                 with_degree,
             "&& pwd)/models/8b.sh"},
            {". ./env.sh\n" + with_degree, "what the script sources is not read: ./env.sh"},
            {with_degree + "--config-file x.yaml", "the file of --config-file is not read"},
            {training + "--use-checkpoint-args", "what the checkpoint of --use-checkpoint-args"},
            {with_degree + "--virtual-pipeline-model-parallel-size 2",
             "--virtual-pipeline-model-parallel-size is not read"},
            {with_degree + "--encoder-tensor-model-parallel-size 2",
             "--encoder-tensor-model-parallel-size is not read"},
            {with_degree + "--outer-dp-sharding-strategy optim",
             "--outer-dp-sharding-strategy is not read"}}) {
    const std::string text = script;
    INFO(text);
    CHECK(has_note(script_read(text), note));
  }
  // Values of flags, of launchers and of lists; what is set; commands that make a shell ready.
  for (const std::string& script : std::vector<std::string>{
           with_degree + "--save $CHECKPOINT --rdzv-id $(date +%s) --load \"$(pwd)\"",
           with_degree + "--data-path 0.5 $A 0.5 $B --exit-signal $SIG",
           "torchrun $DISTRIBUTED_ARGS " + launched.substr(9) + batches_said + degree_said,
           "torchrun --nproc-per-node 8 $HOSTS pretrain_gpt.py " + batches_said + degree_said,
           "EXTRA=\n" + with_degree + "$EXTRA ${MORE:-} ${OTHER:+--bf16}",
           "A=(--lr 1)\n" + with_degree + "${A[@]} $((1 + $N))",
           "source /opt/venv/bin/activate\nsource ~/.bashrc\nmodule load x\n" + with_degree,
           "DIR=`dirname $0`\ncd $DIR\n" + with_degree + "--save $DIR/x",
           "[ \"${FP8:-0}\" = 1 ] && A=\"--fp8-format e4m3\"\nif false; then B=(--x); fi\n" +
               with_degree + "$A ${B[@]}",
           with_degree + "--outer-dp-sharding-strategy no_shard"}) {
    INFO(script);
    const ForeignLayout found = script_read(script);
    CHECK_FALSE(has_note(found, "not read"));
    CHECK(found.layout.tensor == 2);
  }
}

TEST_CASE("foreign scripts: what backticks hold is one word") {
  const auto size_in = [](const std::string& script) {
    return FlatSettings::read("#!/bin/bash\n" + script, "f").find("size").value_or("nothing");
  };
  CHECK(size_in("A=`cat x`\nB=8\nrun --size $B") == "8");
  CHECK(size_in("B=8\nrun --size $B --name `date +%s --utc` --y") == "8");
  CHECK(size_in("B=8\nrun --size `nproc --all`") == "`nproc --all`");
  CHECK(size_in("B=8\nrun --name \"`hostname -f` x\" --size $B") == "8");
  CHECK(size_in("B=8\necho 'a ` b'\nrun --size $B\necho 'c ` d'") == "8");
}

TEST_CASE("foreign scripts: launchers of a shell, of a wrapper, and accelerate") {
  const std::string python = "python -u pretrain_gpt.py " + batches_said + degree_said;
  const auto gpus_of = [](const std::string& script) {
    const ForeignLayout found = script_read(script);
    const bool is_named = !has_note(found, "because the script names none");
    return is_named ? found.layout.gpus() : 0;
  };
  for (const std::string& script : std::vector<std::string>{
           "srun -N 2 --ntasks-per-node 8 bash -c '" + python + "'",
           "srun --nodes=2 --ntasks-per-node=8 --container-image x sh -c \"cd a && " + python +
               "\"",
           "run_cmd=\"" + python + "\"\nsrun -l --nodes=2 --ntasks-per-node=8 sh -c \"${run_cmd}\"",
           "mpirun -n 16 --map-by ppr:8:node bash -c \"" + python + "\"",
           "mpirun -np 16 ./bind.sh " + python, "mpirun -np 16 ./bind.sh --cpu=node " + python,
           "srun -n 16 bash wrap.sh " + python,
           "cat > job.sh <<EOF\n" + python + "\nEOF\nsrun -n 16 bash job.sh",
           "srun -n 16 bash <<EOF\n" + python + "\nEOF",
           "accelerate launch --num_processes 16 --num_machines 2 " + python.substr(10)}) {
    INFO(script);
    CHECK(gpus_of(script) == 16);
  }
  // One process of each node starts those of its GPUs.
  for (const std::string& script : std::vector<std::string>{
           "srun -N 2 --ntasks-per-node 1 bash -c '" + launched + batches_said + degree_said + "'",
           "srun -n 4 bash -c 'torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py " +
               batches_said + degree_said + "'"})
    CHECK(gpus_of(script) == 32);
  CHECK(gpus_of("accelerate launch --num_processes $N " + python.substr(10)) == 0);
  // Those of the text alone, not what stands behind it.
  CHECK(gpus_of("srun -n 16 bash -c 'hostname'\n" + python) == 0);
}

// What a launcher starts may start GPUs of its own: its counts are there, and not what they mean.
TEST_CASE("foreign scripts: a script that is started, and not given, is named") {
  for (const std::string& launch : std::vector<std::string>{
           "srun -N 2 --ntasks-per-node 8 bash train.sh ", "srun -n 16 ./train.sh ",
           "mpirun -np 16 bash -x train.sh ",
           "srun -n 16 bash -c 'bash train.sh $A'\nA=1 srun -n 16 sh train.sh "}) {
    INFO(launch);
    const ForeignLayout found = script_read(launch + batches_said + degree_said);
    CHECK(found.layout.gpus() == 32);
    CHECK(!has_note(found, "the script names none"));
    CHECK(has_note(found,
                   "GPUs: those of the cluster, 32, because each process of its launcher runs"));
    CHECK(has_note(found, "train.sh, which is not given and may start several; --gpus says how"));
  }
  CHECK(has_note(script_read("bash train.sh " + batches_said + degree_said),
                 "because the script names none"));
  for (const std::string& script :
       std::vector<std::string>{"#SBATCH --nodes=2\nsrun -N 2 --ntasks-per-node 8 bash train.sh",
                                "TP=2\nmpirun -np 16 ./train.sh $TP",
                                "torchrun --nproc-per-node 8 train.sh", "cd x\nbash train.sh 4"}) {
    INFO(script);
    CHECK(holds(refusal_of([&] { script_read(script); }),
                "f: it has no flags of a layout, and starts"));
    CHECK(holds(refusal_of([&] { script_read(script); }),
                "train.sh, which is not given: where the flags are there, give that file, and "
                "--gpus"));
  }
  CHECK(holds(refusal_of([&] { script_read("python prepare.py --x 1"); }), "f: expected a layout"));
}

}  // namespace sgdsim
