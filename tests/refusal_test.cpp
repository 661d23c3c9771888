// Inputs that once crashed, never ended, or came back as the text of an exception: each is a
// sentence and exit code 2 now, or works.
#include <doctest/doctest.h>
#include <fstream>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;

const std::string shipped = "app/experiments/googlenet_k80.json";

struct Row {
  std::string reason;
  Words words;
  std::string sentence;  // a part of it
};

void check_refused(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.reason);
    const Ran ran = run_sgdsim(row.words);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.find(row.sentence) != std::string::npos);
    CHECK(ran.log.find("json.exception") == std::string::npos);
    CHECK(ran.log.find('\x1b') == std::string::npos);
    CHECK(ran.log.size() < 700);
  }
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST_CASE("refused: words of the command line that are no names") {
  check_refused({
      {"a byte that is not UTF-8 in an option",
       {"run", shipped, "--set", "name=caf\xe9"},
       "is not UTF-8"},
      {"in a file name", {"run", "caf\xe9.json"}, "is not UTF-8"},
      {"in an option that is wrong as well", {"run", "--caf\xe9"}, "\\xe9"},
      {"an escape sequence", {"run", "\x1b[31m.json"}, "has the control character \\x1b"},
      {"the same in JSON",
       {"run", shipped, "--set", R"(name="\u001b[31m")"},
       "has the control character \\x1b"},
      {"zero", {"run", shipped, "--set", R"(name="\u0000")"}, "has the control character \\x00"},
      {"a key twice",
       {"run", shipped, "--set", R"(strategy={"name":"ddp","name":"wfbp"})"},
       "the key \"name\" occurs twice"},
      {"deep nesting",
       {"run", shipped, "--set", "name=" + nested(50'000)},
       "nested deeper than 64"},
      {"in an axis",
       {"sweep", shipped, "--axis", "name=" + nested(50'000)},
       "nested deeper than 64"},
  });
}

TEST_CASE("refused: a step that takes no time") {
  const Temporary trace(Temporary::Kind::file, R"({"schema": "sgdsim/trace/1", "name": "nothing",
    "layers": [{"name": "a", "parameters": 0, "backward": "0 ms"}]})");
  const std::string sentence = "the step takes no time: there is nothing to simulate";
  for (const char* command : {"run", "advise", "plan"})
    for (const char* fidelity : {"closed_form", "message", "flow", "packet"})
      check_refused({{std::string(command) + " at " + fidelity,
                      {command, trace.name(), "-c", "topologies/data/mgwfbp_paper_10gbe.json",
                       "--fidelity", fidelity},
                      sentence}});
}

TEST_CASE("refused: timelines of what there is not") {
  const auto words = [](const std::string& option, const std::string& value) {
    return Words{"run", shipped, "--gantt", option, value};
  };
  const std::string iterations = "--timeline-iterations";
  const std::string workers = "--timeline-workers";
  check_refused({
      {"reversed", words(iterations, "2-1"),
       iterations + ": expected the smaller number first, got \"2-1\""},
      {"workers reversed", words(workers, "3-1"), workers + ": expected the smaller number first"},
      {"one too many", words(workers, "0,4000"), "there is no worker 4000"},
      {"the count, for an iteration", words(iterations, "9999"), "there is no iteration 9999"},
      {"no number", words(workers, "0-"), "expected numbers as 0-3,7, got \"0-\""},
      {"nothing between commas", words(workers, "0,,1"), "expected numbers as"},
      {"beyond all numbers", words(workers, "99999999999999999999"),
       "there is no worker 99999999999999999999"},
  });
}

TEST_CASE("refused: words that nothing would read") {
  check_refused({
      {"workers without a timeline",
       {"run", shipped, "--timeline-workers", "banana"},
       "--timeline-workers: selects what a timeline records"},
      {"iterations without one",
       {"run", shipped, "--timeline-iterations", "1"},
       "--timeline-iterations: selects what a timeline records"},
      {"a reserve of no memory",
       {"model", "show", "llama3.1_8b", "--reserve", "banana"},
       "--reserve: is a part of the memory of a GPU"},
  });
}

TEST_CASE("refused: files that never end or cannot be read") {
  check_refused({
      {"a memory", {"run", "/proc/self/mem"}, "/proc/self/mem: cannot be read"},
      {"points of a device", {"merge", "/dev/zero"}, "expected a file of points"},
  });
#ifndef SGDSIM_SANITIZED
  check_refused({{"zeros for ever", {"run", "/dev/zero"}, "/dev/zero: larger than 512 MiB"}});
#endif
  const Temporary deep(Temporary::Kind::file, nested(50'000) + "\n");
  check_refused({{"a deep line", {"merge", deep.name()}, "nested deeper than 64"}});
}

TEST_CASE("refused: control characters in the names of a file") {
  const std::string text = read_text(SGDSIM_SOURCE_DIR "/topologies/data/mgwfbp_paper_10gbe.json");
  for (const char* name : {R"("\u0000")", R"("a\u001b[31m")", R"("\u007f")", R"("\u009b31m")"}) {
    INFO(name);
    Json json = Json::parse(text);
    json["name"] = Json::parse(name);
    const Temporary file(Temporary::Kind::file, json.dump());
    for (const char* format : {"dot", "graphml"})
      check_refused({{format, {"export", format, file.name()}, "has the control character"}});
  }
}

// Amounts beyond what a double tells apart, and sums beyond 64 bits.
TEST_CASE("refused: ranges that overflow") {
  const std::string largest = "9223372036854775807";
  check_refused({
      {"an axis that doubles",
       {"sweep", shipped, "--axis", "seed=1.." + largest},
       "expected at most 2^53"},
      {"one that steps",
       {"sweep", shipped, "--axis", "seed=1.." + largest + ":" + largest},
       "2^53"},
      {"no experiment", {"sweep", shipped, "--axis", "base=3"}, "field \"base\""},
  });
  const Ran ran = run_sgdsim({"collective", "--sweep", "--alpha", "1 us", "--beta", "1 ns/B", "-n",
                              "1 KB", "-p", "1.." + largest});
  CHECK(ran.exit_code == 2);
}

// An all-reduce of equal blocks is that of a shorter chain and a sum; a broadcast is played.
TEST_CASE("refused: pipelines of more blocks than anybody can wait for") {
  const auto with = [](const char* operation, const char* fidelity) {
    return Words{"collective", "-a",         "lp",      "-p",       "4",   "--alpha", "1 us",
                 "--beta",     "1 ns/B",     "--block", "4 KiB",    "-n",  "60 TB",   "--op",
                 operation,    "--fidelity", fidelity,  "--format", "json"};
  };
  check_refused({{"60 TB in pages", with("broadcast", "message"), "is too long to simulate"}});
  CHECK(run_sgdsim(with("broadcast", "closed_form")).exit_code == 0);
  const Ran sum = run_sgdsim(with("allreduce", "message"));
  const Ran formula = run_sgdsim(with("allreduce", "closed_form"));
  REQUIRE(sum.exit_code == 0);
  REQUIRE(formula.exit_code == 0);
  CHECK(Json::parse(sum.out)["time_ps"] == Json::parse(formula.out)["time_ps"]);
}

TEST_CASE("refused: a base that is no experiment") {
  for (const char* base : {"3", "null", "[]", "true"}) {
    const Temporary file(Temporary::Kind::file,
                         std::string(R"({"base": )") + base + R"(, "axes": {"seed": [1]}})");
    check_refused({{base, {"sweep", file.name()}, "/base: expected the path of an experiment"}});
  }
}

TEST_CASE("refused: the setting is blamed for its value") {
  const std::string set = "--set";
  check_refused({
      {"a field of the experiment",
       {"run", shipped, set, "iterations=0"},
       "sgdsim: --set iterations=0: expected"},
      {"of the cluster's file",
       {"run", shipped, set, "cluster.nodes=-1"},
       "sgdsim: --set cluster.nodes=-1: expected"},
      {"unknown",
       {"run", shipped, set, "cluster.nodez=4"},
       "sgdsim: --set cluster.nodez=4: unknown field \"nodez\""},
      {"of an exported cluster",
       {"export", "dot", "topologies/data/mgwfbp_paper_10gbe.json", set, "nodes=x"},
       "sgdsim: --set nodes=x: expected"},
      {"inside a value",
       {"run", shipped, set, R"(collective={"algorithm":"rong"})"},
       "/algorithm: unknown algorithm"},
  });
  // What the file itself has wrong stays the file's.
  const Temporary file(Temporary::Kind::file, R"({"trace": 3, "cluster": 4})");
  const Ran ran = run_sgdsim({"run", file.name(), set, "iterations=2"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.starts_with("sgdsim: " + file.name()));
}

#ifndef SGDSIM_SANITIZED  // sanitizers reserve more address space than is left here
TEST_CASE("threads that cannot start are done without, or said") {
  const std::string sweep = "sgdsim sweep " + shipped + " -q --axis cluster.nodes=2..64";
  const std::string expected = run_shell_line(sweep).out;
  for (const char* const limit : {"500000", "700000", "1000000", "2000000"})
    for (const char* const threads : {"64", "1000"}) {
      const Ran many =
          run_shell_line(std::string("ulimit -v ") + limit + "; " + sweep + " -j " + threads);
      INFO(many.log);
      if (many.exit_code == 0)
        CHECK((many.out == expected));
      else
        CHECK(many.log.find("sgdsim: ") != std::string::npos);
      CHECK((many.exit_code == 0 || many.exit_code == 1));
      CHECK(many.log.find("bad_alloc") == std::string::npos);
    }
}
#endif

std::vector<int64_t> kept(const std::string& where, const std::string& axes) {
  const Temporary file(
      Temporary::Kind::file,
      std::string(R"({"base": ")" SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json") +
          R"(", "axes": )" + axes + R"(, "where": [")" + where + R"("]})");
  const Ran ran = run_sgdsim({"sweep", file.name(), "-q", "--columns", "seed"});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  std::vector<int64_t> seeds;
  for (std::size_t at = ran.out.find('\n') + 1; at < ran.out.size();
       at = ran.out.find('\n', at) + 1)
    seeds.push_back(std::stoll(ran.out.substr(at)));
  return seeds;
}

TEST_CASE("where: and binds before or") {
  const std::string axes = R"({"seed": [1, 2, 3, 4, 5]})";
  CHECK(kept("seed > 1 and seed < 4", axes) == std::vector<int64_t>{2, 3});
  CHECK(kept("seed == 1 or seed > 3 and seed < 5", axes) == std::vector<int64_t>{1, 4});
}

TEST_CASE("where: few points of a huge product are found at once") {
  // 10^7 seeds, of which one is kept, times 1000 others: 10^10 in the product.
  const std::string seeds = R"("seed": {"from": 1, "to": 10000000, "step": 1})";
  const std::string others = R"("iterations": {"from": 1, "to": 1000, "step": 1})";
  for (const std::string& axes :
       {"{" + seeds + "," + others + "}", "{" + others + "," + seeds + "}"})
    CHECK(kept("seed == 777", axes) == std::vector<int64_t>(1000, 777));
}

}  // namespace
}  // namespace sgdsim
