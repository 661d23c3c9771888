// The commands of `sgdsim`: one file and one line each.
//
// A command adds its options to the parser and, if it is the one that was called, does its work in
// its callback: results go to `out`, everything else to `log`. It returns nothing; bad input is an
// InputError, which main turns into exit code 2.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

namespace sgdsim {

struct Streams {
  std::ostream& out;
  std::ostream& log;
};

void add_collective_command(CLI::App& program, Streams streams);
void add_list_command(CLI::App& program, Streams streams);
void add_schema_command(CLI::App& program, Streams streams);
void add_export_command(CLI::App& program, Streams streams);
void add_import_command(CLI::App& program, Streams streams);

// The whole program: parses, runs, and returns the exit code.
int run_program(const std::vector<std::string>& arguments, Streams streams);

}  // namespace sgdsim
