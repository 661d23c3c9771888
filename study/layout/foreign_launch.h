// What the words of a launch say that are no flags of the training: by whom, and how often.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sgdsim {

// "megatron sft" of ms-swift, or its script.
bool is_swift_launch(const std::vector<std::string>& words);

// "accelerate launch", whose --num_processes are those of all nodes.
bool is_accelerate(const std::vector<std::string>& words);

// Of a job of Slurm, which srun takes where its own options do not say it; 0: nobody says.
struct SlurmCounts {
  int64_t nodes = 0;
  int64_t tasks = 0;
  int64_t tasks_of_node = 0;
};

// Processes of "mpirun -np 128" and "srun -n 16", one for each GPU; 0: it does not say.
int64_t processes_launched(const std::vector<std::string>& words, const SlurmCounts& job);

// A script that one of the commands starts: "train.sh" of "srun -n 16 bash train.sh"; empty: none.
std::string script_started(const std::vector<std::string>& words);
// The one that a launcher with counts starts, so that GPUs follow from what is in it.
std::string script_launched(const std::vector<std::string>& words, const SlurmCounts& job);

}  // namespace sgdsim
