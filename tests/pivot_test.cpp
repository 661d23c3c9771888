// `sgdsim plot --cell`: one figure over two columns, as a table, CSV and JSON.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

std::string swept(const Json& axes, double iteration_us) {
  return Json(
             {{"schema", "sgdsim/point/1"},
              {"axes", axes},
              {"metrics", {{"iteration_us", {{"mean", iteration_us}, {"max", 2 * iteration_us}}}}}})
             .dump() +
         "\n";
}

Ran pivoted(const std::string& text, const std::vector<std::string>& words) {
  const Temporary file(Temporary::Kind::file, text);
  std::vector<std::string> all = {"plot", file.name()};
  all.insert(all.end(), words.begin(), words.end());
  return call_sgdsim(all);
}

const std::string four =
    swept({{"cluster.nodes", 4}, {"strategy", "ddp"}}, 1500) +
    swept({{"cluster.nodes", 8}, {"strategy", "ddp"}}, 2500) +
    swept({{"cluster.nodes", 4}, {"strategy", "a,b"}}, 900.5) +
    R"({"axes": {"cluster.nodes": 8, "strategy": "a,b"}, "error": "does not fit"})";

}  // namespace

TEST_CASE("pivot: cells are what points have, in the order of the file") {
  const std::vector<std::string> words = {"--x", "nodes", "--y", "strategy", "--cell", "iteration"};
  const auto with = [&](const char* format) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--format", format});
    return pivoted(four, all);
  };
  const Ran table = pivoted(four, words);
  REQUIRE(table.exit_code == 0);
  CHECK(table.log.find("1 row has no result, and is left out") != std::string::npos);
  CHECK(table.out ==
        "metrics.iteration by cluster.nodes (across)\n\n"
        "strategy          4          8\n"
        "ddp       1.5000 ms  2.5000 ms\n"
        "a,b       900.50 us          -\n");
  CHECK(with("table").out == table.out);
  CHECK(with("csv").out ==
        "strategy (metrics.iteration_us over "
        "cluster.nodes),4,8\nddp,1500.0,2500.0\n\"a,b\",900.5,\n");
  const Json json = Json::parse(with("json").out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/pivot/1", json) == std::vector<std::string>{});
  CHECK(json["across"] == Json({4, 8}));
  CHECK(json["rows"][1] == Json({{"y", "a,b"}, {"cells", {900.5, nullptr}}}));
}

TEST_CASE("pivot: layouts are priced over an axis of the cluster, too") {
  const std::vector<std::string> layout = {"layout",   "vit_large",
                                           "-c",       "dgx_h100_4",
                                           "--gpus",   "8",
                                           "--axis",   "layout=dp8 zero1,tp2 dp4 zero1",
                                           "--axis",   "cluster.nic.bandwidth=100Gbps,400Gbps",
                                           "--format", "json"};
  const Ran points = call_sgdsim(layout);
  CAPTURE(points.log);
  REQUIRE(points.exit_code == 0);
  const Ran ran = pivoted(
      points.out, {"--x", "bandwidth", "--y", "layout", "--cell", "step", "--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["across"] == Json({"100Gbps", "400Gbps"}));
  std::string lines = points.out;
  for (std::size_t y = 0; y < 2; ++y)
    for (std::size_t x = 0; x < 2; ++x) {
      const std::size_t end = lines.find('\n');
      const Json point = Json::parse(lines.substr(0, end));
      lines.erase(0, end + 1);
      CHECK(json["rows"][y]["y"] == point["axes"]["layout"]);
      CHECK(json["rows"][y]["cells"][x] == point["answer"]["layouts"][0]["step_us"]);
    }
}

TEST_CASE("pivot: quantities that are equal are one column, however they are written") {
  const auto of = [](const char* bandwidth, const char* strategy, double us) {
    return swept({{"cluster.nic.bandwidth", bandwidth}, {"strategy", strategy}}, us);
  };
  const std::vector<std::string> words = {"--x",    "bandwidth", "--y",      "strategy",
                                          "--cell", "iteration", "--format", "csv"};
  const std::string title = "strategy (metrics.iteration_us over cluster.nic.bandwidth),";
  CHECK(pivoted(of("10 Gbps", "ddp", 1) + of("10Gbps", "wfbp", 2) + of("1.25 GBps", "p3", 3) +
                    of("25 Gbps", "p3", 4),
                words)
            .out == title + "10 Gbps,25 Gbps\nddp,1.0,\nwfbp,2.0,\np3,3.0,4.0\n");
  // An axis that is written in two ways does not vary.
  const std::vector<std::string> over_nodes = {"--x",    "nodes",     "--y",      "strategy",
                                               "--cell", "iteration", "--format", "csv"};
  const auto beside = [](const char* bandwidth, int nodes) {
    return swept(
        {{"cluster.nodes", nodes}, {"strategy", "ddp"}, {"cluster.nic.bandwidth", bandwidth}}, 1);
  };
  CHECK(pivoted(beside("10 Gbps", 2) + beside("10Gbps", 4), over_nodes).exit_code == 0);
  CHECK(holds(pivoted(of("10 Gbps", "ddp", 1) + of("10Gbps", "ddp", 2), words).log,
              "several rows have cluster.nic.bandwidth 10 Gbps and strategy ddp"));
}

TEST_CASE("pivot: refusals say what to type") {
  const std::string third = swept({{"cluster.nodes", 4}, {"strategy", "ddp"}, {"seed", 1}}, 1) +
                            swept({{"cluster.nodes", 4}, {"strategy", "ddp"}, {"seed", 2}}, 2);
  const std::vector<std::string> words = {"--x", "nodes", "--y", "strategy", "--cell", "iteration"};
  struct Row {
    std::string text;
    std::vector<std::string> more;
    const char* refusal;
  };
  const std::string twice = swept({{"cluster.nodes", 4}, {"strategy", "ddp"}}, 1) +
                            swept({{"cluster.nodes", 4}, {"strategy", "ddp"}}, 2);
  for (const Row& row : std::vector<Row>{
           {third, {}, "--cell: the axis seed varies, too; hold it, as by --where \"seed == 1\""},
           {twice, {}, "--cell: several rows have cluster.nodes 4 and strategy ddp"},
           {twice, {"--out", "x.svg"}, "--out: has no effect where --cell"},
           {twice, {"--best", "speedup"}, "--best: has no effect where --cell"},
           {twice, {"--by", "strategy"}, "--by: has no effect where --cell"}}) {
    CAPTURE(row.refusal);
    std::vector<std::string> all = words;
    all.insert(all.end(), row.more.begin(), row.more.end());
    const Ran ran = pivoted(row.text, all);
    CHECK(ran.exit_code == 2);
    CHECK(holds(ran.log, row.refusal));
  }
  CHECK(
      holds(pivoted(twice, {"--x", "nodes", "--y", "speed", "--cell", "iteration"}).log, "--y: "));
  CHECK(holds(pivoted(twice, {"--x", "nodes", "--y", "nodes", "--cell", "iteration"}).log,
              "--y: is the same column as --x"));
  CHECK(holds(
      pivoted(twice, {"--x", "nodes", "--y", "strategy", "--out", "x.svg", "--format", "csv"}).log,
      "--format: is for --cell"));
}

TEST_CASE("pivot: CSV as spreadsheets write it, and what is no table") {
  const std::vector<std::string> words = {"--x", "x", "--y", "y", "--cell", "v", "--format", "csv"};
  const std::string plain = pivoted("x,y,v\n1,a,5\n", words).out;
  for (const char* text :
       {"\xef\xbb\xbfx,y,v\n1,a,5\n", "x, y, v\r\n1, a, 5\r\n",
        "\"x\" , \"y\",\"v\"\n 1,\"a\" ,\t5\n", "x,y,v,,\n1,a,5,,\n", "x;y;v\n1;a;5\n",
        "x\ty\tv\r\n1\ta\t5\r\n", "sep=;\r\nx;y;v\r\n1;a;5,0\r\n", "x\ty\tv\n1\t\"a\"\t5\n"}) {
    CAPTURE(text);
    const Ran ran = pivoted(text, words);
    CHECK(ran.exit_code == 0);
    CHECK(ran.out == plain);
  }
  CHECK(pivoted("\"x, or z\";y;v\n1;a;5\n",
                {"--x", "x, or z", "--y", "y", "--cell", "v", "--format", "csv"})
            .out == "\"y (v over x, or z)\",1\na,5\n");
  // Cells that are empty, between tabs as elsewhere; and what Excel calls Unicode text.
  CHECK(pivoted("x\ty\tv\n1\ta\t\n2\ta\t1,5\n", words).out == "y (v over x),2\na,1.5\n");
  // A number is whole however it was written, and -0 is 0.
  CHECK(pivoted("x,y,v\n1.0,a,-0\n1e3,a,2.50\n", words).out == "y (v over x),1,1000\na,0,2.5\n");
  for (const bool is_big : {false, true})
    CHECK(pivoted(utf16("x\ty\tv\r\n1\ta\t5\r\n", is_big), words).out == plain);
  for (const auto& [text, says] :
       {std::pair("x,y,v\n1,\xe9,5\n", "a cell is not UTF-8"),
        std::pair("x,y,v\n1,\"\x01\",5\n", "control character"),
        std::pair("x,y,v,v\n1,a,5,6\n", "the title \"v\" stands there twice"),
        std::pair("x;y;v\n1;a;1,234\n", ":2: is the comma in \"1,234\" a decimal one"),
        std::pair("x;y;v\n1;a,5\n", ":2: expected 3 cells as in the first line, got 2"),
        std::pair("PK\x03\x04", "an Excel workbook: save it as CSV"),
        std::pair("x,y,v\n1,\"a\"b,5\n", "behind the closing quote")}) {
    const Ran ran = pivoted(text, words);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(says) != std::string::npos);
  }
}

}  // namespace sgdsim
