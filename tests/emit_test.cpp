// Job scripts: what they ask of their scheduler, and that they play the sweep.
#include "study/sweep/emit.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
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
  CHECK(emitted.has(" --retries 3 'sh -c \"$SGDSIM_TASK\" task {}'\n"));
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

// ---- hostile names

// Each of these would leave a file called "pwned" where a shell, parallel or Kubernetes reads it.
const std::string hostile =
    R"(description=$(touch pwned) `touch pwned` "; touch pwned; ' ; touch pwned # {} {#} {.} {1} )"
    R"({= system("touch pwned") =} {%} $$ $(SHARD) $JOB_COMPLETION_INDEX $1 %a \ ~ *)";
const std::string hostile_out = "/a {} {= system(q(touch pwned)) =} $(touch pwned);'b&c%a";

struct Attack {
  Temporary folder{Temporary::Kind::folder};
  std::string out;
  std::string script;
  Attack(const std::string& kind, const std::string& name) : out(folder.name() + name) {
    const Ran ran = run_sgdsim({"sweep", shipped, "--emit", kind, "--tasks", "2", "-j", "1",
                                "--set", hostile, "--out", out});
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    script = ran.out;
    std::ofstream(folder.name() + "/job") << script;
  }
  std::string run(const std::string& before = "") const {
    const Ran ran = run_shell_line(before + "sh " + folder.name() + "/job; s=$?; ls; exit $s");
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("pwned") == std::string::npos);
    CHECK(!std::filesystem::exists(folder.name() + "/pwned"));
    CHECK(!std::filesystem::exists(SGDSIM_SOURCE_DIR "/pwned"));
    return std::filesystem::exists(out) ? read_text(out) : "";
  }
};

std::string points_of_hostile() {
  return run_sgdsim({"sweep", shipped, "-q", "--set", hostile}).out;
}

// To YAML these end a line, or are no character at all; a shell does not mind them.
TEST_CASE("emit: characters that YAML cannot hold are refused by name") {
  const Temporary folder(Temporary::Kind::folder);
  for (const std::pair<std::string, std::string>& one :
       {std::pair<std::string, std::string>{"\u2028", "U+2028"},
        {"\u2029", "U+2029"},
        {"\ufeff", "U+FEFF"},
        {"\uffff", "U+FFFF"}}) {
    const std::string& character = one.first;
    const std::string& name = one.second;
    INFO(name);
    const std::string out = folder.name() + "/a" + character + "apiVersion: v2.jsonl";
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--out", out},
          std::vector<std::string>{"--out", "a", "--set", "description=a" + character + "kind: x"},
          std::vector<std::string>{"--out", "a", "--image", "i" + character}}) {
      std::vector<std::string> words = {"sweep", shipped, "--tasks", "2", "--emit", "k8s"};
      words.insert(words.end(), more.begin(), more.end());
      const Ran ran = run_sgdsim(words);
      CHECK(ran.exit_code == 2);
      CHECK(ran.out.empty());
      CHECK(ran.log.find("has the character " + name + ", which YAML cannot hold") !=
            std::string::npos);
      if (more.back().starts_with("i")) continue;
      words[5] = "shell";
      CHECK(run_sgdsim(words).exit_code == 0);
    }
  }
  Json sweep = Json::parse(read_text(shipped));
  sweep["name"] = "a\u2028kind: x";
  sweep["base"] = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";
  const Temporary named(Temporary::Kind::file, sweep.dump());
  const Ran ran = run_sgdsim({"sweep", named.name(), "--emit", "k8s", "--out", "a"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("the sweep's name has the character U+2028") != std::string::npos);
}

TEST_CASE("emit: hostile words stay words in the shell's and parallel's scripts") {
  CHECK((Attack("shell", hostile_out).run() == points_of_hostile()));
  if (run_shell_line("parallel --version | grep -q GNU").exit_code != 0) {
    MESSAGE("skipped: GNU parallel is missing");
    return;
  }
  CHECK((Attack("parallel", hostile_out).run() == points_of_hostile()));
}

TEST_CASE("emit: hostile words stay words in Slurm's script") {
  const Attack attack("slurm", hostile_out);
  // %a is a pattern of Slurm's, and only the last one is meant as one.
  CHECK(attack.script.find("b&c%%a.task-%a.log\"\n") != std::string::npos);
  for (const char* task : {"0", "1"}) attack.run(std::string("SLURM_ARRAY_TASK_ID=") + task + " ");
  const Ran merged =
      run_shell_line("sgdsim merge " + shell_word(attack.out + ".part-") + "*.jsonl");
  CHECK((merged.out == points_of_hostile()));
}

TEST_CASE("emit: hostile words stay words in the Kubernetes job") {
  const Attack attack("k8s", hostile_out);
  // YAML: the text between single quotes, two of which are one.
  const std::string start = "        command: [sh, -c, '";
  const std::size_t at = attack.script.find("\n" + start) + 1 + start.size();
  std::string text;
  std::size_t end = at;
  for (; attack.script.compare(end, 1, "'") != 0 || attack.script[end + 1] == '\''; ++end) {
    if (attack.script[end] == '\'') ++end;
    text += attack.script[end];
  }
  CHECK(attack.script.compare(end, 3, "']\n") == 0);
  // Kubernetes: $$ is a dollar; $(NAME) of a variable that there is would be its value.
  std::string command;
  for (std::size_t i = 0; i < text.size(); ++i) {
    CHECK(text.compare(i, 2, "$(") != 0);
    if (text.compare(i, 2, "$$") == 0) ++i;
    command += text[i];
  }
  std::ofstream(attack.folder.name() + "/job") << command << '\n';
  // The image has sgdsim on its path.
  const std::string path =
      "PATH=\"" + std::filesystem::path(SGDSIM_PROGRAM).parent_path().string() + ":$PATH\" ";
  for (const char* task : {"0", "1"}) attack.run(path + "JOB_COMPLETION_INDEX=" + task + " ");
  const Ran merged =
      run_shell_line("sgdsim merge " + shell_word(attack.out + ".part-") + "*.jsonl");
  CHECK((merged.out == points_of_hostile()));
}

TEST_CASE("emit: what a script cannot hold is refused") {
  struct Row {
    std::string reason;
    std::vector<std::string> words;
    std::string sentence;
  };
  const std::string text = read_text(shipped);
  for (const Row& row : std::vector<Row>{
           {"end of line in --out",
            {"--out", "a\ntouch pwned\n"},
            "has the control character \\x0a"},
           {"in a setting", {"--out", "a", "--set", "description=a\nb"}, "control character"},
           {"in the image",
            {"--out", "a", "--emit", "k8s", "--image", "a\nb"},
            "control character"},
           {"a quote in a path of Slurm's", {"--out", "a\"b", "--emit", "slurm"}, "--out: a Slurm"},
           {"memory", {"--out", "a", "--emit", "slurm", "--mem", "4G --x"}, "--mem: expected"},
           {"no Slurm",
            {"--out", "a", "--time", "1:00"},
            "--time: has no effect without --emit slurm"},
           {"columns",
            {"--out", "a", "--columns", "point"},
            "--columns: has no effect with --emit"},
       }) {
    INFO(row.reason);
    std::vector<std::string> words = {"sweep", shipped};
    if (std::find(row.words.begin(), row.words.end(), "--emit") == row.words.end())
      words.insert(words.end(), {"--emit", "shell"});
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = run_sgdsim(words);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
  // A name that would be the second line of a comment.
  Json sweep = Json::parse(text);
  sweep["base"] = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";
  sweep["name"] = "a\ntouch pwned";
  const Temporary file(Temporary::Kind::file, sweep.dump());
  const Ran ran = run_sgdsim({"sweep", file.name(), "--emit", "shell", "--out", "a"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
}

TEST_CASE("emit: limits of a Slurm task") {
  const Ran ran = run_sgdsim({"sweep", shipped, "--emit", "slurm", "--out", "a", "--time",
                              "1:30:00", "--mem", "4G", "--partition", "gpu,long-2"});
  CHECK(ran.exit_code == 0);
  for (const char* line :
       {"\n#SBATCH --time=1:30:00\n", "\n#SBATCH --mem=4G\n", "\n#SBATCH --partition=gpu,long-2\n"})
    CHECK(ran.out.find(line) != std::string::npos);
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
  CHECK(ran.log == "sgdsim: --emit: needs --out, the file of points\n");
}

}  // namespace
}  // namespace sgdsim
