// docs/guide.md tells what its commands say.
#include <algorithm>
#include <doctest/doctest.h>

#include "tests/json_lines.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

using house::split;

const std::string guide = SGDSIM_SOURCE_DIR "/docs/guide.md";

// "12,705", "9.7 %"
double number_of(std::string cell) {
  cell.erase(std::remove(cell.begin(), cell.end(), ','), cell.end());
  return std::stod(cell);
}

}  // namespace

TEST_CASE("docs: the table of the guide is what its sweep says") {
  const Ran ran = run_sgdsim({"sweep", "bert_large_v100", "--axis", "cluster=aws_p3_2,aws_p3dn_2",
                              "--axis", "cluster.nodes=1,2,4,8,16", "--quiet"});
  REQUIRE(ran.exit_code == 0);
  const auto rate = [&](const std::string& cluster, int nodes) {
    for (const Json& point : json_lines(ran.out))
      if (point["axes"]["cluster"] == cluster && point["axes"]["cluster.nodes"] == nodes)
        return point["metrics"]["throughput_samples_per_s"].get<double>();
    return 0.0;
  };
  int rows = 0;
  for (const std::vector<std::string>& cells : house::markdown_table(
           read_text(guide), "| machines | samples/s, 25 Gb/s | samples/s, 100 Gb/s | gain |")) {
    CAPTURE(cells[0]);
    REQUIRE(cells.size() == 4);
    ++rows;
    const int nodes = std::stoi(cells[0]);
    const double slow = rate("aws_p3_2", nodes), fast = rate("aws_p3dn_2", nodes);
    CHECK(number_of(cells[1]) == doctest::Approx(slow).epsilon(3e-4));
    CHECK(number_of(cells[2]) == doctest::Approx(fast).epsilon(3e-4));
    CHECK(std::abs(number_of(cells[3]) - 100 * (fast / slow - 1)) <= 0.05);
  }
  CHECK(rows == 5);
}

TEST_CASE("docs: the outputs that the guide and the README quote are the program's") {
  struct Page {
    std::string file;
    std::vector<std::vector<std::string>> commands;
    int least_lines;
  };
  const std::vector<std::string> four = {"bert_large_v100", "-c", "aws_p3_2", "--set",
                                         "cluster.nodes=4"};
  const auto with = [&](const std::string& command) {
    std::vector<std::string> words = four;
    words.insert(words.begin(), command);
    return words;
  };
  for (const Page& page : std::vector<Page>{
           {"docs/guide.md", {with("run"), with("advise")}, 8},
           {"README.md",
            {{"layout", "Llama-3 70B", "-c", "dgx_h100_4", "--gpus", "512", "--tokens", "15T"},
             {"collective", "--algorithm", "ring", "--op", "allreduce", "--ranks", "16", "--bytes",
              "64 MiB", "--cluster", "topologies/data/mgwfbp_paper_10gbe.json"}},
            14}}) {
    CAPTURE(page.file);
    std::string said;
    for (const auto& command : page.commands) said += run_sgdsim(command).out;
    bool inside = false, is_output = false;
    int lines = 0;
    for (const std::string& line : split(read_text(SGDSIM_SOURCE_DIR "/" + page.file), '\n')) {
      if (line.starts_with("```")) {
        is_output = !inside && line == "```";
        inside = !inside;
      } else if (inside && is_output && !line.empty()) {
        CAPTURE(line);
        CHECK(said.find(line) != std::string::npos);
        ++lines;
      }
    }
    CHECK(lines >= page.least_lines);
  }
}

}  // namespace sgdsim
