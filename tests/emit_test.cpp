// Job scripts: what they ask of their scheduler, and that they play the sweep.
#include "app/sweep/emit.h"

#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string shipped = SGDSIM_SOURCE_DIR "/app/sweeps/nodes_bandwidth.json";

// A name that a shell would take apart.
struct Emitted {
  Temporary folder{Temporary::Kind::folder};
  std::string out = folder.name() + "/it's all.jsonl";
  std::string script;
  explicit Emitted(const std::string& kind) {
    const Ran ran = run_sgdsim({"sweep", shipped, "--emit", kind, "--tasks", "3", "-j", "2",
                                "--set", "cluster.nic.latency=7 us", "--out", out});
    CHECK(ran.exit_code == 0);
    script = ran.out;
    std::ofstream(folder.name() + "/job") << script;
  }
  bool has(const std::string& text) const { return script.find(text) != std::string::npos; }
};

std::string one_process() {
  return run_sgdsim({"sweep", shipped, "-q", "--set", "cluster.nic.latency=7 us"}).out;
}

TEST_CASE("emit: the shell script makes the points of a single process, also when run again") {
  const Emitted emitted("shell");
  for (int run = 0; run < 2; ++run) {
    CHECK(run_shell_line("sh " + emitted.folder.name() + "/job").exit_code == 0);
    CHECK((read_text(emitted.out) == one_process()));
  }
}

TEST_CASE("emit: the GNU parallel script does, where that is installed") {
  const Emitted emitted("parallel");
  CHECK(emitted.has("seq 0 2 | parallel --joblog "));
  CHECK(emitted.has(" --retries 3 "));
  if (run_shell_line("parallel --version | grep -q GNU").exit_code != 0) {
    MESSAGE("skipped: GNU parallel is missing");
    return;
  }
  const Ran ran = run_shell_line("sh " + emitted.folder.name() + "/job");
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK((read_text(emitted.out) == one_process()));
}

TEST_CASE("emit: a Slurm task is what the array says, and comes back after a failure") {
  const Emitted emitted("slurm");
  for (const char* line :
       {"#SBATCH --array=0-2\n", "#SBATCH --requeue\n", "#SBATCH --cpus-per-task=2\n"})
    CHECK(emitted.has(line));
  // Every task as Slurm would start it; slurm_test.sh does it with a real one.
  for (const char* task : {"2", "0", "1"})
    CHECK(run_shell_line(std::string("SLURM_ARRAY_TASK_ID=") + task + " sh " +
                         emitted.folder.name() + "/job")
              .exit_code == 0);
  const Ran merged = run_shell_line("sgdsim merge " + emitted.folder.name() + "/*.part-*.jsonl");
  CHECK((merged.out == one_process()));
}

TEST_CASE("emit: a Kubernetes job counts its tasks itself") {
  const Emitted emitted("k8s");
  for (const char* line : {"apiVersion: batch/v1\n", "kind: Job\n", "completionMode: Indexed\n",
                           "completions: 3\n", "--shard \"$JOB_COMPLETION_INDEX\"/3 "})
    CHECK(emitted.has(line));
  // Quotes of YAML are doubled, those of the shell stay.
  CHECK(emitted.has("''--set=cluster.nic.latency=7 us''"));
}

TEST_CASE("emit: tasks are long enough for what they cost to start, and few enough for Slurm") {
  struct Row {
    std::string reason;
    double seconds;
    int64_t points;
    int64_t tasks;
  };
  for (const Row& row : std::vector<Row>{
           {"less than a minute", 20, 100'000, 1},
           {"ten minutes", 600, 100'000, 10},
           {"few points", 600, 350, 3},
           {"hardly any point", 600, 7, 1},
           {"more than MaxArraySize", 1e7, 100'000'000, 1000},
           {"beyond all numbers", 1e300, int64_t{1} << 62, 1000},
       }) {
    INFO(row.reason);
    CHECK(tasks_for(row.seconds, row.points) == row.tasks);
    // Below 5 % of 0.7 s each, wherever there is a choice.
    if (row.tasks > 1) CHECK(0.7 * static_cast<double>(row.tasks) < 0.05 * row.seconds);
  }
}

TEST_CASE("emit: words of a shell") {
  CHECK(shell_word("a/b-c_1.json") == "a/b-c_1.json");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("7 us") == "'7 us'");
  CHECK(shell_word("it's") == "'it'\\''s'");
}

TEST_CASE("emit: needs to know where the points go") {
  const Ran ran = run_sgdsim({"sweep", shipped, "--emit", "slurm"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log == "sgdsim: --emit: needs --out, the file that the parts are merged into\n");
}

}  // namespace
}  // namespace sgdsim
