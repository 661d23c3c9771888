// A command that there is not is one, whatever else the line asks for.
#include <doctest/doctest.h>

#include "tests/run_program.h"

namespace sgdsim {

using Words = std::vector<std::string>;

// CLI11 answers --help and --version before it looks for the command.
TEST_CASE("command line: an unknown command is one beside --help and --version, too") {
  for (const char* flag : {"--help", "-h", "--version"})
    for (const bool is_first : {false, true}) {
      INFO(flag, is_first);
      const Ran ran = run_sgdsim(is_first ? Words{flag, "colective"} : Words{"colective", flag});
      CHECK(ran.exit_code == 2);
      CHECK(ran.out.empty());
      CHECK(ran.log.starts_with(
          "sgdsim: unknown command \"colective\" (did you mean \"collective\"?); known: run, "));
      CHECK(ran.log.ends_with("see: sgdsim --help\n"));
    }
  CHECK(run_sgdsim({"export", "dott", "--help"})
            .log.starts_with("sgdsim: unknown command \"dott\" (did you mean \"dot\"?)"));
  for (const Words& words : std::vector<Words>{{"--help"},
                                               {"--version"},
                                               {"run", "--help"},
                                               {"run", "x.json", "--help"},
                                               {"export", "--help"},
                                               {"export", "dot", "--help"},
                                               {"--help", "run"}}) {
    const Ran ran = run_sgdsim(words);
    CHECK(ran.exit_code == 0);
    CHECK(ran.log.empty());
    CHECK(!ran.out.empty());
  }
}

}  // namespace sgdsim
