// Words of a command that may hold any flags, because only running the script would tell: "$ARGS"
// of no known value, "$(cat FILE)".
#pragma once

#include <set>
#include <string>
#include <vector>

#include "study/layout/shell_script.h"

namespace sgdsim {

// Those that stand by themselves among the arguments of a program, not as the value of a flag.
// `unset`: variables that are known to be nothing.
std::vector<ShellWord> words_not_known(const std::vector<ShellWord>& words,
                                       const std::set<std::string>& unset);

// What a program prints, "$(cat FILE)", or what a shell gets from outside, "$@".
bool is_substitution(const std::string& word);
bool is_parameter(const std::string& word);

// Whether a file that a script sources is one of those that make commands known, as "activate".
bool sets_up_shell(const std::string& file);

}  // namespace sgdsim
