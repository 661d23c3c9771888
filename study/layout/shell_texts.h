// Texts within a shell script that a shell runs: which commands do so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/layout/shell_tokens.h"

namespace sgdsim {

struct ShellText {
  std::string text;
  int line = 0;             // of its first
  bool may_differ = false;  // a variable in it may
};

// "bash", "/bin/sh".
bool is_shell_name(const std::string& word);
// Of "bash -c TEXT", also behind other words; null: none.
const ShellToken* text_of_shell(std::span<const ShellToken> command);
// "bash", "sbatch" and the like, which run what they read where they name no file.
bool runs_input(std::span<const ShellToken> command);
// By "cat > FILE" and "tee FILE"; empty: none.
std::string file_written(std::span<const ShellToken> command);
// Words that may be files which the command runs.
std::vector<std::string> files_run(std::span<const ShellToken> command);

}  // namespace sgdsim
