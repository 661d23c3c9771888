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

// Processes of "mpirun -np 128" and "srun -n 16", one for each GPU; 0: it does not say.
int64_t processes_launched(const std::vector<std::string>& words);

// A script that one of the commands starts: "train.sh" of "srun -n 16 bash train.sh"; empty: none.
std::string script_started(const std::vector<std::string>& words);
// The one that a launcher with counts starts, so that GPUs follow from what is in it.
std::string script_launched(const std::vector<std::string>& words);

}  // namespace sgdsim
