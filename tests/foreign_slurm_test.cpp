// Headers of Slurm in scripts that are given as layouts: which variables they set, and what srun
// takes of them. Expected values are those of sbatch's and srun's manual, and products by hand.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

using SlurmRows = std::vector<std::pair<std::string, std::string>>;

ForeignLayout job_read(const std::string& script, int64_t gpus = 0) {
  return foreign_layout(FlatSettings::read("#!/bin/bash\n" + script, "f"),
                        {.given = gpus, .usual = 32}, load_model("llama3.1_70b"));
}

const std::string trained =
    "pretrain_gpt.py --tensor-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 512 "
    "--seq-length 4096 --bf16\n";

// Of "--size $NAME" of a script with this header.
std::string given_by(const std::string& header, const std::string& name) {
  const FlatSettings settings =
      FlatSettings::read("#!/bin/bash\n" + header + "\npython train.py --size " + name + "\n", "f");
  return settings.find("size").value_or("");
}

}  // namespace

TEST_CASE("foreign Slurm: nodes and GPUs of the header") {
  const std::string body =
      "NNODES=${SLURM_NNODES:-1}\nGPUS_PER_NODE=${SLURM_GPUS_ON_NODE:-8}\n"
      "srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE " +
      trained;
  // 16 x 8 GPUs are 16 replicas of 8, and 512 sequences 32 of each; one node of 8 is one replica.
  for (const auto& [header, layout] :
       SlurmRows{{"#SBATCH --nodes=16\n#SBATCH --gpus-per-node=8\n", "tp8 dp16 ga32"},
                 {"#SBATCH -N 16 --gres=gpu:h100:8  # all\n", "tp8 dp16 ga32"},
                 {"#SBATCH -N16\n# a comment\n\n#SBATCH --gres gpu:8,nvme:1\n", "tp8 dp16 ga32"},
                 {"#SBATCH --nodes=2\n#SBATCH --nodes=16 --gpus=128\n", "tp8 dp16 ga32"},
                 {"##SBATCH --nodes=16\n", "tp8 ga512"},
                 {"TP=8\n#SBATCH --nodes=16\n", "tp8 ga512"},
                 {"#SBATCH --nodes=16\nexport SLURM_NNODES=4\n", "tp8 dp4 ga128"},
                 {"", "tp8 ga512"}}) {
    const std::string script = header + body;
    INFO(script);
    CHECK(to_text(job_read(script).layout) == layout + " zero0 overlap=off");
  }
}

TEST_CASE("foreign Slurm: which variables a job has") {
  const std::string header =
      "#SBATCH --nodes=4 --ntasks-per-node=8\n#SBATCH --gpus-per-node=h100:8 -c 16";
  for (const auto& row : SlurmRows{{"$SLURM_NNODES", "4"},
                                   {"$SLURM_JOB_NUM_NODES", "4"},
                                   {"$SLURM_NTASKS", "32"},
                                   {"$SLURM_NPROCS", "32"},
                                   {"$SLURM_NTASKS_PER_NODE", "8"},
                                   {"$SLURM_GPUS_ON_NODE", "8"},
                                   {"$SLURM_GPUS_PER_NODE", "h100:8"},
                                   {"$SLURM_CPUS_PER_TASK", "16"},
                                   {"${SLURM_GPUS:-none}", "none"},
                                   {"$((SLURM_NNODES * SLURM_GPUS_ON_NODE))", "32"}}) {
    INFO(row.first);
    CHECK(given_by(header, row.first) == row.second);
  }
  // 128 tasks, 8 on each node; one task for each GPU; GPUs of each task.
  CHECK(given_by("#SBATCH -n 128 --tasks-per-node 8", "$SLURM_NNODES") == "16");
  CHECK(given_by("#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-gpu=1", "$SLURM_NTASKS") == "8");
  CHECK(given_by("#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-task=2", "$SLURM_GPUS_ON_NODE") ==
        "8");
  CHECK(given_by("#SBATCH -N 2 -G 16", "$SLURM_GPUS_ON_NODE") == "8");
  CHECK(given_by("#SBATCH -N 2 -G 16\n#SBATCH hetjob\n#SBATCH -N 5", "$SLURM_NNODES") == "2");
  // Nobody says how many nodes: as before.
  CHECK(given_by("#SBATCH --job-name=x", "${SLURM_NNODES:-1}") == "1");
  CHECK(given_by("#SBATCH --nodes=1\ncat > a <<EOF\nx\nEOF", "${SLURM_NNODES:-3}") == "1");
  CHECK(given_by("cat > job.sh <<'EOF'\n#SBATCH --nodes=6\npython train.py --size $SLURM_NNODES\n"
                 "EOF\nsbatch job.sh\nexit\n",
                 "1") == "6");
}

TEST_CASE("foreign Slurm: the branch of a job is taken") {
  const std::string header = "#SBATCH --nodes=2 --gpus-per-node=8\n";
  for (const std::string test : {"-z \"$SLURM_NNODES\"", "-z \"${SLURM_JOB_ID}\"",
                                 "! -n \"$SLURM_JOB_NODELIST\"", "-z \"${SLURM_PROCID:-}\""}) {
    const std::string script = "if [ " + test + " ]; then N=1; else N=2; fi\n" +
                               "torchrun --nnodes $N --nproc-per-node 8 " + trained;
    INFO(script);
    CHECK(job_read(header + script).layout.gpus() == 16);
    CHECK(job_read(script).layout.gpus() == 8);
  }
}

TEST_CASE("foreign Slurm: srun takes from the header what it does not say") {
  const std::string header = "#SBATCH --nodes=16 --ntasks-per-node=8\n";
  for (const auto& [script, gpus] : std::vector<std::pair<std::string, int64_t>>{
           {header + "srun python ", 128},
           {header + "srun -N 4 python ", 32},
           {header + "srun --nodes=4 python ", 32},
           {header + "srun --ntasks-per-node 4 python ", 64},
           {header + "srun -n 8 python ", 8},
           {"#SBATCH -n 64\nsrun python ", 64},
           {header + "srun ./bind.sh python ", 128},
           {header + "export SLURM_NTASKS=16\n"
                     "srun python ",
            16}}) {
    const std::string text = script + trained;
    INFO(text);
    CHECK(job_read(text).layout.gpus() == gpus);
  }
  // Nodes alone do not say how many processes there are.
  CHECK(has_note(job_read("#SBATCH --nodes=4\nsrun python " + trained),
                 "GPUs: those of the cluster, 32, because the script names none"));
  // Where a launch says nothing, the job's GPUs are all there are.
  const ForeignLayout job =
      job_read("#SBATCH --nodes=16 --gpus-per-node=8\nsrun bash run.sh " + trained);
  CHECK(job.layout.gpus() == 128);
  CHECK(has_note(job, "GPUs: those of the job, 128, as its lines of #SBATCH say; --gpus says"));
}

TEST_CASE("foreign Slurm: a range of nodes is not known") {
  const std::string header = "#SBATCH --nodes=2-4\n";
  const std::string launch = "torchrun --nnodes ${SLURM_NNODES:-1} --nproc-per-node 8 " + trained;
  CHECK(refusal_of([&] { job_read(header + launch); }) ==
        "f: line 3: --nnodes: is what Slurm gives the job when it runs, so that the number of "
        "GPUs is not known; give --gpus");
  CHECK(job_read(header + launch, 16).layout.gpus() == 16);
}

}  // namespace sgdsim
