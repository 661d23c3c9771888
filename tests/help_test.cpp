// What `--help` says: at every level, in 80 columns.
#include <cctype>
#include <doctest/doctest.h>
#include <sstream>

#include "tests/command_words.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

// The list of commands is found in the help itself, so a new one is looked at too.
void check_help(const Words& command) {
  const Ran ran = run_sgdsim(with(command, {"--help"}));
  INFO((command.empty() ? "sgdsim" : command.back()));
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.empty());
  CHECK(ran.out.find("Example") != std::string::npos);
  CHECK(ran.out.find("\n  sgdsim ") != std::string::npos);
  // Options are words with dashes, and positionals in capitals; a description goes on at column 29.
  std::istringstream lines(ran.out.substr(0, ran.out.find("Example")));
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= 80);
    const bool is_name = line.starts_with("  ") && line.size() > 2 && std::islower(line[2]) != 0;
    if (is_name) check_help(with(command, {line.substr(2, line.find(' ', 2) - 2)}));
  }
}

TEST_CASE("command line: help at every level, with an example, in 80 columns") { check_help({}); }

TEST_CASE("command line: help in groups, with what values are, and by a word") {
  const Ran all = run_sgdsim({"--help"});
  for (const char* group : {"\nAsk:\n", "\nLook:\n", "\nConvert:\n", "\nCheck:\n"})
    CHECK(all.out.find(group) != std::string::npos);
  CHECK(all.out.find("Subcommands:") == std::string::npos);  // every command has a group
  CHECK(run_sgdsim({"help"}).out == all.out);
  const Ran run = run_sgdsim({"help", "run"});
  CHECK(run.exit_code == 0);
  CHECK(run.out == run_sgdsim({"run", "--help"}).out);
  CHECK(run.out.find("--cluster FILE") != std::string::npos);
  CHECK(run.out.find("--max-sim-time TIME") != std::string::npos);
  CHECK(run.out.find(" TEXT") == std::string::npos);
  CHECK(run_sgdsim({"help", "colective"}).exit_code == 2);
}

}  // namespace
}  // namespace sgdsim
