// The header of a job of Slurm: lines "#SBATCH --nodes=16" before the first command.
#pragma once

#include <map>
#include <string>

#include "study/layout/shell_script.h"

namespace sgdsim {

// What Slurm sets before such a script begins, as far as its header says it: SLURM_NNODES and the
// like. Nothing where there is no header. `line`: the number of the first.
std::map<std::string, ShellWord> slurm_variables(const std::string& text, int line);

}  // namespace sgdsim
