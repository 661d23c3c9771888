// On how many GPUs a file says that it runs: by nodes and what each has, by its launch, or by the
// header of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/layout/flat_settings.h"

namespace sgdsim {

// 1 of what is not there; refused, with --gpus as the way out, where it is no number: "auto",
// "1:4", what only an environment has.
int64_t gpus_of_nodes(const FlatSettings& settings, const std::vector<std::string>& nodes,
                      const std::vector<std::string>& per_node);

// Of scripts: as launchers say it (torchrun, deepspeed, accelerate, slime, the environment of
// ms-swift, MPI and Slurm), on one node unless it names more. 0: nobody says.
int64_t gpus_of_launch(const FlatSettings& settings);

// Of a script with a header of Slurm: what the job gets; 0: it does not say.
int64_t gpus_of_job(const FlatSettings& settings);

// Why a launch does not say it.
std::string gpus_unsaid(const FlatSettings& settings);

}  // namespace sgdsim
