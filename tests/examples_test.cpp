// Every example that people are shown runs: those of --help, of the README and of docs/.
#include <doctest/doctest.h>
#include <filesystem>
#include <map>

#include "sim/core/json.h"
#include "tests/rounds.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

using house::split;
using house::trimmed;

const std::string built = "build/release/bin/sgdsim";

// Lines that start with sgdsim, without prompt and comment; lines that end in \ go on.
std::vector<std::string> commands_in(const std::vector<std::string>& lines) {
  std::vector<std::string> commands;
  bool goes_on = false;
  for (const std::string& line : lines) {
    std::string text = trimmed(line);
    if (text.starts_with(built)) text = "sgdsim" + text.substr(built.size());
    const bool is_command = text.starts_with("sgdsim ");
    if (!goes_on && !is_command) continue;
    const bool more = text.ends_with('\\');
    if (more) text.pop_back();
    if (goes_on)
      commands.back() += text;
    else
      commands.push_back(text);
    goes_on = more;
  }
  // Programs of others, behind a pipe, need not be there.
  for (std::string& command : commands) command = command.substr(0, command.find(" | "));
  return commands;
}

// The lines between ```sh and ```.
std::vector<std::string> shell_blocks(const std::string& page) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string& line : split(page, '\n')) {
    if (line.starts_with("```"))
      inside = line == "```sh" || line == "```console";
    else if (inside)
      lines.push_back(line.starts_with("$ ") ? line.substr(2) : line);
  }
  return lines;
}

// One after the other, in one folder: an example may read what the one before it has written.
void check_runs(const std::vector<std::string>& commands) {
  std::string script = "set -ex";  // -x: the log names the command that failed
  for (const std::string& command : commands) script += "\n" + command;
  const Ran ran = run_shell_line(script);
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
}

TEST_CASE("examples: those of the pages run") {
  const std::filesystem::path root = SGDSIM_SOURCE_DIR;
  std::vector<std::filesystem::path> pages{root / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::size_t count = 0;
  for (std::size_t i = 0; i < pages.size(); i += round_divisor) {
    INFO(pages[i].filename().string());
    const auto commands = commands_in(shell_blocks(read_text(pages[i].string())));
    count += commands.size();
    check_runs(commands);
  }
  CHECK(count >= 3);
}

TEST_CASE("examples: the answer in docs/formats.md is what the program prints") {
  const std::string page =
      read_text((std::filesystem::path(SGDSIM_SOURCE_DIR) / "docs/formats.md").string());
  const std::vector<std::string> commands = commands_in(shell_blocks(page));
  REQUIRE(!commands.empty());
  const std::size_t start = page.find("```json\n") + 8;
  const std::string shown = page.substr(start, page.find("```", start) - start);
  CHECK(run_shell_line(commands.front()).out == shown);
}

TEST_CASE("examples: the milliseconds of oversubscribed rings are what the sweep says") {
  const house::TableRows rows = house::markdown_table(
      read_text((std::filesystem::path(SGDSIM_SOURCE_DIR) / "docs/traffic.md").string()),
      "| oversubscription | 1 | 2 | 4 | 8 | 16 |");
  const Ran ran = run_shell_line("sgdsim sweep app/sweeps/oversubscribed_rings.json --quiet");
  std::map<std::pair<std::string, std::string>, double> iteration_ms;
  for (const std::string& line : split(ran.out, '\n')) {
    if (line.empty()) continue;
    const Json point = Json::parse(line);
    const Json& axes = point["axes"];
    iteration_ms[{axes["collective.algorithm"].get<std::string>(),
                  axes["cluster.oversubscription"].dump()}] =
        point["iteration_ps"].get<double>() * 1e-9;
  }
  REQUIRE(rows.size() == 4);
  const std::vector<std::string> factors = {"1", "2", "4", "8", "16"};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < factors.size(); ++i) {
      CAPTURE(row[0] + " " + factors[i]);
      // Four digits are shown.
      CHECK(std::stod(row[i + 1]) ==
            doctest::Approx(iteration_ms.at({row[0], factors[i]})).epsilon(0.0006));
    }
}

TEST_CASE("examples: those of the help run") {
  const std::vector<std::string> levels = {"",
                                           "collective",
                                           "list",
                                           "schema",
                                           "export",
                                           "run",
                                           "plan",
                                           "import",
                                           "export dot",
                                           "validate",
                                           "export graphml",
                                           "import nccl-topology",
                                           "trace show",
                                           "sweep",
                                           "merge",
                                           "tune",
                                           "need",
                                           "replay",
                                           "traffic",
                                           "jobs",
                                           "export goal",
                                           "import mllog",
                                           "import horovod",
                                           "import nccl-inspector",
                                           "import flight-recorder",
                                           "export layers-csv",
                                           "export astra-text",
                                           "import astra-text",
                                           "import osu-log",
                                           "import kineto",
                                           "import execution-trace",
                                           "advise",
                                           "trace scale",
                                           "trace merge-layers",
                                           "trace diff",
                                           "trace check",
                                           "export chakra",
                                           "export htsim",
                                           "model",
                                           "model show",
                                           "model laws",
                                           "layout",
                                           "fit",
                                           "goodput",
                                           "diagnose",
                                           "compare",
                                           "plot",
                                           "completion",
                                           "import training-log",
                                           "report"};
  for (const std::string& level : levels) {
    INFO(level);
    const std::string help = run_shell_line("sgdsim " + level + " --help").out;
    const auto commands = commands_in(split(help.substr(help.find("\nExample")), '\n'));
    CHECK(!commands.empty());
    check_runs(commands);
  }
}

TEST_CASE("examples: every experiment that ships runs, and every strategy can be planned for it") {
  const std::filesystem::path root = SGDSIM_SOURCE_DIR;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "app/experiments")) {
    const std::string file = entry.path().string();
    if (Json::parse(read_text(file)).at("schema") != "sgdsim/experiment/1") continue;
    INFO(file);
    ++count;
    const Ran ran = run_sgdsim({"run", file, "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out).at("iteration_ps").get<int64_t>() > 0);
    CHECK(run_sgdsim({"plan", file, "--set", "fidelity=closed_form", "--set", "workers={}"})
              .exit_code == 0);
  }
  CHECK(count >= 5);
}

TEST_CASE("plan: a field changed besides, for every strategy") {
  const std::vector<std::string> arguments = {
      "plan",   "app/experiments/googlenet_k80.json", "--also",   "compression=truncate16",
      "--also", "synchronization=pipe_sgd",           "--format", "json"};
  const Ran ran = run_sgdsim(arguments);
  REQUIRE(ran.exit_code == 0);
  std::map<std::string, int> rows;
  std::map<std::string, int64_t> own;  // the experiment's strategy, or that of the synchronization
  const Json answer = Json::parse(ran.out);
  for (const Json& plan : answer.at("plans")) {
    const std::string with = plan.value("with", "");
    ++rows[with];
    const bool in_one = with.starts_with("synchronization");
    if (plan.at("strategy") == (in_one ? "sync_easgd" : "mg_wfbp"))
      own[with] = plan.at("iteration_ps");
  }
  CHECK(rows[""] >= 11);
  CHECK(rows["compression=truncate16"] == rows[""]);
  CHECK(rows["synchronization=pipe_sgd"] == 1);  // everything in one message
  auto alone = [](const std::string& setting, const std::string& strategy) {
    const Ran one = run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--set", setting,
                                "--set", "strategy=" + strategy, "--format", "json"});
    return Json::parse(one.out).at("iteration_ps").get<int64_t>();
  };
  CHECK(own["compression=truncate16"] == alone("compression=truncate16", "mg_wfbp"));
  CHECK(own["synchronization=pipe_sgd"] == alone("synchronization=pipe_sgd", "sync_easgd"));
  CHECK(run_sgdsim({"plan", "app/experiments/googlenet_k80.json", "--also", "x=1"}).exit_code == 2);
}

TEST_CASE("examples: how they are found") {
  CHECK(commands_in(
            {"  sgdsim list \\", "    schemas", "not me", "build/release/bin/sgdsim a | b"}) ==
        std::vector<std::string>{"sgdsim list schemas", "sgdsim a"});
  CHECK(shell_blocks("sgdsim no\n```sh\n$ sgdsim yes\n```\n```json\nsgdsim no\n```\n") ==
        std::vector<std::string>{"sgdsim yes"});
}

}  // namespace
}  // namespace sgdsim
