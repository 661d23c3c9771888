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

// Whether it has flags and trains: by its name, or by flags of a layout.
bool is_training(const ShellList& command);

}  // namespace sgdsim
