// How `--help` looks: 80 columns, what a value is, and commands in groups.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sgdsim {

// All of the program's commands are there.
void arrange_help(CLI::App& program);

// `sgdsim help run` asks what `sgdsim run --help` does.
std::vector<std::string> with_help_asked(std::vector<std::string> arguments);

}  // namespace sgdsim
