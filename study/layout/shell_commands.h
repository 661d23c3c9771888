// Which of a script's commands is the training.
#pragma once

#include <string>

#include "study/layout/shell_variables.h"

namespace sgdsim {

// The words that count: of the command that trains; where no command has flags, of `assigned`.
// InputError names the file, and the lines where two commands train in different ways.
ShellList words_that_count(const ShellList& words, const ShellList& assigned,
                           const std::string& file);

// Whether it has flags, and is none of the tools for texts and files that a shell has.
bool is_launch(const ShellList& command);

}  // namespace sgdsim
