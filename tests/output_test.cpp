// Every kind of output, written onto whatever may be there: nothing that is an input, somebody
// else's, or the only copy of something may be lost.
#include <csignal>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrate/command.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

const std::string experiment = "app/experiments/googlenet_k80.json";

struct Kind {
  std::string name;
  std::string input;  // copied into the folder of the case as "input"
  std::string words;  // INPUT and OUT stand for files
};

// `base.json` is an experiment without paths, so that it works in any folder.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"result", "base.json", "run INPUT --out OUT"},
      {"timeline", "base.json", "run INPUT --timeline OUT"},
      {"points", "base.json", "sweep INPUT -q --axis cluster.nodes=2..64 --out OUT"},
      {"table of points", "base.json",
       "sweep INPUT -q --axis cluster.nodes=2..64 --columns cluster.nodes,metrics.speedup --out "
       "OUT"},
      {"picture", "base.json",
       "sweep INPUT -q --axis cluster.nodes=2..4 --axis strategy=wfbp,mg_wfbp --minimize "
       "metrics.iteration_us --picture OUT"},
      {"merged points", "points.jsonl", "merge INPUT --out OUT"},
      {"merged table", "points.jsonl", "merge INPUT --columns cluster.nodes,point --out OUT"},
      {"fitted link", "tests/data/measurement.json",
       "fit INPUT --from-collective stated --out OUT"},
      {"held-out case", "tests/data/measurement.json",
       "fit INPUT --from-collective stated --case OUT"},
      {"fit report", "tests/data/measurement.json", "fit INPUT --report OUT"},
      {"dot", "topologies/data/mgwfbp_paper_10gbe.json", "export dot INPUT --out OUT"},
      {"graphml", "topologies/data/mgwfbp_paper_10gbe.json", "export graphml INPUT --out OUT"},
      {"imported cluster", "tests/data/nccl_regular.xml",
       "import nccl-topology INPUT --nodes 2 --out OUT"},
      {"imported measurement", "tests/data/nccl_inspector_rank0.jsonl",
       "import nccl-inspector INPUT --out OUT"},
      {"steps", "tests/data/mllog.txt", "import mllog INPUT --out OUT"},
      {"table of layers", "traces/data/googlenet_k80.json", "export layers-csv INPUT --out OUT"},
      {"workload", "traces/data/googlenet_k80.json", "export astra-text INPUT --out OUT"},
      {"imported profile", "tests/data/kineto.json", "import kineto INPUT --out OUT"},
      {"case of a profile", "tests/data/kineto.json", "import kineto INPUT --out - --case OUT"},
      {"parameters", "tests/data/execution_trace.json", "import execution-trace INPUT --out OUT"},
  };
  return table;
}

// A folder with the input of one kind.
struct Place {
  Temporary folder{Temporary::Kind::folder};
  std::string input = folder.name() + "/input";
  std::string out = folder.name() + "/out";
  std::string words;

  explicit Place(const Kind& kind) : words(kind.words) {
    if (kind.input == "base.json" || kind.input == "points.jsonl") {
      Json json = Json::parse(read_text(SGDSIM_SOURCE_DIR "/" + experiment));
      for (const char* part : {"trace", "cluster"})
        if (json[part].is_string())
          json[part] =
              (fs::path(SGDSIM_SOURCE_DIR "/app/experiments") / json[part].get<std::string>())
                  .string();
      put(kind.input == "base.json" ? input : folder.name() + "/base", json.dump());
      if (kind.input == "points.jsonl")
        run_sgdsim({"sweep", folder.name() + "/base", "-q", "--axis", "cluster.nodes=2..64",
                    "--out", input});
    } else {
      put(input, read_text(SGDSIM_SOURCE_DIR "/" + kind.input));
    }
  }
  static void put(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  std::string line(const std::string& to) const {
    std::string line = words;
    line.replace(line.find("INPUT"), 5, input);
    return line.replace(line.find("OUT"), 3, to);
  }
  Ran run(const std::string& to, const std::string& more = "") const {
    return run_shell_line("sgdsim " + line(to) + more);
  }
  // Nothing is left beside what the case has put there.
  bool is_tidy() const {
    return std::none_of(fs::directory_iterator(folder.name()), fs::directory_iterator(),
                        [](const auto& entry) { return entry.path().extension() == ".tmp"; });
  }
};

TEST_CASE("outputs: each kind replaces its own, and nothing else without --force") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const Place place(kind);
    const Ran first = place.run(place.out);
    INFO(first.log);
    REQUIRE(first.exit_code == 0);
    const std::string whole = read_text(place.out);
    CHECK(whole.size() > 40);
    CHECK(place.run(place.out).exit_code == 0);
    CHECK((read_text(place.out) == whole));
    for (const std::string foreign : {"my notes\n", "my notes", "{\"schema\": \"other/1\"}\n"}) {
      place.put(place.out, foreign);
      const Ran refused = place.run(place.out);
      CHECK(refused.exit_code == 2);
      CHECK(refused.log.find("--force") != std::string::npos);
      CHECK(read_text(place.out) == foreign);
    }
    CHECK(place.run(place.out, " --force").exit_code == 0);
    CHECK((read_text(place.out) == whole));
    // The beginning of our own: left alone, or made whole.
    place.put(place.out, whole.substr(0, whole.size() * 2 / 3));
    const bool is_whole = place.run(place.out).exit_code == 0;
    CHECK(
        (read_text(place.out) == whole.substr(0, is_whole ? whole.size() : whole.size() * 2 / 3)));
    CHECK(place.is_tidy());
  }
}

TEST_CASE("outputs: an input is never written, by whatever name") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const Place place(kind);
    const std::string before = read_text(place.input);
    fs::create_symlink(place.input, place.folder.name() + "/link");
    for (const std::string name : {"/input", "/./input", "/link"})
      for (const std::string force : {"", " --force"}) {
        const Ran ran = place.run(place.folder.name() + name, force);
        CHECK(ran.exit_code == 2);
        CHECK(ran.log.find("is an input of this command") != std::string::npos);
        CHECK((read_text(place.input) == before));
      }
  }
}

TEST_CASE("outputs: files that an input names are inputs too") {
  const Place place(kinds().front());
  const std::string trace = place.folder.name() + "/trace.json";
  Json json = Json::parse(read_text(place.input));
  Place::put(trace, read_text(json["trace"].get<std::string>()));
  json["trace"] = "trace.json";
  Place::put(place.input, json.dump());
  const std::string before = read_text(trace);
  const std::string sweep = place.folder.name() + "/sweep.json";
  Place::put(sweep, R"({"base": "input", "axes": {"cluster.nodes": [2, 4]}})");
  for (const std::string& command : {"run " + place.input, "sweep -q " + sweep})
    for (const std::string& file : {trace, place.input}) {
      const std::string text = read_text(file);
      CHECK(run_shell_line("sgdsim " + command + " --force --out " + file).exit_code == 2);
      CHECK((read_text(file) == text));
    }
  CHECK(
      run_shell_line("sgdsim run - --force --out " + place.input + " <" + place.input).exit_code ==
      2);
  CHECK(run_shell_line("sgdsim run " + place.input + " --out both --timeline ./both").exit_code ==
        2);
}

TEST_CASE("outputs: a full disk or a kill leaves what was there") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const Place place(kind);
    const Ran full = place.run("/dev/full");
    CHECK(full.exit_code == 1);
    CHECK(full.log.find("/dev/full: cannot be written: No space left on device") !=
          std::string::npos);
    REQUIRE(place.run(place.out).exit_code == 0);
    const std::string whole = read_text(place.out);
    // The system ends the process, or the write, at so many blocks of 512 bytes. The text itself
    // differs from what was there by its end.
    for (const std::string mood : {"", "trap '' XFSZ; "})
      for (const int blocks : {0, 1, 2, 5}) {
        place.put(place.out, whole + "\n\n");
        run_shell_line(mood + "ulimit -f " + std::to_string(blocks) + "; sgdsim " +
                       place.line(place.out) + " --force 2>/dev/null");
        const std::string now = read_text(place.out);
        CHECK((now == whole || now == whole + "\n\n"));
      }
  }
}

TEST_CASE("outputs: points of another sweep, and lines that are none, stay") {
  const Place place(kinds()[2]);
  const std::string other = " --set iterations=7 --out " + place.out;
  const std::string sweep = "sgdsim sweep " + place.input + " -q --axis cluster.nodes=2..64";
  REQUIRE(run_shell_line(sweep + other).exit_code == 0);
  std::string before = read_text(place.out);
  const Ran ran = run_shell_line(sweep + " --out " + place.out);
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("a point of another sweep") != std::string::npos);
  CHECK((read_text(place.out) == before));
  // Its own, with one bad line.
  before.insert(before.find('\n') + 1, "oops\n");
  Place::put(place.out, before);
  for (const std::string resume : {"", " --resume"}) {
    CHECK(run_shell_line(sweep + other + resume).exit_code == 2);
    CHECK((read_text(place.out) == before));
  }
}

TEST_CASE("outputs: --resume looks at what it continues") {
  const Place place(kinds()[2]);
  const std::string sweep =
      "sgdsim sweep " + place.input + " -q --axis cluster.nodes=2..64 --out " + place.out;
  REQUIRE(run_shell_line(sweep).exit_code == 0);
  const std::string whole = read_text(place.out);
  const std::string half = whole.substr(0, whole.find('\n', whole.size() / 2) + 1);
  std::string edited = half;
  edited.insert(edited.find("\"speedup\":") + 10, "1");
  struct Row {
    std::string reason, text, sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"text without an end of line", "a book", "no point of this sweep"},
           {"the same after points", half + "a book", "no point of this sweep"},
           {"an edited number", edited, "is not what this sweep gives"},
       }) {
    INFO(row.reason);
    Place::put(place.out, row.text);
    const Ran ran = run_shell_line(sweep + " --resume");
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
    CHECK((read_text(place.out) == row.text));
  }
  Place::put(place.out, half + whole.substr(half.size(), 50));
  CHECK(run_shell_line(sweep + " --resume").exit_code == 0);
  CHECK((read_text(place.out) == whole));
}

// ---- sgdsim-calibrate

const Words quick = {"--backend", "host",  "--ranks", "2", "-a",     "ring", "--from", "4 KiB",
                     "--to",      "4 KiB", "--least", "2", "--most", "2",    "-q"};

Ran calibrated(const Words& more, std::ostream* to = nullptr) {
  Words words = quick;
  words.insert(words.end(), more.begin(), more.end());
  std::ostringstream out, log;
  Ran ran;
  ran.exit_code = calibrate::run(words, to != nullptr ? *to : out, log);
  ran.out = out.str();
  ran.log = log.str();
  return ran;
}

TEST_CASE("outputs: a measurement is not lost where it cannot be written") {
  std::ostream broken(nullptr);
  const auto saved = [](const Ran& ran) {
    CHECK(ran.exit_code == 1);
    const std::string said = "what was measured is in ";
    REQUIRE(ran.log.find(said) != std::string::npos);
    const std::string rest = ran.log.substr(ran.log.find(said) + said.size());
    const std::string file = rest.substr(0, rest.find('\n'));
    const Json json = Json::parse(read_text(file));
    fs::remove(file);
    return json["series"].size();
  };
  CHECK(saved(calibrated({}, &broken)) > 0);
  CHECK(saved(calibrated({"--out", "/dev/full"})) > 0);
}

TEST_CASE("outputs: a measurement replaces measurements only") {
  const Temporary file(Temporary::Kind::file, "my notes\n");
  CHECK(calibrated({"--out", file.name()}).exit_code == 2);
  CHECK(read_text(file.name()) == "my notes\n");
  for (const Words& force : {Words{"--force"}, Words{}}) {
    Words words = {"--out", file.name()};
    words.insert(words.end(), force.begin(), force.end());
    CHECK(calibrated(words).exit_code == 0);
    CHECK(Json::parse(read_text(file.name()))["schema"] == "sgdsim/measurement/1");
  }
  CHECK(calibrated({"--name", "caf\xe9"}).exit_code == 2);  // before anything is measured
}

TEST_CASE("outputs: a signal ends the measuring and writes what there is") {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    const Temporary folder(Temporary::Kind::folder);
    const std::string file = folder.name() + "/m.json";
    Words words = quick;
    words[11] = words[13] = "1000000";  // repetitions: minutes
    words.insert(words.end(), {"--out", file});
    const pid_t child = fork();
    if (child == 0) {
      std::ostringstream out, log;
      _exit(calibrate::run(words, out, log));
    }
    // The temporary file is there once signals are waited for.
    while (fs::is_empty(folder.name()) && waitpid(child, nullptr, WNOHANG) == 0) continue;
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 130);
    CHECK(Json::parse(read_text(file))["complete"] == false);
  }
}

}  // namespace
}  // namespace sgdsim
