// The command of a run, as a shell shows it before what the run prints (`set -x`, a prompt).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/measurement/measurement.h"

namespace sgdsim {

inline constexpr char command_setting[] = "command";

struct RunCommand {
  std::string text;  // without the sizes and repetitions that it asks for, and without its files
  int ranks = 0;     // that its launcher starts; 0: it does not say
};

// Of a program whose name begins or ends so: "osu_", "IMB-", "_perf". A line that only names the
// program among other words is none.
std::optional<RunCommand> run_command_in(const std::vector<std::string_view>& words,
                                         std::string_view program);

// What two commands do not have in common, as one of them has it: "-x UCX_TLS=tcp".
std::string words_apart(const std::string& command, const std::vector<std::string>& others);

}  // namespace sgdsim
