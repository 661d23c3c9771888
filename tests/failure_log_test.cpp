// Logs of failures: what rows count, what is left out, and what is refused.
#include "traces/failures/failure_log.h"

#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "study/goodput/failures_file.h"
#include "tests/run_program.h"
#include "traces/failures/time_stamp.h"

namespace sgdsim {
namespace {

constexpr double day_s = 86400;
FailureScope scope(double units, const std::string& since = "", const std::string& until = "") {
  return {units, "", since, until};
}

FailureRecord read(const std::string& text, const FailureScope& of) {
  return read_failure_log(text, "log.csv", of);
}

const std::string head = "time,unit,cause,down_until\n";
const std::string acme_head =
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
    "queue,gpu_time\n";

}  // namespace

// Days since 1970 by hand: 2000-03-01 is day 11,017, and 2024-02-29 day 19,782.
TEST_CASE("time stamps") {
  const auto at = [](const std::string& text) { return time_stamp(text, "here").s; };
  CHECK(at("1970-01-01") == 0);
  CHECK(at("2000-03-01") == 11017 * day_s);
  CHECK(at("2024-02-29 12:00") == 19782 * day_s + 43200);
  CHECK(at("2024/02/29 12:00:01.25") == 19782 * day_s + 43201.25);
  CHECK(at("1970-01-02T00:00:00Z") == day_s);
  CHECK(at("1970-01-01 08:00:00+08:00") == 0);
  CHECK(at("1970-01-01 00:00:00-0330") == 12600);
  CHECK(at("1970-01-01 00:00 +01") == -3600);
  CHECK(at("-12.5") == -12.5);
  CHECK(at("1e6") == 1e6);
  for (const char* text :
       {"", "yesterday", "2023-02-29", "2023-13-01", "2023-00-01", "2023-01-32", "1899-01-01",
        "2023-01-01 25:00", "2023-01-01 12:60", "2023-01-01 12", "2023-01-01 12:00:61",
        "2023-01-01 12:00:00 PDT", "2023-01-01 12:00:00+15:00", "12 s", "nan", "inf", "1e300"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(at(text), doctest::Contains("expected a moment"), InputError);
  }
}

// Two nodes for 10 days. a fails on day 2, is back on day 3 and fails on day 7; b never does.
TEST_CASE("failure logs: a table by hand") {
  const FailureRecord record =
      read(head + "1970-01-03,a,gpu,1970-01-04\n# a note\n\n1970-01-08,a,\"a, b\",\n",
           scope(2, "1970-01-01", "1970-01-11"));
  CHECK(record.causes == std::vector<std::string>{"gpu", "a, b"});
  REQUIRE(record.failures.size() == 2);
  CHECK(record.failures[1].at_s == 7 * day_s);
  CHECK(record.length_s == 10 * day_s);
  CHECK(record.seen_unit_s == 19 * day_s);  // a day was down
  REQUIRE(record.units.size() == 1);
  CHECK(record.units[0].failures == 2);
  CHECK(record.units[0].seen_s == 9 * day_s);
  REQUIRE(record.spells.size() == 4);
  const std::vector<double> lengths = {2 * day_s, 4 * day_s, 3 * day_s, 10 * day_s};
  for (std::size_t i = 0; i < lengths.size(); ++i) CHECK(record.spells[i].length_s == lengths[i]);
  CHECK(record.spells[0].cause == 0);
  CHECK(record.spells[2].cause == -1);
  REQUIRE(record.outages.size() == 1);
  CHECK(record.outages[0].length_s == day_s);
  CHECK(record.notes.empty());
}

TEST_CASE("failure logs: columns are found by their words, and others are named") {
  const FailureRecord record =
      read("Time,Unit,Down Until,severity,downuntil\n100,n,300,high,400\n", scope(1, "0", "1000"));
  CHECK(record.seen_unit_s == 100 + 700);
  REQUIRE(record.notes.size() == 1);
  CHECK(record.notes[0] ==
        "not read: the columns downuntil, severity; known are time, unit, cause and down_until");
  const FailureRecord many =
      read("time,unit,\x1b[2J,a,b,c,d,e,f,g,h,i\n1,n,,,,,,,,,,\n", scope(1, "0", "1000"));
  REQUIRE(many.notes.size() == 1);
  CHECK(many.notes[0].find('\x1b') == std::string::npos);
  CHECK(many.notes[0].find("f, g, ... (10)") != std::string::npos);
}

// Rows in any order and separated by semicolons; a unit that fails while it is down fails once;
// what is down beyond the end of the log is not seen.
TEST_CASE("failure logs: disorder") {
  const FailureRecord record = read(
      "\xEF\xBB\xBF"
      "cause;time;node;down_until\nx;700;n;2000\nx;100;n;300\ny;200;n;400\n",
      scope(1, "0", "1000"));
  CHECK(record.failures.size() == 2);
  CHECK(record.seen_unit_s == 100 + 300);
  REQUIRE(record.notes.size() == 1);
  CHECK(record.notes[0].find("1 failures of units that were down already") == 0);
}

// What fails within an outage may lengthen it: from the first failure until the last is back.
TEST_CASE("failure logs: overlapping outages are one, and a row said twice is one failure") {
  const FailureRecord joined =
      read(head + "100,n,x,200\n150,n,x,600\n160,n,x,300\n700,n,x,800\n", scope(1, "0", "1000"));
  CHECK(joined.failures.size() == 2);
  CHECK(joined.seen_unit_s == 100 + 100 + 200);
  REQUIRE(joined.outages.size() == 2);
  CHECK(joined.outages[0].length_s == 500);
  CHECK(joined.outages[1].length_s == 100);
  const FailureRecord twice =
      read("time,unit,cause\n100,n,x\n100,n,x\n100,n,y\n100,m,x\n400,n,x\n", scope(2, "0", "1000"));
  CHECK(twice.failures.size() == 3);
  for (const FailureSpell& spell : twice.spells) CHECK(spell.length_s > 0);
  REQUIRE(twice.notes.size() == 1);
  CHECK(twice.notes[0].find("2 rows repeat a failure of the same unit") == 0);
}

// Ten failures ten seconds apart are a rate of one in ten seconds, and not ten in ninety.
TEST_CASE("failure logs: without a beginning and an end") {
  std::string rows = "time,cause\n";
  for (int i = 0; i < 10; ++i) rows += std::to_string(10 * i) + ",x\n";
  const FailureRecord record = read(rows, scope(5));
  CHECK(record.length_s == 100);
  CHECK(record.seen_unit_s == 500);
  CHECK(record.spells.empty());  // nobody says which unit failed
  REQUIRE(record.notes.size() == 1);
  CHECK(record.notes[0].find("half a mean gap") != std::string::npos);
  // One unit needs no name.
  CHECK(read(rows, scope(1)).spells.size() == 11);
}

// The two rows of the documentation of AcmeTrace, and what has no GPU or no end.
TEST_CASE("failure logs: jobs of Acme") {
  const std::string rows =
      acme_head +
      "1,u,2,16,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 "
      "00:20:51+08:00,117,32,936.0\n"
      "2,u,1,8,128,Other,COMPLETED,2023-03-01 00:23:58+08:00,2023-03-01 00:24:11+08:00,2023-03-01 "
      "01:09:04+08:00,2693,13,21544.0\n"
      "3,u,1,0,128,Other,FAILED,,2023-03-01 00:24:11+08:00,2023-03-01 00:24:12+08:00,1,13,0\n"
      "4,u,1,1,128,Other,NODE_FAIL,,2023-03-01 00:24:11+08:00,2023-03-01 00:24:21+08:00,1,13,0\n"
      "5,u,1,8,128,Other,CANCELLED,,,,1,13,0\n"
      "6,u,1,8,128,Other,TIMEOUT,,2023-03-01 00:24:11+08:00,2023-03-01 00:24:11+08:00,0,13,0\n";
  const FailureRecord nodes = read(rows, {});
  CHECK(nodes.causes == std::vector<std::string>{"failed", "node_fail"});
  CHECK(nodes.seen_unit_s == 2 * 117 + 2693 + 10);
  CHECK(nodes.spells.size() == 4);
  CHECK(nodes.length_s == 50 * 60 + 10);
  CHECK(nodes.notes.size() == 3);
  FailureScope gpus;
  gpus.unit = "gpu";
  CHECK(read(rows, gpus).seen_unit_s == 16 * 117 + 8 * 2693 + 10);
}

// As Slurm's sacct writes states and times: three jobs that failed, of 10 s each, beside six of 100
// s that nothing failed in, and two that are not over or never began.
TEST_CASE("failure logs: jobs as sacct writes them") {
  const auto job = [](const std::string& state, const std::string& start, const std::string& end) {
    return "1,u,1,8,64,T," + state + ",," + start + "," + end + ",1,1,1\n";
  };
  std::string rows = acme_head;
  for (const char* state :
       {"CANCELLED by 1003", "CANCELLED+", "CANCELLED", "COMPLETED", "PREEMPTE+", "Cancel+"})
    rows += job(state, "2026-01-01T00:00:00", "2026-01-01T00:01:40");
  for (const char* state : {"OUT_OF_ME+", "NODE_FAIL", "Node Fail"})
    rows += job(state, "2026-01-01T00:00:00", "2026-01-01T00:00:10");
  rows += job("RUNNING", "2026-01-01T00:00:00", "Unknown") + job("PENDING", "None", "Unknown");
  const FailureRecord record = read(rows, {});
  CHECK(record.causes == std::vector<std::string>{"out_of_memory", "node_fail", "node fail"});
  CHECK(record.failures.size() == 3);
  CHECK(record.seen_unit_s == 6 * 100 + 3 * 10);
  REQUIRE(record.notes.size() == 2);
  CHECK(record.notes[0] == "2 jobs without a start or an end were left out");
  // Of what is cut too short nobody knows what it was; it is no other state either.
  CHECK(read(acme_head + job("COMP+", "10", "20") + job("DEAD+", "10", "20"), {}).causes ==
        std::vector<std::string>{"comp+", "deadline"});
}

// The entry of the documentation of philly-traces, with what its notes say may be missing.
TEST_CASE("failure logs: attempts of Philly") {
  const std::string text = R"([{"status": "Pass", "vc": "e", "jobid": "a_1", "attempts": [
      {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
       "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}, {"ip": "m9", "gpus": ["gpu0"]}]},
      {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 02:13:30",
       "detail": [{"ip": "m47", "gpus": ["gpu0"]}]}], "submitted_time": "2017-10-07 01:11:39",
      "user": "c"},
    {"status": "Failed", "vc": "e", "jobid": "a_2", "attempts": [
      {"start_time": "None", "end_time": null, "detail": []},
      {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 01:13:40", "detail":
       [{"ip": "m9", "gpus": ["gpu3"]}]}]},
    {"status": "Killed", "jobid": "a_3", "vc": "e", "attempts": []}])";
  const FailureRecord record = read(text, {});
  CHECK(record.causes == std::vector<std::string>{"retried", "failed"});
  CHECK(record.seen_unit_s == 2 * 74 + 3600 + 10);
  REQUIRE(record.units.size() == 2);
  CHECK(record.units[0].failures == 1);  // m47
  CHECK(record.units[1].failures == 2);
  FailureScope gpus;
  gpus.unit = "gpu";
  CHECK(read(text, gpus).seen_unit_s == 3 * 74 + 3600 + 10);
}

TEST_CASE("failure logs: refused") {
  struct Row {
    std::string text;
    FailureScope of;
    const char* sentence;
  };
  const std::string one = head + "1970-01-03,a,gpu,\n";
  for (const Row& row : std::vector<Row>{
           {"", scope(1), "is no log of failures"},
           {"time,unit\n", scope(1), "has no failure"},
           {"name,params\nx,1\n", scope(1), "is no log of failures"},
           {one, scope(0), "--units: how many units"},
           {one, scope(1), "--until: the log would have no length"},
           {one, scope(1, "1970-01-04", "1970-01-05"),
            "line 2: failed before the log began: give --since \"1970-01-03\", or earlier"},
           {one, scope(1, "1970-01-01", "1970-01-02"),
            "line 2: failed after the log ended: give --until \"1970-01-03\", or later"},
           {one, scope(1, "1970-01-09", "1970-01-02"), "--since: the log would have no length"},
           {one, scope(1, "0", "10"), "they cannot be compared"},
           // What is typed has to be like the log.
           {head + "1970-01-03T00:00:00Z,a,gpu,\n", scope(1, "1970-01-01"),
            "--since: \"1970-01-01\" has no time zone, and the moment at log.csv: line 2 has a "
            "time "
            "zone: they cannot be compared; write it with one, as 1970-01-01T00:00:00Z"},
           {head + "1970-01-03T00:00:00Z,a,gpu,\n", scope(1, "", "1970-01-09 10:00"),
            "write it with one, as 1970-01-09 10:00Z"},
           {one + "1970-01-04,b,gpu,\n", scope(1, "1970-01-01", "1970-02-01"),
            "--units: the log names 2 nodes"},
           {head + "1970-01-03,a,gpu,1970-01-02\n", scope(1), "before it failed"},
           {head + "1970-01-03,a,gpu\n", scope(1), "expected 4 fields, got 3"},
           {head + "1970-01-03,,gpu,\n", scope(1), "does not say which unit failed"},
           {head + "1970-01-03,a\xff,gpu,\n", scope(1), "line 2: a cell is not UTF-8"},
           {head + "1970-01-03,a,\xff,\n", scope(1), "line 2: a cell is not UTF-8"},
           {head + "soon,a,gpu,\n", scope(1), "line 2: expected a moment"},
           {"time,time,cause\n1,2,x\n", scope(1), "the column time is there twice"},
           {head + "\"1970-01-03,a,gpu,\n", scope(1), "a double quote is not closed"},
           {acme_head, {}, "has no job that ran on GPUs"},
           {acme_head, scope(7), "--units: is for a table of failures"},
           {acme_head + "1,u,-2,16,8,O,FAILED,,2023-03-01,2023-03-02,1,1,1\n",
            {},
            "expected a number of nodes"},
           {acme_head + "1,u,2,16,8,O,FAILED,,2023-03-03,2023-03-02,1,1,1\n",
            {},
            "ends before it starts"},
           {acme_head + "1,u,2,1e300,8,O,FAILED,,2023-03-01,2023-03-02,1,1,1\n",
            {},
            "more nodes or GPUs than there are"},
           {R"([{"jobid": "x", "attempts": 3, "status": "Pass"}])", {}, "attempts"},
           {R"([{"jobid": "x", "attempts": [], "status": "Pass"})", {}, "log.csv"},
           {R"([{"jobid": "x", "attempts": [], "status": "Pass"}])", {}, "has no attempt"}}) {
    CAPTURE(row.text);
    CHECK_THROWS_WITH_AS(read(row.text, row.of), doctest::Contains(row.sentence), InputError);
  }
  // A long cause is cut between characters, of which the 200th byte is the first of two.
  std::string umlauts = "a";
  for (int i = 0; i < 150; ++i) umlauts += "\xc3\xa4";
  CHECK(read(head + "1970-01-03,a," + umlauts + ",\n", scope(1, "1970-01-01", "1970-02-01"))
            .causes.at(0)
            .size() == 199);
  std::string many = "time,cause\n";
  for (int i = 0; i < 1001; ++i) many += std::to_string(i) + ",c" + std::to_string(i) + "\n";
  CHECK_THROWS_WITH_AS(read(many, scope(1)), doctest::Contains("more than 1000 causes"),
                       InputError);
}

// The log that ships was drawn with 0.004 failures of a node and day, and three lemons.
TEST_CASE("sgdsim fit: a log of failures") {
  const std::vector<std::string> words = {"fit",     "app/goodput_questions/node_failures.csv",
                                          "--units", "256",
                                          "--since", "2026-01-01",
                                          "--until", "2026-05-01"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_sgdsim(more);
  };
  const Ran ran = with({"--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/failure-fit/1", json) ==
        std::vector<std::string>{});
  const std::vector<std::string> bad = {"n017", "n101", "n230"};
  CHECK(json["lemons"].size() == 3);
  for (const Json& lemon : json["lemons"])
    CHECK(std::count(bad.begin(), bad.end(), lemon["unit"].get<std::string>()) == 1);
  CHECK(json["per_day_of_others"].get<double>() == doctest::Approx(0.004).epsilon(0.25));
  CHECK(json["causes"][0]["name"] == "gpu");
  CHECK(json["causes"][0]["per_day_low"] < json["causes"][0]["per_day"]);
  CHECK(json["causes"][0]["per_day"] < json["causes"][0]["per_day_high"]);
  CHECK(with({}).out.find("fail too often to be like the others") != std::string::npos);

  // The file is one that goodput reads: as many events of as many node-days.
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/failures.json";
  CHECK(with({"--out", out, "--name", "ours"}).exit_code == 0);
  const Document written = Document::read(out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/failures/1", written.root().json()) ==
        std::vector<std::string>{});
  const FailureSource source = read_failures(written.root());
  CHECK(source.name == "ours");
  REQUIRE(source.lemons);
  CHECK(source.lemons->of_units == doctest::Approx(3. / 256));
  CHECK(source.lemons->of_failures == doctest::Approx(json["lemons_of_failures"].get<double>()));
  double per_day = 0;
  for (const FailureCause& cause : source.causes) per_day += cause.per_day;
  CHECK(per_day == doctest::Approx(json["all"]["per_day"].get<double>()).epsilon(1e-9));
  const Ran goodput =
      run_sgdsim({"goodput", "--step", "8 s", "--steps", "100000", "--nodes", "256", "--failures",
                  out, "--set", "save.stall=10s", "--set", "save.durable=1min", "--runs", "100"});
  CAPTURE(goodput.log);
  CHECK(goodput.exit_code == 0);

  struct Row {
    std::vector<std::string> more;
    const char* sentence;
  };
  for (const Row& row :
       std::vector<Row>{{{"--gamma", "1 ns/B"}, "--gamma: has no effect on a log of failures"},
                        {{"--unit", "rack"}, "--unit: unknown unit \"rack\""},
                        {{"tests/data/nccl_tests.log"}, "a log of failures is one file, got 2"}}) {
    const Ran refused = with(row.more);
    CHECK(refused.exit_code == 2);
    CHECK(refused.log.find(row.sentence) != std::string::npos);
  }
  const Ran other = run_sgdsim({"fit", "tests/data/nccl_tests.log", "--units", "4"});
  CHECK(other.exit_code == 2);
  CHECK(other.log.find("--units: is for a log of failures") != std::string::npos);
}

// Down for 1, 2, 4 and 9 hours: three hours in the middle, four in the mean.
TEST_CASE("sgdsim fit: the median of an even number of outages is between the middle ones") {
  const Temporary log(Temporary::Kind::file,
                      "time,unit,cause,down_until\n"
                      "2026-01-02 00:00,a,gpu,2026-01-02 01:00\n"
                      "2026-01-03 00:00,b,gpu,2026-01-03 02:00\n"
                      "2026-01-04 00:00,c,gpu,2026-01-04 04:00\n"
                      "2026-01-05 00:00,d,gpu,2026-01-05 09:00\n");
  const Ran ran = run_sgdsim({"fit", log.name(), "--units", "8", "--since", "2026-01-01", "--until",
                              "2026-02-01", "--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json cause = Json::parse(ran.out)["causes"][0];
  CHECK(cause["down_median_s"].get<double>() == 3 * 3600);
  CHECK(cause["down_mean_s"].get<double>() == 4 * 3600);
}

TEST_CASE("sgdsim fit: a log of failures from standard input is told from measured times") {
  const Ran ran =
      run_sgdsim({"fit", "-"}, {SGDSIM_SOURCE_DIR "/app/goodput_questions/node_failures.csv", ""});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("this is a log of failures, which must be a file: `sgdsim fit FILE`") !=
        std::string::npos);
}

// A pipe can be read once: nothing looks at its beginning first.
TEST_CASE("sgdsim fit: measurements from a pipe are whole") {
  const Ran file = run_shell_line("sgdsim fit tests/data/nccl_tests.log --format json");
  const Ran pipe = run_shell_line(
      "mkfifo log; cat tests/data/nccl_tests.log > log & sgdsim fit log --format json");
  CAPTURE(pipe.log);
  REQUIRE(pipe.exit_code == 0);
  CHECK(Json::parse(pipe.out)["fits"] == Json::parse(file.out)["fits"]);
}

}  // namespace sgdsim
