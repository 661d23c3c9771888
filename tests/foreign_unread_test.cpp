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

}  // namespace

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
  CHECK(gpus_of("srun -n 16 ./train.sh " + batches_said + degree_said) == 0);
  CHECK(gpus_of("accelerate launch --num_processes $N " + python.substr(10)) == 0);
  // Those of the text alone, not what stands behind it.
  CHECK(gpus_of("srun -n 16 bash -c 'hostname'\n" + python) == 0);
}

}  // namespace sgdsim
