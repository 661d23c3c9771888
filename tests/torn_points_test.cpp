// What a crash of the machine leaves of a file of points.
#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/json.h"
#include "tests/command_words.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

// A machine that crashes leaves zeros where lines were not written yet.
TEST_CASE("sweep: zeros behind whole lines are torn off") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/out";
  const std::string whole = run_sgdsim(six_points).out;
  const std::size_t line = whole.find('\n') + 1;
  const std::vector<std::string> resume = with(six_points, {"--resume", "--out", out});
  for (const std::size_t zeros : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20})
    for (const std::size_t cut :
         {line, line + 1, line + 60, 2 * line + 10, whole.size() - 1, whole.size()}) {
      INFO(zeros, " zeros behind ", cut);
      write(out, whole.substr(0, cut) + std::string(zeros, '\0'));
      // Merging what is there does not see them.
      const Ran merged = run_sgdsim({"merge", out});
      CHECK(merged.exit_code == (cut == whole.size() ? 0 : 3));
      REQUIRE(run_sgdsim(resume).exit_code == 0);
      REQUIRE((read_text(out) == whole));
    }
  // Nothing but zeros, and zeros with something behind them, are somebody else's affair.
  const std::string zeros(100, '\0');
  for (const auto& [content, sentence] : std::vector<std::pair<std::string, std::string>>{
           {zeros, "holds zero bytes, and no points before them; remove it"},
           {whole.substr(0, line) + zeros + whole.substr(line),
            ":2: has zero bytes, and something behind them; `head -n 1` keeps"}}) {
    write(out, content);
    const Ran ran = run_sgdsim(resume);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(sentence) != std::string::npos);
    CHECK((read_text(out) == content));
  }
}

}  // namespace sgdsim
