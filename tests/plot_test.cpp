// `sgdsim plot`: places of points, files of both kinds, and what is refused.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <sstream>

#include "app/plot/drawing.h"
#include "app/plot/figure.h"
#include "app/plot/helvetica.h"
#include "app/plot/plot_rows.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// Points as sweeps write them, with what a picture reads.
std::string point(const Json& axes, double speedup, double iteration_us) {
  return Json({{"schema", "sgdsim/point/1"},
               {"axes", axes},
               {"metrics",
                {{"iteration_us", {{"mean", iteration_us}, {"max", 2 * iteration_us}}},
                 {"speedup", speedup}}}})
             .dump() +
         "\n";
}

std::string points() {
  std::string text;
  for (const char* strategy : {"ddp", "mg_wfbp"})
    for (const char* rate : {"1 Gbps", "10 Gbps"})
      for (const int nodes : {16, 4, 8})
        text += point(
            {{"cluster.nodes", nodes}, {"cluster.nic.bandwidth", rate}, {"strategy", strategy}},
            nodes * (strategy[0] == 'd' ? 0.5 : 0.75), 1000.0 * nodes);
  return text;
}

PlotData data_of(const std::string& text, PlotRequest request) {
  const Temporary file(Temporary::Kind::file, text);
  request.file = file.name();
  return plot_data(request);
}

std::string problem_of(const std::string& text, const PlotRequest& request) {
  try {
    data_of(text, request);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const PlotRequest of_nodes = {.file = "", .x = "nodes", .y = "speedup"};

}  // namespace

TEST_CASE("plot: methods are curves, and what else varies is panels") {
  const PlotData data = data_of(points(), of_nodes);
  CHECK(data.names == std::vector<std::string>{"ddp", "mg_wfbp"});
  CHECK(data.panels_by == "bandwidth");
  REQUIRE(data.panels.size() == 2);
  CHECK(data.panels[1].title == "10 Gbps");
  for (const PlotPanel& panel : data.panels)
    for (const PlotCurve& curve : panel.curves) {
      REQUIRE(curve.spots.size() == 3);  // by x, however they stood in the file
      for (std::size_t i = 0; i < 3; ++i) {
        const double nodes = 4.0 * std::pow(2.0, static_cast<double>(i));
        CHECK(curve.spots[i].x == nodes);
        CHECK(curve.spots[i].y == nodes * (curve.name == 0 ? 0.5 : 0.75));
      }
    }
  CHECK(data.x.label() == "nodes");
  CHECK(data.y.label() == "speedup");
}

TEST_CASE("plot: columns by the ends of their names, in the unit that fits") {
  PlotRequest request = {.file = "", .x = "bandwidth", .y = "iteration", .by = "method"};
  request.where = {"nodes == 8 and strategy != mg_wfbp"};
  PlotData data = data_of(points(), request);
  REQUIRE(data.panels.size() == 1);
  REQUIRE(data.panels[0].curves.size() == 1);
  CHECK(data.x.label() == "bandwidth (Gbit/s)");
  CHECK(data.y.label() == "iteration time (ms)");
  CHECK(data.panels[0].curves[0].spots[0].x == doctest::Approx(1));
  CHECK(data.panels[0].curves[0].spots[1].x == doctest::Approx(10));
  CHECK(data.panels[0].curves[0].spots[0].y == doctest::Approx(8));
  request.y = "metrics.iteration_us.max";
  CHECK(data_of(points(), request).panels[0].curves[0].spots[0].y == doctest::Approx(16));
  request.x = "strategy";
  request.by = "";
  request.where = {"cluster.nodes == 8 and bandwidth == 1Gbps"};
  data = data_of(points(), request);
  CHECK(data.x_words == std::vector<std::string>{"ddp", "mg_wfbp"});
}

TEST_CASE("plot: CSV, documents and rows without a result") {
  const PlotRequest request = {.file = "", .x = "nodes", .y = "time_us", .by = "name"};
  const PlotData csv =
      data_of("name,nodes,time_us\r\n\"a, \"\"b\"\"\",2,1e6\r\nc,4,\nc,8,3e6\n", request);
  CHECK(csv.names == std::vector<std::string>{"a, \"b\"", "c"});
  CHECK(csv.left_out.without_result == 1);
  CHECK(csv.y.unit == "s");
  // A column of CSV that nobody asked for may vary.
  CHECK(data_of("name,nodes,time_us,other\na,1,1,5\na,2,1,6\n", request).panels.size() == 1);
  const PlotData document = data_of(
      R"({"schema": "x", "points": [{"name": "a", "nodes": 1, "time_us": 2},
                                    {"name": "a", "nodes": 2, "time_us": 3}]})",
      request);
  CHECK(document.panels[0].curves[0].spots.size() == 2);
  CHECK(document.y.unit == "us");
  const PlotData failed = data_of(point({{"nodes", 1}, {"name", "a"}}, 1, 1) +
                                      R"({"axes": {"nodes": 2, "name": "a"}, "error": "no"})"
                                      "\n",
                                  {.file = "", .x = "nodes", .y = "speedup"});
  CHECK(failed.left_out.without_result == 1);
  CHECK(failed.panels[0].curves[0].spots.size() == 1);
}

TEST_CASE("plot: what cannot be drawn is refused, with what to type") {
  const auto asked = [](const char* x, const char* y, const char* by, const char* where) {
    PlotRequest request = {.file = "", .x = x, .y = y, .by = by};
    if (*where != '\0') request.where = {where};
    return request;
  };
  std::string three = points();
  for (const double update : {1.0, 2.0})
    three += point({{"cluster.nodes", 4},
                    {"cluster.nic.bandwidth", "1 Gbps"},
                    {"strategy", "p3"},
                    {"update", update}},
                   1, 1);
  struct Row {
    std::string text;
    PlotRequest request;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {points(), asked("nods", "speedup", "", ""),
            "--x: unknown column \"nods\" (did you mean \"nodes\"?)"},
           {points(), asked("nodes", "strategy", "", ""), "--y: no row has a number"},
           {"nodes,speedup\n1,1\n1,2\n", of_nodes, "--by: several rows have the same x"},
           {"nodes,speedup\n1,1\n", asked("nodes", "speedup", "method", ""),
            "--by: no column names"},
           {points(), asked("nodes", "speedup", "", "nodes > 99"), "--where: no row is left"},
           {points(), asked("nodes", "speedup", "", "nodes"), "expected a comparison"},
           {points(), asked("nodes", "speedup", "", "colour == 1"), "unknown field \"colour\""},
           {three, asked("nodes", "speedup", "", ""),
            "--where \"cluster.nic.bandwidth == 1 Gbps\""},
           {"", of_nodes, "is empty"},
           {"nodes\n1\n", of_nodes, "expected points"},
           {"nodes,speedup\n1\n", of_nodes, "expected 2 cells"},
           {"nodes,speedup\n\"1,2\n", of_nodes, "a quote is not closed"},
           {"nodes,speedup\n\"1\"2,3\n", of_nodes, "behind the closing quote"},
           {"{\"a\": 1}", of_nodes, "expected points"},
           {"{\"a\": 1}\n7\n", of_nodes, "expected points"},
           {"{\"a\": 1}\n{\"a\": 2}\n", of_nodes, "unknown column \"nodes\""},
           {"[]", of_nodes, "expected points"},
           {R"({"axes": {"nodes": 1}, "error": "no"})"
            "\n",
            of_nodes, "no row has a result"},
           {R"({"points": [{"nodes": 1, "speedup": "2 ms"}, {"nodes": 2, "speedup": "2 MB"}]})",
            of_nodes, "numbers of several kinds"},
           {"nodes,speedup\n1,nan\n", of_nodes, "--y: no row has a number"}}) {
    CAPTURE(row.text);
    const std::string problem = problem_of(row.text, row.request);
    CAPTURE(problem);
    CHECK(problem.find(row.sentence) != std::string::npos);
  }
  std::string many = "name,nodes,speedup\n";
  for (int i = 0; i < 25; ++i) many += "c" + std::to_string(i) + ",1,1\n";
  CHECK(problem_of(many, asked("nodes", "speedup", "name", "")).find("more than 24 curves") !=
        std::string::npos);
}

TEST_CASE("plot: scales hold their values, whatever these are") {
  const double most = std::numeric_limits<double>::max();
  for (const std::vector<double>& values : std::vector<std::vector<double>>{{0},
                                                                            {1},
                                                                            {-5, 5},
                                                                            {1, 2, 4, 8, 16},
                                                                            {1e-300, 1e300},
                                                                            {1e15, 1e15 + 1},
                                                                            {-1e-9, 0},
                                                                            {5e-324, 1},
                                                                            {most / 4, most / 2},
                                                                            {100, 101},
                                                                            {0, 0, 0},
                                                                            {-7, -3}})
    for (const Spacing spacing : {Spacing::by_range, Spacing::linear})
      for (const bool has_zero : {false, true}) {
        const Scale scale(values, spacing, false, has_zero, 200, "y");
        for (const double value : values) {
          CAPTURE(value);
          CHECK(scale.at(value) >= -1e-9);
          CHECK(scale.at(value) <= 1 + 1e-9);
        }
        CHECK(scale.marks().size() < 2000);
        CHECK(std::is_sorted(scale.marks().begin(), scale.marks().end()));
      }
  CHECK(Scale({1, 10}, Spacing::by_range, false, true, 200, "").is_log());
  CHECK(!Scale({1, 9.9}, Spacing::by_range, false, true, 200, "").is_log());
  CHECK(!Scale({0, 1000}, Spacing::by_range, false, true, 200, "").is_log());
  CHECK(Scale({3, 4}, Spacing::logarithmic, false, true, 200, "").at(std::sqrt(12.0)) ==
        doctest::Approx(0.5));
  CHECK(Scale({2, 4, 8}, Spacing::by_range, true, false, 200, "").marks() ==
        std::vector<double>{2, 4, 8});
  // 600 decades: marks stand 17 points apart, at 10^-300, 10^-250, ...
  const Scale wide({1e-300, 1e300}, Spacing::logarithmic, false, false, 204, "");
  CHECK(wide.marks().size() == 13);
  CHECK(wide.at(wide.marks()[1]) - wide.at(wide.marks()[0]) == doctest::Approx(50. / 648));
  CHECK_THROWS_WITH_AS(Scale({-1e308, 1e308}, Spacing::linear, false, false, 200, "y"),
                       doctest::Contains("--y: values from -1e+308 to 1e+308 are too far apart"),
                       InputError);
  CHECK_THROWS_WITH_AS(Scale({0, 1}, Spacing::logarithmic, false, true, 200, "y"),
                       doctest::Contains("--log-y: there is a value of 0"), InputError);
}

TEST_CASE("plot: widths of text are those of Helvetica") {
  CHECK(width_of("W", 10) == doctest::Approx(9.44));   // Helvetica.afm: WX 944
  CHECK(width_of("il", 10) == doctest::Approx(4.44));  // 222 each
  CHECK(width_of("0.5", 8) == doctest::Approx(8 * (0.556 + 0.278 + 0.556)));
  CHECK(width_of("", 8) == 0);
  CHECK(winansi_of("a\u00b5\u2013") == "a\xb5\x96");
  CHECK(!winansi_of("\u03bc"));
  CHECK(!winansi_of("\U0001F600"));
}

// A curve from (1, 1) to (10, 100) on logarithmic axes is straight through (3.16, 10): the same
// three places, measured in the file, lie on a line.
TEST_CASE("plot: an SVG that is well formed whatever labels hold") {
  PlotRequest request = of_nodes;
  request.title = R"(</text><script>alert("1")</script> & 'more')";
  request.y_label = "a < b";
  const std::string name = R"(<b onload='x'> & "q")";
  std::string text;
  for (const int power : {0, 1, 2})
    text += point({{"cluster.nodes", std::pow(10.0, power)}, {"strategy", name}},
                  std::pow(10.0, 2 * power), 1);
  text += point({{"cluster.nodes", 1}, {"strategy", "ddp"}}, 1, 1);
  const Drawing drawing = figure_of(data_of(text, request), request);
  const std::string svg = svg_of(drawing);
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("<b ") == std::string::npos);
  for (const char* words :
       {">&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; 'more'</text>",
        ">&lt;b onload='x'&gt; &amp; &quot;q&quot;</text>", ">a &lt; b</text>"}) {
    CAPTURE(words);
    CHECK(svg.find(words) != std::string::npos);
  }
  for (const auto& shape : drawing.shapes)
    if (const auto* words = std::get_if<DrawnText>(&shape)) {
      CHECK(words->at.x >= 0);
      CHECK(words->at.x <= drawing.width);
      CHECK(words->at.y <= drawing.height);
    }
  std::vector<Spot> curve;
  for (const auto& shape : drawing.shapes)
    if (const auto* line = std::get_if<DrawnLine>(&shape);
        line != nullptr && line->spots.size() == 3 && line->width == 1.5)
      curve = line->spots;
  REQUIRE(curve.size() == 3);
  CHECK(curve[1].x - curve[0].x == doctest::Approx(curve[2].x - curve[1].x));
  CHECK(curve[0].y - curve[1].y == doctest::Approx(curve[1].y - curve[2].y));
  CHECK(curve[0].y > curve[1].y);  // paper counts downwards
}

TEST_CASE("plot: a PDF whose table says where its objects are") {
  PlotRequest request = of_nodes;
  request.title = "a (b) \\ c)";
  const std::string pdf = pdf_of(figure_of(data_of(points(), request), request));
  CHECK(pdf.starts_with(pdf_beginning));
  CHECK(pdf.ends_with("%%EOF\n"));
  const std::size_t table = std::stoul(pdf.substr(pdf.rfind("startxref\n") + 10));
  REQUIRE(pdf.substr(table, 9) == "xref\n0 7\n");
  for (std::size_t i = 1; i <= 6; ++i) {
    const std::string entry = pdf.substr(table + 9 + 20 * i, 20);
    const std::string begins = std::to_string(i) + " 0 obj\n";
    CHECK(entry.substr(10) == " 00000 n \n");
    CHECK(pdf.compare(std::stoul(entry), begins.size(), begins) == 0);
  }
  const std::size_t stream = pdf.find("stream\n") + 7;
  const std::size_t length = std::stoul(pdf.substr(pdf.find("/Length ") + 8));
  CHECK(pdf.compare(stream + length, 9, "endstream") == 0);
  CHECK(pdf.find("(a \\(b\\) \\\\ c\\)) Tj") != std::string::npos);
  request.title = "\u6027\u80fd";
  CHECK_THROWS_WITH_AS(pdf_of(figure_of(data_of(points(), request), request)),
                       doctest::Contains("write .svg"), InputError);
}

// VGG-16 on 4 to 256 nodes and 1 to 400 Gbit/s under four methods: two commands to a figure.
TEST_CASE("sgdsim plot: a map of winners, as the sweep itself says them") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string rows = folder.name() + "/points.jsonl";
  const Ran swept = run_sgdsim({"sweep", "app/sweeps/nodes_bandwidth.json", "--out", rows,
                                "--minimize", "metrics.iteration_us", "--format", "json"});
  REQUIRE(swept.exit_code == 0);
  const auto map = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plot", rows, "--x", "nodes", "--y", "bandwidth"});
    return run_sgdsim(more);
  };
  const Ran ran = map({"--best", "iteration"});
  REQUIRE(ran.exit_code == 0);
  // Of each cell the beginning of the winner's name, and how many others are as good.
  const auto cells_of = [](const std::string& out) {
    std::vector<std::pair<std::string, int64_t>> cells;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line) && cells.size() < 56;)
      if (line.find(" Gbps ") != std::string::npos) {
        std::istringstream words(line.substr(line.find("Gbps") + 4));
        for (std::string word; words >> word;)
          if (word[0] == '+')
            cells.back().second = std::stoll(word);
          else
            cells.emplace_back(word, 0);
      }
    return cells;
  };
  const auto cells = cells_of(ran.out);
  REQUIRE(cells.size() == 56);
  const Json best = Json::parse(swept.out);
  for (const Json& group : best["groups"]) {
    const double nodes = group["axes"]["cluster.nodes"];
    const std::vector<std::string> rates = {"1 Gbps",  "2 Gbps",  "5 Gbps",  "10 Gbps",
                                            "25 Gbps", "50 Gbps", "100 Gbps"};
    const auto row = std::find(rates.begin(), rates.end(), group["axes"]["cluster.nic.bandwidth"]) -
                     rates.begin();
    const auto column = static_cast<std::ptrdiff_t>(std::log2(nodes)) - 1;
    const auto& cell = cells[static_cast<std::size_t>(8 * row + column)];
    const std::string winner = group["best"]["strategy"];
    CHECK(winner != "optimal");
    CHECK(winner.starts_with(cell.first));
    CHECK(cell.second == group.value("ties", 0));
  }
  const Temporary hostile(Temporary::Kind::file,
                          point({{"nodes", 1}, {"rate", 1}, {"strategy", "\x1b[2Ja"}}, 1, 1) +
                              point({{"nodes", 1}, {"rate", 1}, {"strategy", "b"}}, 2, 2));
  const Ran told = run_sgdsim({"plot", hostile.name(), "--x", "nodes", "--y", "rate", "--by",
                               "strategy", "--best", "iteration"});
  CHECK(told.exit_code == 2);
  CHECK(told.log.find("a string has the control character") != std::string::npos);
  CHECK((told.out + told.log).find('\x1b') == std::string::npos);
  const Temporary table(Temporary::Kind::file,
                        "nodes,rate,strategy,iteration_us\n"
                        "1,1,optimal,1\n1,1,wfbp,9\n1,1,naive,20\n");
  const Ran of_table = run_sgdsim({"plot", table.name(), "--x", "nodes", "--y", "rate", "--by",
                                   "strategy", "--best", "iteration_us"});
  CHECK(of_table.out.find("wfbp") != std::string::npos);
  CHECK(of_table.out.find("optimal") == std::string::npos);
  CHECK(ran.out.ends_with(
      "+n: n others are as good (within 12.1 %, the error of such predictions)\n"));
  // The least time is the largest throughput; how far off that is was not measured.
  const Ran rates = map({"--best", "throughput"});
  CHECK(rates.out.find("within") == std::string::npos);
  const auto fastest = cells_of(rates.out);
  REQUIRE(fastest.size() == 56);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto letters = std::min(cells[i].first.size(), fastest[i].first.size());
    CHECK(cells[i].first.substr(0, letters) == fastest[i].first.substr(0, letters));
  }
  CHECK(map({"--best", "iteration", "--where", "nodes <= 4"}).exit_code == 0);
  for (const auto& [more, sentence] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--best", "iteration", "--out", "a.svg"},
            "--out: has no effect where --cell prints a table, or --best a map of winners"},
           {{"--best", "colour"}, "--best: unknown column \"colour\""},
           {{"--best", "iteration", "--by", "fidelity"}, "--best: the axis strategy varies, too"},
           {{}, "--out: needed"}}) {
    const Ran refused = map(more);
    CAPTURE(refused.log);
    CHECK(refused.exit_code == 2);
    CHECK(refused.log.find(sentence) != std::string::npos);
  }
}

TEST_CASE("sgdsim plot: from a sweep to a figure") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string rows = folder.name() + "/points.jsonl";
  REQUIRE(run_sgdsim({"sweep", "app/sweeps/nodes_bandwidth.json", "--out", rows}).exit_code == 0);
  const auto plotted = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plot", rows, "--x", "nodes", "--y", "speedup"});
    return run_sgdsim(more);
  };
  for (const char* kind : {".svg", ".pdf"}) {
    const std::string out = folder.name() + "/figure" + kind;
    CHECK(plotted({"--by", "method", "--out", out}).exit_code == 0);
    const std::string first = read_text(out);
    CHECK(plotted({"--out", out}).exit_code == 0);  // a picture of ours may be replaced
    CHECK(read_text(out) == first);                 // `method` is the default
  }
  const Temporary foreign(Temporary::Kind::folder);
  const std::string theirs = foreign.name() + "/notes.svg";
  REQUIRE(run_shell_line("printf notes >" + theirs).exit_code == 0);
  CHECK(plotted({"--out", theirs}).exit_code == 2);
  CHECK(read_text(theirs) == "notes");
  CHECK(plotted({"--out", theirs, "--force"}).exit_code == 0);
  const Ran svg = plotted({"--where", "bandwidth == 10 Gbps", "--out", "-"});
  CHECK(svg.exit_code == 0);
  CHECK(svg.out.find("bytescheduler</text>") != std::string::npos);
  for (const auto& [more, sentence] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"--out", folder.name() + "/a.png"},
            "--out: expected a name that ends in .svg or .pdf"},
           {{"--out", "-", "--log-x", "--linear-x"}, "--log-x: an axis is either"},
           {{"--out", rows, "--force"}, "--out"}}) {
    const Ran ran = plotted(more);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(sentence) != std::string::npos);
  }
}

}  // namespace sgdsim
