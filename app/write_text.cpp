// Results of a command: to a file or to standard output.
#include "app/write_text.h"

#include <CLI/CLI.hpp>

#include "sim/core/output.h"

namespace sgdsim {

void write_text(const std::string& text, const std::string& file, std::ostream& out) {
  if (file == "-")
    out << text;
  else
    write_file(text, file);
}

void add_force_option(CLI::App& command, bool& force) {
  command.add_flag("--force", force, "replace an output file that holds something else");
}

}  // namespace sgdsim
