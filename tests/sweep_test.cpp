// Sweeps: which points there are, that each is what `sgdsim run` says, and that the lines are the
// same however they were made.
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "study/step/experiment.h"
#include "tests/json_lines.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string experiment = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";
const std::string shipped = SGDSIM_SOURCE_DIR "/app/sweeps/nodes_bandwidth.json";

std::string spec(const std::string& fields) {
  return R"({"schema": "sgdsim/sweep/1", "base": ")" + experiment + "\", " + fields + "}";
}

void write(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// As sha256sum has it: keys sorted, and a field beyond 1,024 bytes as its own hash.
TEST_CASE("sweep: what an id is made of") {
  CHECK(id_of(Json::parse(R"({"b": {"d": 3, "c": 2}, "a": 1})")) ==
        "sha256:932875ab5b23eb47bb2711f951d85ba23eef4b50c3e2eb6b5f3f9b9ac1217c6b");
  CHECK(id_of({{"b", std::string(1100, 'x')}, {"a", 1}}) ==
        "sha256:fc1bf8f8b2de004fec54558c00186996038cd9dea6d980265bab76a5c9c3a442");
  CHECK(id_of(Json::object()) ==
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

TEST_CASE("sweep: axes, ranges, zip and where give these points in this order") {
  struct Row {
    std::string reason, fields, columns, expected;
  };
  const std::vector<Row> rows = {
      {"the last axis is the fastest",
       R"("axes": {"cluster.nodes": [4, 2], "strategy": ["wfbp", "naive"]})",
       "cluster.nodes,strategy", "4,wfbp\n4,naive\n2,wfbp\n2,naive\n"},
      {"doubling, both ends", R"("axes": {"cluster.nodes": {"from": 2, "to": 16, "factor": 2}})",
       "cluster.nodes", "2\n4\n8\n16\n"},
      {"a factor that misses the end",
       R"("axes": {"cluster.nodes": {"from": 2, "to": 15, "factor": 2}})", "cluster.nodes",
       "2\n4\n8\n"},
      {"a step", R"("axes": {"seed": {"from": 1, "to": 10, "step": 4}})", "seed", "1\n5\n9\n"},
      {"a step of a quantity in the unit of its start",
       R"("axes": {"cluster.nic.latency": {"from": "10 us", "to": "0.02 ms", "step": "5 us"}})",
       "cluster.nic.latency", "10 us\n15 us\n20 us\n"},
      {"evenly in logarithms, six digits",
       R"("axes": {"cluster.nic.latency": {"from": "1 us", "to": "100 us", "count": 5,
          "spacing": "log"}})",
       "cluster.nic.latency", "1 us\n3.16228 us\n10 us\n31.6228 us\n100 us\n"},
      {"whole numbers in logarithms, each once",
       R"("axes": {"cluster.nodes": {"from": 1, "to": 4, "count": 5, "spacing": "log"}})",
       "cluster.nodes", "1\n2\n3\n4\n"},
      {"numbers with a point", R"("axes": {"interference": {"from": 1.0, "to": 2, "count": 3}})",
       "interference", "1.0\n1.5\n2.0\n"},
      {"fields that are set for all points; a field of a strategy that is one word",
       R"("set": {"channels": 3, "strategy": "ddp"}, "axes": {"channels": [1, 2], "strategy.bucket": ["1 MB"]})",
       "channels,strategy", "1,ddp\n2,ddp\n"},
      {"one value", R"("axes": {"cluster.nodes": {"from": 8, "to": 8, "count": 1}})",
       "cluster.nodes", "8\n"},
      {"axes that move together, at the place of the first",
       R"("axes": {"seed": [1, 2], "strategy": ["wfbp", "naive"], "cluster.nodes": [4, 8]},
          "zip": [["seed", "cluster.nodes"]])",
       "seed,strategy,cluster.nodes", "1,wfbp,4\n1,naive,4\n2,wfbp,8\n2,naive,8\n"},
      {"a field of the base in a condition",
       R"("axes": {"cluster.nodes": [2, 4, 8]}, "where": ["cluster.nodes * trace.batch <= 256"])",
       "cluster.nodes", "2\n4\n"},
      {"or, words, products",
       R"("axes": {"cluster.nodes": [2, 4, 8], "channels": [1, 2], "strategy": ["wfbp", {"name": "ddp"}]},
          "where": ["cluster.nodes * channels <= 4", "strategy == ddp or cluster.nodes > 2"])",
       "cluster.nodes,channels,metrics.iteration_us.n,strategy",
       "2,1,1,\"{\"\"name\"\":\"\"ddp\"\"}\"\n2,2,1,\"{\"\"name\"\":\"\"ddp\"\"}\"\n4,1,1,wfbp\n"
       "4,1,1,\"{\"\"name\"\":\"\"ddp\"\"}\"\n"},
      {"quantities compare by value, not as text",
       R"("axes": {"cluster.nic.latency": ["900 ns", "2 us", "0.1 ms"]},
          "where": ["cluster.nic.latency < 0.01 ms"])",
       "cluster.nic.latency", "900 ns\n2 us\n"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Temporary file(Temporary::Kind::file, spec(row.fields));
    const Ran ran = run_sgdsim({"sweep", file.name(), "--columns", row.columns, "-q"});
    CHECK(ran.log == "");
    CHECK(ran.exit_code == 0);
    CHECK(ran.out == row.columns + "\n" + row.expected);
  }
}

TEST_CASE("sweep: a spec that cannot be is refused before the first point") {
  struct Row {
    std::string reason, fields, sentence;
  };
  const std::string nodes = R"("axes": {"cluster.nodes": [2, 4]})";
  const std::vector<Row> rows = {
      {"no such field of the cluster", R"("axes": {"cluster.nodez": [2, 4]})",
       "/axes/cluster.nodez: no point can be read: mgwfbp_paper_10gbe.json: /: unknown field "
       "\"nodez\" (did "
       "you mean \"nodes\"?); known: schema, name, "},
      {"no such field of an experiment", R"("axes": {"clustr.nodes": [2, 4]})",
       "/axes/clustr.nodes: no point can be read: googlenet_k80.json: /: unknown field \"clustr\" "
       "(did you mean \"cluster\"?); known: "},
      {"below a word", R"("axes": {"fidelity.level": ["1 MB"]})",
       "there is nothing below the value \"closed_form\""},
      {"of another strategy", R"("axes": {"strategy.bucket": ["1 MB"]})",
       "/axes/strategy.bucket: no point can be read: googlenet_k80.json: /strategy: unknown field "
       "\"bucket\"; known: name"},
      {"zip of unequal lengths",
       R"("axes": {"cluster.nodes": [2, 4], "seed": [1, 2, 3]}, "zip": [["cluster.nodes", "seed"]])",
       "/zip/0: axes that move together need equally many values; \"cluster.nodes\" has 2 and "
       "\"seed\" has 3"},
      {"zip of nothing known", nodes + R"(, "zip": [["nodes"]])",
       "/zip/0/0: unknown axis \"nodes\"; known: cluster.nodes"},
      {"in two zips",
       R"("axes": {"cluster.nodes": [2, 4], "seed": [1, 2]}, "zip": [["cluster.nodes", "seed"], ["seed"]])",
       "/zip/1/0: this axis is in a zip already"},
      {"no axes", R"("axes": {})", "expected at least one axis in \"axes\""},
      {"no values", R"("axes": {"seed": []})", "/axes/seed: expected at least one value"},
      {"a value twice", R"("axes": {"seed": [1, 1]})", "/axes/seed/1: this value occurs twice"},
      {"a value twice, in other words",
       R"("axes": {"cluster.nic.bandwidth": ["1 Gbps", "10 Gbps", "1000Mbps"]})",
       "/axes/cluster.nic.bandwidth/2: this value occurs twice"},
      {"neither list nor range", R"("axes": {"seed": 3})", "/axes/seed: expected a list of values"},
      {"falling", R"("axes": {"seed": {"from": 4, "to": 2, "step": 1}})",
       "/axes/seed/to: expected at least `from`"},
      {"two ways at once", R"("axes": {"seed": {"from": 1, "to": 2, "step": 1, "count": 2}})",
       "/axes/seed: a range needs one of \"step\", \"factor\" and \"count\""},
      {"a step of nothing", R"("axes": {"seed": {"from": 1, "to": 2, "step": 0}})",
       "/axes/seed/step: expected more than 0"},
      {"a factor of one", R"("axes": {"seed": {"from": 1, "to": 2, "factor": 1}})",
       "/axes/seed/factor: expected a number from "},
      {"mixed kinds",
       R"("axes": {"cluster.nic.latency": {"from": "1 us", "to": "1 MB", "count": 3}})",
       "/axes/cluster.nic.latency/to: expected a time as in `from`, got a size"},
      {"too fine for whole numbers", R"("axes": {"seed": {"from": 1, "to": 2, "count": 3}})",
       "/axes/seed/count: there are fewer whole values in the range"},
      {"where: unknown field", nodes + R"(, "where": ["cluster.node < 4"])",
       "/where/0: unknown field \"cluster.node\" (did you mean \"cluster.nodes\"?)"},
      {"where: no comparison", nodes + R"(, "where": ["cluster.nodes"])",
       "/where/0: expected a comparison with "},
      {"where: nothing that varies", nodes + R"(, "where": ["fidelity == closed_form"])",
       "/where/0: \"fidelity == closed_form\" names no axis of this sweep"},
      {"where: words in order", R"("axes": {"strategy": ["wfbp"]}, "where": ["strategy < ddp"])",
       "/where/0: \"wfbp\" and \"ddp\" cannot be larger or smaller"},
      {"where: nothing is left", nodes + R"(, "where": ["cluster.nodes > 4"])",
       "/where: this leaves no point"},
      {"an unknown field of the sweep", nodes + R"(, "axis": 1)",
       "/: unknown field \"axis\" (did you mean \"axes\"?)"},
      {"more points than can be numbered",
       R"("axes": {"seed": {"from": 1, "to": 1000000000000, "step": 1},
           "cluster.nodes": {"from": 1, "to": 1000000000000, "step": 1}})",
       "the axes have more than 2^63 points together"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Temporary file(Temporary::Kind::file, spec(row.fields));
    const Ran ran = run_sgdsim({"sweep", file.name()});
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    INFO(ran.log);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
    CHECK(std::count(ran.log.begin(), ran.log.end(), '\n') == 1);
  }
}

TEST_CASE("sweep: 10^12 points are counted; running them all is refused, a shard of them runs") {
  const Temporary file(Temporary::Kind::file,
                       spec(R"("axes": {"seed": {"from": 1, "to": 1000000000000, "step": 1}})"));
  const Ran dry = run_sgdsim({"sweep", file.name(), "--dry-run", "-j", "2"});
  CHECK(dry.exit_code == 0);
  CHECK(dry.out.find(": 1000000000000 points\n") != std::string::npos);
  CHECK(dry.out.find("seed  1000000000000     1  1000000000000\n") != std::string::npos);
  const Ran all = run_sgdsim({"sweep", file.name()});
  CHECK(all.exit_code == 2);
  CHECK(all.log.find("1000000000000 points are more than one process takes") != std::string::npos);
  const Ran some = run_sgdsim(
      {"sweep", file.name(), "-q", "--shard", "7/333333333333", "--columns", "point,seed"});
  CHECK(some.out == "point,seed\n7,8\n333333333340,333333333341\n666666666673,666666666674\n");
}

TEST_CASE("sweep: a point is what `sgdsim run` says of the same experiment") {
  const Temporary file(Temporary::Kind::file, spec(R"("axes": {
      "cluster.nodes": [4, 16], "cluster": ["../../topologies/data/mgwfbp_paper_10gbe.json"],
      "strategy": ["optimal", {"name": "ddp", "bucket": "4 MB"}], "trace.batch": [16, 32]})"));
  // The cluster's file is named beside the sweep's.
  const Temporary folder(Temporary::Kind::folder);
  const std::string sweep = folder.name() + "/a/b/sweep.json";
  std::filesystem::create_directories(folder.name() + "/a/b");
  std::filesystem::create_symlink(SGDSIM_SOURCE_DIR "/topologies", folder.name() + "/topologies");
  std::filesystem::copy_file(file.name(), sweep);
  const std::vector<Json> lines = json_lines(run_sgdsim({"sweep", sweep, "-q"}).out);
  REQUIRE(lines.size() == 8);
  for (const Json& line : lines) {
    std::vector<std::string> words = {"run", experiment, "--format", "json"};
    for (const auto& [field, value] : line["axes"].items())
      if (field != "cluster") words.insert(words.end(), {"--set", field + "=" + value.dump()});
    const Json result = Json::parse(run_sgdsim(words).out);
    CHECK(line["id"] == result["id"]);
    CHECK(line["iteration_ps"] == result["iteration_ps"]);
    CHECK(line["metrics"] == result["metrics"]);
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/point/1", line).empty());
  }
}

TEST_CASE("sweep: a point that fails is a line with its error, and the others are there") {
  const Temporary file(Temporary::Kind::file, spec(R"("axes": {
      "cluster.nodes": [2, 0, 4], "strategy": ["wfbp", "nope"]})"));
  const Ran ran = run_sgdsim({"sweep", file.name()});
  CHECK(ran.exit_code == 1);
  CHECK(ran.log.find("6 of 6 points in ") != std::string::npos);
  CHECK(ran.log.find(", 4 failed\n") != std::string::npos);
  CHECK(ran.log.find("warning: " + file.name() + ": /axes/strategy: 1 of 2 values fail") !=
        std::string::npos);
  const std::vector<Json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 6);
  const std::vector<bool> fails = {false, true, true, true, false, true};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(lines[i]["point"] == i);
    CHECK(lines[i].contains("error") == fails[i]);
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/point/1", lines[i]).empty());
  }
  CHECK(lines[1]["error"] ==
        "googlenet_k80.json: /strategy: unknown strategy \"nope\"; known: naive, wfbp, sync_easgd, "
        "mg_wfbp, optimal, fixed_buckets, ddp, horovod, bytescheduler, p3, omgs, bsp_lp");
}

TEST_CASE("sweep: threads and shards do not show in the result") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string whole = run_sgdsim({"sweep", shipped, "-q", "-j", "1"}).out;
  REQUIRE(json_lines(whole).size() == 448);
  CHECK((run_sgdsim({"sweep", shipped, "-q", "-j", "8"}).out == whole));
  std::vector<std::string> merge = {"merge"};
  for (int shard = 6; shard >= 0; --shard) {  // in any order
    const std::string part = folder.name() + "/" + std::to_string(shard);
    const Ran ran = run_sgdsim(
        {"sweep", shipped, "-q", "--shard", std::to_string(shard) + "/7", "--out", part});
    CHECK(ran.exit_code == 0);
    merge.push_back(part);
  }
  CHECK((run_sgdsim(merge).out == whole));
  SUBCASE("a missing shard is named by its points, with exit code 3") {
    merge.pop_back();  // shard 0
    const Ran ran = run_sgdsim(merge);
    CHECK(ran.exit_code == 3);
    CHECK(ran.out.empty());
    CHECK(ran.log.starts_with("sgdsim: 64 of 448 points are missing: 0, 7, 14, 21, "));
  }
  SUBCASE("a part that would be overwritten, whatever its name") {
    const std::string part = merge.back();
    const std::string before = read_text(part);
    merge.insert(merge.end(), {"--out", folder.name() + "/./0"});
    const Ran ran = run_sgdsim(merge);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log == "sgdsim: --out: " + merge.back() + " is an input of this command\n");
    CHECK((read_text(part) == before));
  }
  SUBCASE("a point that is there twice") {
    merge.push_back(merge.back());
    const Ran ran = run_sgdsim(merge);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("point 0 occurs twice; it is in ") != std::string::npos);
  }
  SUBCASE("parts of different sweeps") {
    const std::string other = folder.name() + "/other";
    run_sgdsim({"sweep", shipped, "-q", "--shard", "0/7", "--set", "seed=2", "--out", other});
    merge.back() = other;
    const Ran ran = run_sgdsim(merge);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("a point of sweep ") != std::string::npos);
  }
  SUBCASE("as a table") {
    merge.insert(merge.end(), {"--columns", "point,strategy"});
    CHECK(run_sgdsim(merge).out.starts_with("point,strategy\n0,wfbp\n1,sync_easgd\n"));
  }
}

TEST_CASE("sweep: a run that ended anywhere goes on to the same bytes") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/out";
  const Temporary file(Temporary::Kind::file, spec(R"("axes": {
      "cluster.nodes": [2, 0, 4], "strategy": ["wfbp", "nope"]})"));
  const std::string whole = run_sgdsim({"sweep", file.name(), "-q"}).out;
  // Cut after every 97th byte, and around every end of line.
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const bool near_end = cut > 0 && whole.find('\n', cut - 1) <= cut + 1;
    if (cut % 97 != 0 && !near_end) continue;
    INFO(cut);
    write(out, whole.substr(0, cut));
    const Ran ran = run_sgdsim({"sweep", file.name(), "-q", "--resume", "--out", out});
    CHECK(ran.exit_code == 1);  // points that failed before count as well
    REQUIRE((read_text(out) == whole));
  }
  SUBCASE("lines that are missing in between are added") {
    const std::size_t first = whole.find('\n') + 1;
    write(out, whole.substr(first));
    run_sgdsim({"sweep", file.name(), "-q", "--resume", "--out", out});
    CHECK(read_text(out) == whole.substr(first) + whole.substr(0, first));
    CHECK(run_sgdsim({"merge", out}).out == whole);
  }
  SUBCASE("what is there is not overwritten without being asked") {
    write(out, whole.substr(0, whole.find('\n') + 1));
    const Ran ran = run_sgdsim({"sweep", file.name(), "-q", "--out", out});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("holds 1 points of this sweep; go on with --resume, or remove it") !=
          std::string::npos);
  }
  struct Row {
    std::string reason, content, sentence;
  };
  const std::string line = whole.substr(0, whole.find('\n') + 1);
  std::string other = line;
  other.replace(other.find("\"sweep\":\"") + 9, 4, "0000");
  for (const Row& row : std::vector<Row>{
           {"a line of something else", line + "hello\n",
            ":2: expected the line of a point, got hello"},
           {"a line twice", line + line, ":2: point 0 occurs twice"},
           {"another sweep", other, ":1: this is a point of another sweep (0000"},
       }) {
    INFO(row.reason);
    write(out, row.content);
    const Ran ran = run_sgdsim({"sweep", file.name(), "-q", "--resume", "--out", out});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.sentence) != std::string::npos);
    CHECK(read_text(out) == row.content);  // nothing is lost
  }
  SUBCASE("another shard") {
    write(out, line);
    const Ran ran = run_sgdsim({"sweep", file.name(), "--resume", "--shard", "1/2", "--out", out});
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("point 0 belongs to another shard") != std::string::npos);
  }
}

// Message fidelity, so that a run takes seconds: it is killed as soon as it has written something.
TEST_CASE("sweep: killed and interrupted runs lose nothing") {
  const Temporary file(Temporary::Kind::file, spec(R"("axes": {
      "seed": {"from": 1, "to": 8000, "step": 1}, "fidelity": ["message"]})"));
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/out";
  const std::string words = " sweep " + file.name() +
                            " -q --set cluster.nodes=64 --set workers.jitter.distribution=" +
                            "lognormal --set workers.jitter.sigma=0.1 ";
  const std::string start = "touch " + out + "; before=$(wc -c <" + out +
                            "); \"" SGDSIM_PROGRAM "\"" + words + "--resume --out " + out +
                            " & pid=$!\nwhile kill -0 $pid && [ $(wc -c <" + out +
                            ") = $before ]; do :; done\n";
  const Ran killed =
      run_shell_line("for i in 1 2 3 4; do " + start + "kill -9 $pid; wait $pid; done");
  const std::string after_kills = read_text(out);
  CHECK(std::count(after_kills.begin(), after_kills.end(), '\n') >= 4);
  const Ran interrupted = run_shell_line(start + "kill -INT $pid; wait $pid");
  CHECK(interrupted.exit_code == 130);
  const std::string after_interrupt = read_text(out);
  CHECK(after_interrupt.ends_with("}\n"));
  CHECK(after_interrupt.starts_with(after_kills.substr(0, after_kills.rfind('\n') + 1)));
  CHECK(interrupted.log.find("interrupted; finishing the points that have begun") !=
        std::string::npos);
  const Ran rest = run_shell_line("sgdsim" + words + "--resume --out " + out);
  CHECK(rest.exit_code == 0);
  const bool is_same = run_shell_line("sgdsim" + words + "-j 1").out == read_text(out);
  CHECK(is_same);
}

TEST_CASE("sweep: an output that fails is said, with exit code 1") {
  const Ran full = run_sgdsim({"sweep", shipped, "-q", "--out", "/dev/full"});
  CHECK(full.exit_code == 1);
  CHECK(full.log == "sgdsim: failed: /dev/full: cannot be written: No space left on device\n");
  const Ran folder = run_sgdsim({"sweep", shipped, "-q", "--out", "/no/such/folder/out"});
  CHECK(folder.exit_code == 2);
  CHECK(folder.log ==
        "sgdsim: /no/such/folder/out: cannot be written: No such file or directory\n");
}

// No double holds both.
TEST_CASE("sweep: whole numbers of an axis that doubles do not tell apart are two values") {
  const Ran ran = call_sgdsim({"sweep", "resnet50_v100", "-c", "10gbe_16", "--axis",
                               "seed=9007199254740992,9007199254740993"});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
}

}  // namespace

}  // namespace sgdsim
