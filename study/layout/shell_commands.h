// Which of a script's commands is the training.
#pragma once

#include <string>
#include <vector>

#include "study/layout/shell_variables.h"

namespace sgdsim {

// The command that trains first, and others that may train and have other flags. Where no command
// has flags, the words of `assigned`. InputError names the file.
std::vector<ShellCommand> commands_that_count(const ShellList& words, const ShellList& assigned,
                                              const std::string& file);

// "srun -N 16" of the words of "srun -N 16 bash -c TEXT" or "mpirun -np 8 ./job.sh"; none: nothing.
ShellList launch_of(const ShellList& command);
// Puts it before each command from `begin` on that trains, as if it launched that one.
void put_before(ShellList& words, std::size_t begin, const ShellList& launch);

// Whether it has flags and trains: by its name, or by flags of a layout.
bool is_training(const ShellList& command);

}  // namespace sgdsim
