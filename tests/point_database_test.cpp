// Points as SQLite databases: the same points as lines, whole after a kill, and nothing of others
// lost.
#include "study/sweep/point_database.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "sim/core/error.h"
#include "sim/core/output.h"
#include "study/sweep/point_file.h"
#include "study/sweep/sqlite.h"
#include "tests/report_pages.h"
#include "tests/run_program.h"

using namespace sgdsim;

namespace {

const std::string k80 = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";

// Whole numbers, texts beside objects, and a strategy that is none: its points fail.
const std::vector<std::string> asked = {
    "sweep",
    k80,
    "-q",
    "-j",
    "2",
    "--axis",
    "cluster.nodes=2,3,5",
    "--axis",
    R"(strategy=["wfbp", {"name": "ddp", "bucket": "1 MiB"}, "nothing"])"};

Ran sweep(const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = asked;
  words.insert(words.end(), {"--out", out});
  words.insert(words.end(), more.begin(), more.end());
  return call_sgdsim(words);
}

std::vector<Json> points_in(const std::string& file) {
  std::vector<Json> points;
  read_points(file, [&](PointRecord& record) { points.push_back(record.json); });
  return points;
}

int64_t count_in(const std::string& file, const std::string& sql) {
  const Database database(file, Database::Open::to_read);
  Statement count = database.prepare(sql);
  REQUIRE(count.step());
  return std::get<int64_t>(count.value(0));
}

}  // namespace

TEST_CASE("databases: hold the points that lines do") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string lines = folder.name() + "/a.jsonl", database = folder.name() + "/a.db";
  CHECK(sweep(lines).exit_code == 1);
  CHECK(sweep(database).exit_code == 1);
  const std::vector<Json> expected = points_in(lines), found = points_in(database);
  REQUIRE(expected.size() == 9);
  REQUIRE(found.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(found[i] == expected[i]);
  CHECK(holds_database(database));
  CHECK(!holds_database(lines));
  CHECK_MESSAGE(!std::filesystem::exists(database + "-wal"), "one file, when it is done");
  CHECK(count_in(database, "SELECT count(*) FROM points WHERE error IS NOT NULL") == 3);
  CHECK(count_in(database,
                 "SELECT typeof(\"axes.cluster.nodes\") = 'integer' AND "
                 "typeof(\"metrics.iteration_us.mean\") = 'real' FROM points") == 1);
  const DatabaseHead head = read_head(database);
  CHECK(head.about.at("of") == "9");
  CHECK(Json::parse(head.about.at("question"))["axes"]["cluster.nodes"] == Json::array({2, 3, 5}));
}

TEST_CASE("databases: are continued, and looked at before") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string whole = folder.name() + "/whole.db", cut = folder.name() + "/cut.db";
  sweep(whole);
  sweep(cut);
  {
    const Database database(cut, Database::Open::to_write);
    database.run("DELETE FROM points WHERE point > 3");
  }
  CHECK(sweep(cut).exit_code == 2);  // not without a word
  CHECK(points_in(cut).size() == 4);
  CHECK(sweep(cut, {"--resume"}).exit_code == 1);
  CHECK(points_in(cut) == points_in(whole));
  {
    const Database database(cut, Database::Open::to_write);
    database.run(
        "UPDATE points SET workers = workers + 1 WHERE point = "
        "(SELECT min(point) FROM points WHERE workers IS NOT NULL)");
    database.run("DELETE FROM points WHERE point = 8");
  }
  const Ran edited = sweep(cut, {"--resume"});
  CHECK(edited.exit_code == 2);
  CHECK(edited.log.find("is not what this sweep gives") != std::string::npos);
  CHECK(sweep(cut, {"--force"}).exit_code == 1);
  CHECK(points_in(cut) == points_in(whole));
}

TEST_CASE("databases: a killed sweep leaves whole batches") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/killed.db";
  const std::string words = " sweep " + k80 + " -q --axis cluster.nodes=2..40000:1 --out " + out;
  const std::string script = "\"" SGDSIM_PROGRAM "\"" + words + " & sleep 1; kill -9 $!; wait $!";
  run_shell_line(script);
  const std::size_t there = points_in(out).size();
  CHECK(there > 0);
  CHECK(there < 39999);
  // Nobody else is in the way, and the rest is as if nothing had happened.
  const Ran rest = run_shell_line("sgdsim" + words + " --resume");
  CHECK(rest.exit_code == 0);
  CHECK(count_in(out, "SELECT count(*) FROM points") == 39999);
  CHECK(count_in(out, "SELECT max(point) FROM points") == 39998);
}

// What a killed sweep had written beside its file is not put into another one.
TEST_CASE("databases: a new file has nothing of a killed sweep") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/killed.db", other = folder.name() + "/other.db";
  sweep(other);
  for (const std::string replace : {"sweep", "merge", "merge without the file"}) {
    CAPTURE(replace);
    std::filesystem::remove(out);
    const std::string words = " sweep " + k80 + " -q --axis cluster.nodes=2..40000:1 --out " + out;
    run_shell_line("\"" SGDSIM_PROGRAM "\"" + words + " & sleep 1; kill -9 $!; wait $!");
    REQUIRE(std::filesystem::exists(out + "-wal"));
    if (replace == "merge without the file") std::filesystem::remove(out);
    const Ran ran = replace == "sweep" ? sweep(out, {"--force"})
                                       : call_sgdsim({"merge", other, "--force", "--out", out});
    CHECK(ran.exit_code == (replace == "sweep" ? 1 : 0));
    CHECK(!std::filesystem::exists(out + "-wal"));
    CHECK(points_in(out) == points_in(other));
  }
}

TEST_CASE("databases: one alone becomes lines, or a table") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string at = folder.name() + "/";
  sweep(at + "a.jsonl");
  sweep(at + "a.db");
  const auto merged = [&](const std::string& part, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"merge", at + part};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = call_sgdsim(words);
    CHECK(ran.exit_code == 0);
    return ran.out;
  };
  const std::vector<std::string> columns = {"--columns", "cluster.nodes,strategy,iteration_ps"};
  CHECK(merged("a.db", columns) == merged("a.jsonl", columns));
  CHECK(call_sgdsim({"merge", at + "a.db", "--out", at + "b.jsonl"}).exit_code == 0);
  CHECK(points_in(at + "b.jsonl") == points_in(at + "a.jsonl"));
}

// The first value of the axis is none: of both kinds of files it is a column.
TEST_CASE("databases: an axis whose first value is null is a column") {
  const Temporary folder(Temporary::Kind::folder);
  std::vector<std::string> said;
  for (const char* name : {"/a.jsonl", "/a.db"}) {
    const std::string file = folder.name() + name;
    REQUIRE(call_sgdsim({"sweep", k80, "-q", "--axis", R"(cluster.nic.reduce=[null, "1 ns/B"])",
                         "--axis", "cluster.nodes=2,4", "--out", file})
                .exit_code == 0);
    const Ran table = call_sgdsim(
        {"plot", file, "--x", "nodes", "--y", "reduce", "--cell", "iteration", "--format", "csv"});
    CHECK(table.exit_code == 0);
    said.push_back(table.out);
    CHECK(call_sgdsim({"plot", file, "--x", "nodes", "--y", "iteration", "--by", "reduce", "--out",
                       file + ".svg"})
              .exit_code == 0);
  }
  CHECK(said[0] == said[1]);
  CHECK(std::count(said[0].begin(), said[0].end(), '\n') == 3);
}

TEST_CASE("databases: a name is a name, and no address") {
  const Temporary folder(Temporary::Kind::folder);
  const Ran ran = run_shell_line("cd " + folder.name() + "; \"" SGDSIM_PROGRAM "\" sweep " + k80 +
                                 " -q --axis cluster.nodes=2,3 --out 'file:q.db?mode=memory.db' && "
                                 "\"" SGDSIM_PROGRAM "\" merge 'file:q.db?mode=memory.db'");
  CHECK(ran.exit_code == 0);
  CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == 2);
}

TEST_CASE("databases: shards of both kinds are merged") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string at = folder.name() + "/";
  sweep(at + "whole.db");
  sweep(at + "0.db", {"--shard", "0/2"});
  sweep(at + "1.jsonl", {"--shard", "1/2"});
  CHECK(call_sgdsim({"merge", at + "0.db", at + "1.jsonl", "--out", at + "all.db"}).exit_code == 0);
  CHECK(points_in(at + "all.db") == points_in(at + "whole.db"));
  CHECK(read_head(at + "all.db").about.at("question") ==
        read_head(at + "whole.db").about.at("question"));
  CHECK(call_sgdsim({"merge", at + "0.db", "--out", at + "some.db"}).exit_code == 3);
  CHECK(!std::filesystem::exists(at + "some.db"));
  CHECK(call_sgdsim({"merge", at + "0.db", at + "1.jsonl", "--out", at + "all.jsonl"}).exit_code ==
        2);
  CHECK(call_sgdsim({"merge", at + "0.db", at + "0.db", "--out", at + "x.db"}).exit_code == 2);
}

TEST_CASE("databases: what is refused, and stays as it was") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string at = folder.name() + "/";
  std::ofstream(at + "text.db") << "something else\n";
  {
    const Database other(at + "other.db", Database::Open::to_write);
    other.run("CREATE TABLE mine (x)");
  }
  sweep(at + "lines.jsonl");
  std::filesystem::copy_file(at + "lines.jsonl", at + "lines.db");
  sweep(at + "points.db");
  std::filesystem::copy_file(at + "points.db", at + "points.jsonl");
  std::filesystem::create_directory(at + "folder.db");
  struct Row {
    const char* out;
    std::vector<std::string> more;
    const char* says;
  };
  const Row rows[] = {
      {"text.db", {}, "holds something else"},
      {"other.db", {"--resume"}, "other.db"},
      {"other.db", {}, "other.db"},
      {"lines.db", {"--resume"}, "holds something else"},
      {"points.jsonl", {"--resume"}, "must end in .db"},
      {"folder.db", {}, "folder"},
      {"nowhere/points.db", {}, "cannot be written"},
      {"points.db", {"--axis", "seed=1,2"}, "another sweep"},
      {"points.db", {"--columns", "cluster.nodes"}, "points.db"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.out);
    const std::string file = at + row.out;
    const bool is_file = std::filesystem::is_regular_file(file);
    const std::string before = is_file ? read_text(file) : "";
    const Ran ran = sweep(file, row.more);
    CHECK(ran.exit_code == 2);
    CHECK_MESSAGE(ran.log.find(row.says) != std::string::npos, ran.log);
    CHECK((is_file ? read_text(file) : "") == before);
  }
}

TEST_CASE("databases: one writer at a time, and a full disk") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/busy.db";
  {
    sweep(out);
    const Database writer(out, Database::Open::to_write);
    writer.run("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE");
    const Ran second = sweep(out, {"--resume"});
    CHECK(second.exit_code == 2);
    CHECK(second.log.find("another process writes to it") != std::string::npos);
  }
  // No file may grow beyond 64 blocks of 1 KiB: what was written before stays.
  const std::string small = folder.name() + "/small.db";
  const Ran full = run_shell_line("ulimit -f 64; trap '' XFSZ; sgdsim sweep " + k80 +
                                  " -q --axis cluster.nodes=2..40000:1 --out " + small);
  CHECK(full.exit_code == 1);
  CHECK(full.log.find("cannot be written") != std::string::npos);
}

TEST_CASE("databases: figures and pages are those of the lines") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string lines = folder.name() + "/a.jsonl", database = folder.name() + "/a.db";
  for (const std::string& file : {lines, database}) sweep(file);
  const auto drawn = [&](const std::string& file) {
    const Ran ran = call_sgdsim({"plot", file, "--x", "nodes", "--y", "iteration", "--out", "-"});
    CHECK(ran.exit_code == 0);
    return ran.out;
  };
  CHECK(drawn(lines).find("<path") != std::string::npos);
  CHECK(drawn(database) == drawn(lines));
  const Json expected = data_in(page_of({lines})), found = data_in(page_of({database}));
  REQUIRE(found["tables"].size() == 1);
  const Json& table = found["tables"][0];
  const Json& of_lines = expected["tables"][0];
  for (const char* same : {"rows", "failed", "of", "notes", "comparing"})
    CHECK(table[same] == of_lines[same]);
  REQUIRE(table["columns"].size() == of_lines["columns"].size());
  for (const Json& column : of_lines["columns"]) {
    const auto same =
        std::find_if(table["columns"].begin(), table["columns"].end(), [&](const Json& one) {
          return one["role"] == column["role"] && one["key"] == column["key"];
        });
    CAPTURE(column["key"].dump());
    REQUIRE(same != table["columns"].end());
    CHECK(column_values(table, *same) == column_values(of_lines, column));
  }
}

TEST_CASE("databases: without a point, or of others, there is nothing to draw") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string empty = folder.name() + "/empty.db", others = folder.name() + "/others.db";
  sweep(empty);
  Database(empty, Database::Open::to_write).run("DELETE FROM points");
  Database(others, Database::Open::to_write).run("CREATE TABLE points (x INTEGER)");
  for (const std::string& file : {empty, others})
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"plot", file, "--x", "nodes", "--y", "speedup", "-o", "-"},
          std::vector<std::string>{"report", file}}) {
      const Ran ran = call_sgdsim(words);
      CAPTURE(words.front());
      CHECK(ran.exit_code == 2);
      CHECK(ran.out == "");
      CHECK(ran.log.find(file + (file == empty ? ": holds no point" : ": is no database")) !=
            std::string::npos);
    }
}
