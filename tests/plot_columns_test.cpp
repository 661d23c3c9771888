// `sgdsim plot`: which columns are meant, which way round they win, what conditions keep, and what
// stands along the axes.
#include <doctest/doctest.h>

#include "app/plot/drawing.h"
#include "app/plot/figure.h"
#include "app/plot/helvetica.h"
#include "study/sweep/gains.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

Ran plotted(const std::string& text, const std::vector<std::string>& words) {
  const Temporary file(Temporary::Kind::file, text);
  std::vector<std::string> all = {"plot", file.name()};
  all.insert(all.end(), words.begin(), words.end());
  return call_sgdsim(all);
}

PlotData drawn_data(const std::string& text, PlotRequest request) {
  const Temporary file(Temporary::Kind::file, text);
  request.file = file.name();
  return plot_data(request);
}

std::vector<std::string> drawn_texts(const Drawing& drawing) {
  std::vector<std::string> texts;
  for (const auto& shape : drawing.shapes)
    if (const auto* words = std::get_if<DrawnText>(&shape)) texts.push_back(words->text);
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("plot: more is better of what the table of gains says, and less of all else") {
  for (const char* gain : {"answer.productive",
                           "answer.layouts.tflops_per_gpu",
                           "accuracy",
                           "gain_percent",
                           "goodput",
                           "quality.delivered_fraction",
                           "metrics.comm_overlapped_us",
                           "metrics.overlap_ratio",
                           "metrics.speedup",
                           "metrics.throughput_samples_per_s",
                           "tokens_per_s_per_gpu",
                           "MFU",
                           "metrics.efficiency",
                           "algbw_GBps",
                           "busbw_GBps",
                           "images/s",
                           "days_saved",
                           "speed-up.p95",
                           "link_utilisation",
                           "scaling"}) {
    CAPTURE(gain);
    CHECK(is_gain(gain));
  }
  for (const char* cost :
       {"metrics.iteration_us", "metrics.iteration_us.p95", "iteration_ps", "time_to_accuracy_us",
        "accuracy_loss", "speedup_error_percent", "gain.time_us", "memory_GiB", "wall.mean_days",
        "step_s", "cost_per_s", "ps_per_step", "unproductive"}) {
    CAPTURE(cost);
    CHECK(!is_gain(cost));
  }
  CHECK(field_of_column("a.iteration_us.p95") == "iteration_us");
  CHECK(field_of_column("mean") == "mean");
}

TEST_CASE("plot: a map says which way round it is") {
  const std::string rows =
      "x,y,method,accuracy,worth\n1,1,few,0.2,5\n1,1,many,0.9,7\n1,2,few,0.8,5\n1,2,many,0.1,7\n";
  const auto map = [&](const char* column) {
    return plotted(rows, {"--x", "x", "--y", "y", "--by", "method", "--best", column}).out;
  };
  const std::string gains = map("accuracy");
  CHECK(gains.starts_with("The largest accuracy of each place\n\n"));
  CHECK(gains.find("many") < gains.find("few"));  // 0.9 in the first row, 0.8 in the second
  const std::string costs = map("worth");
  CHECK(costs.starts_with("The least worth of each place\n\n"));
  CHECK(!holds(costs, "many"));
}

// Of a sweep of four points three are in the file: at x = 2 nobody knows who would have won.
TEST_CASE("plot: what is missing of a sweep wins nothing, and is told") {
  const auto point = [](int number, int x, const char* method, double us) {
    return Json({{"schema", "sgdsim/point/1"},
                 {"point", number},
                 {"of", 4},
                 {"axes", {{"x", x}, {"method", method}}},
                 {"metrics", {{"iteration_us", us}}}})
               .dump() +
           "\n";
  };
  const std::string three = point(0, 1, "few", 1) + point(1, 1, "many", 2) + point(2, 2, "few", 3);
  const std::vector<std::string> over = {"--x",  "x",      "--y",    "x",
                                         "--by", "method", "--best", "iteration"};
  const auto part = plotted(three, over);
  CHECK(holds(part.log, "1 of 4 points of the sweep is missing"));
  const auto whole = plotted(three + point(3, 2, "many", 2), over);
  CHECK(!holds(whole.log, "missing"));
  CHECK(holds(whole.out, "many"));
  CHECK(!holds(part.out, "many"));
}

TEST_CASE("plot: headings of a map are whole, or have numbers that are told") {
  const std::string rows =
      "plan,s,method,iteration_us\ntp4 dp8 zero1,x,a,15\ntp4 dp8 zero1,x,b,14\n"
      "tp4 dp8 zero3,x,a,2\ntp4 dp8 zero3,x,b,3\n";
  const std::string out = plotted(rows, {"--x", "plan", "--y", "s", "--best", "iteration"}).out;
  CHECK(holds(out, "tp4 dp8 zero1 tp4 dp8 zero3"));
  std::string wide = "plan,s,method,iteration_us\n";
  for (int i = 0; i < 12; ++i)
    for (const char* method : {"a", "b"})
      wide += "a layout with many words " + std::to_string(i) + ",x," + method + ",1\n";
  const std::string numbered =
      plotted(wide, {"--x", "plan", "--y", "s", "--best", "iteration"}).out;
  CHECK(holds(numbered, "12: a layout with many words 11"));
}

TEST_CASE("plot: marks have the digits that tell them apart") {
  CHECK(mark_texts({100001, 100002, 100008}) == Texts{"100001", "100002", "100008"});
  CHECK(mark_texts({10001}) == Texts{"10001"});
  CHECK(mark_texts({100000, 200000}) == Texts{"100000", "200000"});
  CHECK(mark_texts({-0.0, 0.5}) == Texts{"0", "0.5"});
  CHECK(mark_texts({1000, 1000.25, 1000.5}) == Texts{"1000", "1000.25", "1000.5"});
  CHECK(mark_texts({1.23456, 7}) == Texts{"1.235", "7"});  // 0.02 of 5.8 is far more than 0.0005
  CHECK(mark_texts({0.99999, 1.00001}) == Texts{"0.99999", "1.00001"});
  CHECK(mark_texts({2e9, 3e9}) == Texts{"2e+09", "3e+09"});
  std::string rows = "x,v_us\n";
  for (int i = 1; i <= 8; ++i) rows += std::to_string(100000 + i) + ",1\n";
  const PlotRequest request = {.file = "", .x = "x", .y = "v"};
  const Texts close = drawn_texts(figure_of(drawn_data(rows, request), request));
  for (const char* text : {"100001", "100008"})
    CHECK(std::find(close.begin(), close.end(), text) != close.end());
  // Of a range around zero no mark is -0.
  const Texts around = drawn_texts(figure_of(drawn_data("x,v\n1,-0.3\n2,0.3\n", request), request));
  CHECK(std::find(around.begin(), around.end(), "0") != around.end());
  CHECK(std::find(around.begin(), around.end(), "-0") == around.end());
}

TEST_CASE("plot: a column counts by all rows, and a name that fits two is refused") {
  // Of the first row the second method has no time.
  const std::string learned =
      R"({"axes": {"nodes": 1}, "answer": {"a": {"time_us": 5}, "b": {"time_us": null}}})"
      "\n"
      R"({"axes": {"nodes": 2}, "answer": {"a": {"time_us": 6}, "b": {"time_us": 7}, "c_us": 1}})"
      "\n";
  CHECK(holds(plotted(learned, {"--x", "nodes", "--y", "time", "--out", "-"}).log,
              "--y: \"time\" may be several columns; say which: answer.a.time_us, "
              "answer.b.time_us"));
  CHECK(drawn_data(learned, {.file = "", .x = "nodes", .y = "b.time"})
            .panels[0]
            .curves[0]
            .spots.size() == 1);
  CHECK(drawn_data(learned, {.file = "", .x = "nodes", .y = "c"}).left_out.without_result == 1);
  const std::string layouts =
      R"({"axes": {"n": 1}, "answer": {"memory_B": 80, "layouts": [{"memory_GiB": 30}]}})"
      "\n"
      R"({"axes": {"n": 2}, "answer": {"memory_B": 80, "layouts": [{"memory_GiB": 20}]}})"
      "\n";
  CHECK(holds(plotted(layouts, {"--x", "n", "--y", "memory", "--out", "-"}).log,
              "say which: answer.memory_B, answer.layouts.memory_GiB"));
  const PlotData own = drawn_data(layouts, {.file = "", .x = "n", .y = "memory_GiB"});
  CHECK(own.panels[0].curves[0].spots[1].y == 20);
  CHECK(own.y.label() == "memory (GiB)");
}

TEST_CASE("plot: rows without an x are left out, and a text among numbers is named") {
  const PlotRequest request = {.file = "", .x = "x", .y = "y"};
  const PlotData data = drawn_data("x,y\n1,1\n,2\n3,3\nnan,4\n", request);
  CHECK(data.x_words.empty());
  CHECK(data.panels[0].curves[0].spots.size() == 2);
  REQUIRE(data.notes.size() == 1);
  CHECK(data.notes[0] == "2 rows have nothing in the column x, and are left out");
  const PlotData mixed = drawn_data("x,y\n1,1\nn/a,2\n3,3\n", request);
  CHECK(mixed.x_words == Texts{"1", "n/a", "3"});
  REQUIRE(mixed.notes.size() == 1);
  CHECK(holds(mixed.notes[0], "\"n/a\" in the column x is no number"));
  CHECK(drawn_data("x,y\na,1\nb,2\n,3\n", request).notes.empty());
  CHECK(holds(plotted("x,y\n1,1\n,2\n3,3\n", {"--x", "x", "--y", "y", "--out", "-"}).log,
              "warning: 1 row has nothing in the column x, and is left out"));
}

// What a refusal names is typed as it stands there.
TEST_CASE("plot: conditions that refusals suggest are read") {
  const auto point = [](const Json& held, int nodes) {
    return Json({{"axes", {{"nodes", nodes}, {"held", held}, {"rate", nodes}}}, {"v", nodes}})
               .dump() +
           "\n";
  };
  const std::vector<Json> values = {
      "tp4 dp8 zero1", nullptr,   "a and b",
      "it's \"so\"",   "2",       {{"name", "ddp"}, {"bucket", "10 MiB"}},
      "ddp",           "10 Gbps", 3};
  for (const Json& held : values) {
    CAPTURE(held);
    std::string rows = point(held, 1);
    for (const Json& other : values)
      if (other != held) rows += point(other, 2);
    const Temporary file(Temporary::Kind::file, rows);
    const std::vector<std::string> words = {"plot", file.name(), "--x",    "nodes",
                                            "--y",  "rate",      "--cell", "v"};
    const std::string refusal = call_sgdsim(words).log;
    const std::size_t from = refusal.find("--where ");
    REQUIRE(from != std::string::npos);
    std::string line = SGDSIM_PROGRAM;
    for (const std::string& word : words) line += " " + word;
    const Ran ran = run_shell_line(line + " --format json " + refusal.substr(from));
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out)["rows"] == Json::parse(R"([{"y": 1, "cells": [1]}])"));
  }
  const std::string two = point("a", 1) + point(nullptr, 2);
  const auto kept = [&](const char* condition) {
    return plotted(two, {"--x", "nodes", "--y", "held", "--cell", "v", "--format", "json",
                         "--where", condition, "--where", "rate >= 0"});
  };
  CHECK(Json::parse(kept("held != null").out)["rows"][0]["y"] == "a");
  CHECK(Json::parse(kept("held == null").out)["rows"][0]["y"].is_null());
  CHECK(!holds(kept("holds == 1").log, "the base"));
}

TEST_CASE("plot: conditions name columns with or without the unit, as other options do") {
  const std::string rows = "nodes,kind,time_us\n1,a,5\n2,a,9\n3,a,8\n";
  const auto kept = [&](const char* condition) {
    return plotted(rows, {"--x", "nodes", "--y", "kind", "--cell", "time", "--format", "json",
                          "--where", condition});
  };
  const Ran whole = kept("time_us >= 7");
  const Ran word = kept("time >= 7");
  CAPTURE(word.log);
  CHECK(word.exit_code == 0);
  CHECK(word.out == whole.out);
  CHECK(Json::parse(word.out)["rows"][0]["cells"] == Json::array({9, 8}));
  // A word that is a value stays one.
  CHECK(kept("kind == a and time < 9 or nodes == 2").exit_code == 0);
}

// A word that a column has is a value, though another column is called so, and names within words
// are none.
TEST_CASE("plot: a word behind a sign is a value where the column has it") {
  const std::string rows = "kind,n,time_us\nn,1,5\ntime,2,9\nfat-n,3,8\n";
  const auto kept = [&](const char* condition) {
    const Ran ran = plotted(rows, {"--x", "n", "--y", "kind", "--cell", "time_us", "--format",
                                   "json", "--where", condition});
    REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
    Texts kinds;
    const Json answer = Json::parse(ran.out);
    for (const Json& row : answer["rows"]) kinds.push_back(row["y"]);
    return kinds;
  };
  CHECK(kept("kind == n") == Texts{"n"});
  CHECK(kept("kind == time") == Texts{"time"});
  CHECK(kept("kind != fat-n") == Texts{"n", "time"});
  CHECK(kept("kind == fat-n or kind == n and n == 1") == Texts{"n", "fat-n"});
  CHECK(kept("time > 4 * n") == Texts{"n", "time"});  // 5 > 4, 9 > 8, 8 < 12
}

TEST_CASE("plot: texts have no logarithm") {
  const auto drawn = [](const char* option) {
    return plotted("kind,v\na,1\nb,2\n", {"--x", "kind", "--y", "v", "--out", "-", option});
  };
  CHECK(drawn("--log-x").exit_code == 2);
  CHECK(
      holds(drawn("--log-x").log,
            "--log-x: the column kind has texts, which stand side by side; leave the option out"));
  CHECK(drawn("--log-y").exit_code == 0);
  CHECK(holds(plotted("x,v\n1,0\n2,2\n", {"--x", "x", "--y", "v", "--out", "-", "--log-y"}).log,
              "--log-y: there is a value of 0, which has no logarithm"));
}

// As a report takes it: what a sweep leaves that was killed.
TEST_CASE("plot: a last line that is cut off is left out, which is said") {
  const std::string whole = R"({"axes": {"n": 1}, "v": 2})";
  const auto plotted_of = [](const std::string& rows) {
    return plotted(rows, {"--x", "n", "--y", "v", "--out", "-"});
  };
  const Ran cut = plotted_of(whole + "\n" + R"({"axes": {"n": 3}, "v")");
  CHECK(cut.exit_code == 0);
  CHECK(holds(cut.log, "warning: line 2 is cut off, and is left out: what wrote it was interr"));
  CHECK(plotted_of(whole + "\n" + whole).log.find("cut off") == std::string::npos);
  // A line that something follows is no last one.
  CHECK(plotted_of(whole + "\n{\"axes\"\n").exit_code == 2);
  CHECK(plotted_of("{\"axes\"").exit_code == 2);
}

TEST_CASE("plot: units of what columns are called") {
  const auto label = [](const char* column, double most) {
    return measure_of(column, Amount::Kind::number, most).label();
  };
  CHECK(label("step_s", 0.25) == "step (ms)");
  CHECK(label("mean_to_failure_h", 12) == "mean to failure (h)");
  CHECK(label("wall.mean_days", 70) == "mean (days)");
  for (const char* of : {"median", "low", "high", "p95", "p5"})
    CHECK(label((std::string("answer.time_to_target_us.") + of).c_str(), 2e6) ==
          "time to target (s)");
  CHECK(label("updates_per_s", 5) == "updates (1/s)");
  CHECK(label("throughput_samples_per_s", 5) == "throughput (samples/s)");
  const std::string rows = R"({"axes": {"n": 1, "s": 1}, "time_us": {"median": 1500}})"
                           "\n";
  const auto cells = [&](const char* format) {
    return plotted(rows, {"--x", "n", "--y", "s", "--cell", "time_us.median", "--format", format})
        .out;
  };
  CHECK(cells("table") == "time.median by n (across)\n\ns          1\n1  1.5000 ms\n");
  CHECK(cells("csv") == "s (time_us.median over n),1\n1,1500\n");
}

TEST_CASE("plot: what is too far apart or too long") {
  const Ran far = plotted("x,y\n1,-1.7e308\n2,1.7e308\n", {"--x", "x", "--y", "y", "--out", "-"});
  CHECK(far.exit_code == 2);
  CHECK(holds(far.log, "--y: values from -1.7e+308 to 1.7e+308 are too far apart"));
  // 5,000 W of 0.944 x 8 points each would be 37,760 wide.
  const std::string rows = "x,y,name\n1,1," + std::string(5000, 'W') + "\n2,1,short\n";
  const PlotRequest request = {.file = "", .x = "x", .y = "y", .by = "name"};
  const Drawing drawing = figure_of(drawn_data(rows, request), request);
  CHECK(drawing.width < 400);
  // Titles and labels are whole: 100 W of 0.944 x 10 points are 944 wide, of 9 points 849.6.
  PlotRequest titled = request;
  titled.title = std::string(100, 'W');
  CHECK(figure_of(drawn_data(rows, titled), titled).width > 944);
  titled.title.clear();
  titled.y_label = std::string(100, 'W');
  const Drawing labelled = figure_of(drawn_data(rows, titled), titled);
  CHECK(labelled.height > 849.6);
  for (const auto& shape : labelled.shapes)  // its upper end is below the names of curves
    if (const auto* text = std::get_if<DrawnText>(&shape); text != nullptr && text->goes_up)
      CHECK(text->at.y - 849.6 / 2 > 20);
  CHECK(labelled.width < 400);
  CHECK(shortened("abcdef", 100, 10) == "abcdef");
  // Of 10 points an ellipsis takes 10 and each W 9.44.
  CHECK(shortened("WWWWWWWW", 50, 10) == "WW\xe2\x80\xa6WW");
  CHECK(winansi_of("a\xe2\x80\xa6") == "a\x85");
  PlotRequest as_pdf = request;
  CHECK_THROWS_WITH_AS(
      pdf_of(figure_of(drawn_data("x,y,name\n1,1,\u6027\n2,1,b\n", as_pdf), as_pdf)),
      doctest::Contains("curves and panels are named by POINTS"), InputError);
}

}  // namespace sgdsim
