// `sgdsim report`: what stands in a page is what was in the files, and nothing in a file can become
// more than text.
#include <doctest/doctest.h>
#include <filesystem>
#include <map>

#include "app/report/packing.h"
#include "app/report/report_data.h"
#include "sim/core/error.h"
#include "study/table.h"
#include "tests/json_lines.h"
#include "tests/report_pages.h"
#include "tests/rounds.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

const std::string experiment = "app/experiments/googlenet_k80.json";
const std::string sweep_file = "app/sweeps/nodes_bandwidth.json";
// Every number of an object by its path.
void numbers_in(const Json& object, const std::string& before, std::map<std::string, Json>& found) {
  for (const auto& [name, member] : object.items())
    if (member.is_object())
      numbers_in(member, before + name + ".", found);
    else if (member.is_number())
      found[before + name] = member;
}

TEST_CASE("report: single answers stand in the page as they were written") {
  const std::vector<std::vector<std::string>> commands = {
      {"run", experiment, "--set", "cluster.nodes=8"},
      {"plan", experiment},
      {"validate", "models/strategy/data/pytorch_ddp_dgx1.json", "--rows"},
      {"collective", "-a", "auto", "-n", "1 MiB", "-c", "topologies/data/dgx_h100_4.json"},
      {"sweep", sweep_file, "--minimize", "metrics.iteration_us"},
      {"tune", experiment, "--axis", "strategy=wfbp,optimal"},
      {"layout", "llama3.1_8b", "--gpus", "8", "-c", "topologies/data/dgx_h100_4.json"},
  };
  for (std::vector<std::string> words : commands) {
    INFO(words.front());
    words.insert(words.end(), {"--format", "json"});
    const Ran ran = run_sgdsim(words);
    REQUIRE(!ran.out.empty());
    const Temporary file(Temporary::Kind::file, ran.out);
    const Json data = data_in(page_of({file.name()}));
    REQUIRE(data["documents"].size() == 1);
    CHECK(unpacked_data(data["documents"][0]["value"]) == Json::parse(ran.out));
  }
}

TEST_CASE("report: every figure of every point is in the columns, all digits") {
  const Ran ran = run_sgdsim({"sweep", sweep_file, "--quiet"});
  const Temporary file(Temporary::Kind::file, ran.out);
  const std::vector<Json> lines = json_lines(ran.out);
  const Json data = data_in(page_of({file.name(), sweep_file}));
  REQUIRE(data["tables"].size() == 1);
  const Json& table = data["tables"][0];
  CHECK(table["rows"] == lines.size());
  CHECK(table["of"] == lines.size());
  std::map<std::string, std::vector<Json>> columns;
  for (const Json& column : table["columns"])
    columns[column["role"].get<std::string>() + " " + column["key"].get<std::string>()] =
        column_values(table, column);
  for (std::size_t row = 0; row < lines.size(); ++row) {
    std::map<std::string, Json> numbers;
    Json line = lines[row];
    const Json axes = line["axes"];
    for (const char* other : {"axes", "of"}) line.erase(other);
    numbers_in(line, "", numbers);
    REQUIRE(numbers.size() >= 15);
    for (const auto& number : numbers) {
      const std::string key = "figure " + number.first;
      INFO(key << " of line " << row);
      REQUIRE(columns.contains(key));
      CHECK(columns[key][row] == number.second);
    }
    for (const auto& [field, value] : axes.items()) CHECK(columns["axis " + field][row] == value);
  }
}

TEST_CASE("report: the commands of a point give that point") {
  const Ran ran = run_sgdsim({"sweep", experiment, "--axis", "cluster.nodes=2..8", "--axis",
                              R"(strategy=["wfbp",{"name":"ddp","bucket":"1 MiB"}])", "--quiet"});
  const Temporary file(Temporary::Kind::file, ran.out);
  const std::vector<Json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 6);
  const Json data = data_in(
      page_of({file.name(), experiment}, {"--axis", "cluster.nodes=2..8", "--axis",
                                          R"(strategy=["wfbp",{"name":"ddp","bucket":"1 MiB"}])"}));
  const Json& commands = data["tables"][0]["commands"];
  std::vector<std::string> words = {"sweep"};
  for (const std::string word : commands["sweep"]) words.push_back(word);
  words.insert(words.end(), {"--shard", "5/6", "--quiet"});
  CHECK(Json::parse(run_sgdsim(words).out) == lines[5]);
  words = {"run"};
  for (const std::string word : commands["run"]) words.push_back(word);
  words.insert(words.end(), {"--set", "cluster.nodes=8", "--set",
                             R"(strategy={"name":"ddp","bucket":"1 MiB"})", "--format", "json"});
  const Json result = Json::parse(run_sgdsim(words).out);
  CHECK(result["id"] == lines[5]["id"]);
  CHECK(result["iteration_ps"] == lines[5]["iteration_ps"]);
  // Of another sweep: refused instead of naming commands that give something else.
  const Ran other = run_sgdsim({"report", file.name(), sweep_file});
  CHECK(other.exit_code == 2);
  CHECK(other.log.find("asks for other points than those of") != std::string::npos);
}

TEST_CASE("report: a timeline keeps its picoseconds") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string timeline = folder.name() + "/timeline.json";
  const Ran ran = run_sgdsim({"run", experiment, "--timeline", timeline, "--format", "json"});
  const Temporary result(Temporary::Kind::file, ran.out);
  const Json data = data_in(page_of({result.name(), timeline}));
  REQUIRE(data["timelines"].size() == 1);
  const Json& shown = data["timelines"][0];
  CHECK(shown["config"] == Json::parse(ran.out)["id"]);
  const Json written = Json::parse(read_text(timeline));
  std::size_t at = 0;
  const Json start = unpacked_data(shown["start_ps"]), length = unpacked_data(shown["length_ps"]),
             name = unpacked_data(shown["name"]), names = unpacked_data(shown["names"]);
  for (const Json& event : written["traceEvents"]) {
    if (event["ph"] != "X") continue;
    CHECK(start[at].get<int64_t>() == std::llround(event["ts"].get<double>() * 1e6));
    CHECK(length[at].get<int64_t>() == std::llround(event["dur"].get<double>() * 1e6));
    CHECK(names[name[at].get<std::size_t>()] == event["name"]);
    ++at;
  }
  CHECK(at == shown["count"]);
  CHECK(at > 100);
}

TEST_CASE("report: results side by side, varied in the fields that differ") {
  const Temporary folder(Temporary::Kind::folder);
  std::vector<std::string> files;
  for (const char* nodes : {"4", "8"}) {
    files.push_back(folder.name() + "/" + nodes + ".json");
    run_sgdsim(
        {"run", experiment, "--set", std::string("cluster.nodes=") + nodes, "--out", files.back()});
  }
  const Json data = data_in(page_of(files));
  const Json& table = data["tables"][0];
  std::vector<std::string> axes;
  for (const Json& column : table["columns"])
    if (column["role"] == "axis") axes.push_back(column["key"]);
  CHECK(axes == std::vector<std::string>{"cluster.nodes"});
  CHECK(data["documents"].size() == 2);
}

const std::string hostile = "</script><script>alert(1)</script><!-- \"'&amp; \xF0\x9F\x92\xA5";

TEST_CASE("report: names are text, whatever they look like") {
  Json result = Json::parse(run_sgdsim({"run", experiment, "--format", "json"}).out);
  for (const std::string& name : {hostile, std::string(10'000, 'x'), std::string("/* data */")}) {
    result["name"] = name;
    const Temporary file(Temporary::Kind::file, result.dump());
    const std::string page = page_of({file.name()}, {"--title", name});
    const Json data = data_in(page);
    CHECK(unpacked_data(data["documents"][0]["value"])["name"] == name);
    CHECK(data["title"] == name);
    const std::size_t start = page.find(data_begins) + data_begins.size();
    const std::string inside = page.substr(start, page.find("</script", start) - start);
    CHECK(inside.find_first_of("<>&") == std::string::npos);
    CHECK(page.find("alert(1)") > start);
  }
}

TEST_CASE("report: whole numbers that a browser cannot hold stay exact") {
  const struct {
    const char* reason;
    Json value;
    Json shown;
  } rows[] = {
      {"the largest a double holds", int64_t{9007199254740992}, int64_t{9007199254740992}},
      {"one more", int64_t{9007199254740993}, "9007199254740993"},
      {"the largest time", int64_t{1} << 62, "4611686018427387904"},
      {"below zero", -(int64_t{1} << 62), "-4611686018427387904"},
      {"a fraction", 0.1, 0.1},
      {"inside", Json::array({Json{{"a", uint64_t{1} << 63}}}),
       Json::array({Json{{"a", "9223372036854775808"}}})},
  };
  for (const auto& row : rows) {
    INFO(row.reason);
    CHECK(for_page(row.value) == row.shown);
    CHECK(has_large_wholes(row.value) == (row.value != row.shown));
  }
  // The page is told where they are, so that it can save and set them as numbers.
  const Ran ran = run_sgdsim(
      {"sweep", experiment, "--axis", "seed=9007199254740992,9007199254740993", "--quiet"});
  const Temporary points(Temporary::Kind::file, ran.out);
  const Json table = data_in(page_of({points.name()}))["tables"][0];
  for (const Json& column : table["columns"])
    CHECK(column.value("large_wholes", false) == (column["key"] == "seed"));
  const Temporary result(
      Temporary::Kind::file,
      run_sgdsim({"run", experiment, "--set", "seed=9007199254740993", "--format", "json"}).out);
  CHECK(data_in(page_of({result.name()}))["documents"][0]["large_wholes"] == true);
}

// The text of a point that no other has.
std::string point_line(int number, int of) {
  auto figure = [&](int salt) {  // 17 digits, without a pattern
    return std::to_string(1e4 + number % 977) +
           std::to_string((static_cast<int64_t>(number) * 7919 + salt * 104729) * 15485863 %
                          99'999'989);
  };
  const std::string digits = std::to_string(10'000'019LL + number * 7919LL % 89'999'000);
  std::string id = "sha256:";
  for (int i = 0; i < 8; ++i) id += digits;
  std::string line = R"({"schema":"sgdsim/point/1","sweep":"0123456789abcdef","point":)" +
                     std::to_string(number) + ",\"of\":" + std::to_string(of) + ",\"id\":\"" + id +
                     R"(","axes":{"cluster.nodes":)" + std::to_string(number / 8) +
                     R"(,"strategy":"s)" + std::to_string(number % 8) + R"("},"workers":2,)" +
                     R"("strategy":"s","collective":"ring","fidelity":"message","path":"rounds",)" +
                     R"("iteration_ps":)" + std::to_string(1'000'000'007LL + number) +
                     R"(,"metrics":{"iteration_us":{"mean":)" + figure(0);
  int salt = 0;
  for (const char* key : {"p50", "p95", "p99", "max"})
    line += ",\"" + std::string(key) + "\":" + figure(++salt);
  line += ",\"n\":10}";
  for (const char* key : {"forward_us", "backward_us", "update_us", "comm_total_us",
                          "comm_exposed_us", "comm_overlapped_us", "waiting_us", "idle_us",
                          "overlap_ratio", "throughput_samples_per_s", "speedup", "efficiency"})
    line += ",\"" + std::string(key) + "\":" + figure(++salt);
  return line + "}}\n";
}

TEST_CASE("report: sizes") {
  const Temporary result(Temporary::Kind::file,
                         run_sgdsim({"run", experiment, "--format", "json"}).out);
  CHECK(page_of({result.name()}).size() < 1'000'000);
#ifndef SGDSIM_SANITIZED
  // Every figure of every point has all digits and no pattern: the worst there is.
  constexpr int count = 100'000;
  std::string text;
  for (int i = 0; i < count; ++i) text += point_line(i, count);
  const Temporary file(Temporary::Kind::file, text);
  const std::string page = page_of({file.name()});
  CHECK(page.size() < 15'000'000);
  const Json data = data_in(page);
  const Json& table = data["tables"][0];
  CHECK(table["rows"] == count);
  bool has_mean = false;
  for (const Json& column : table["columns"])
    has_mean = has_mean || column["key"] == "metrics.iteration_us.mean";
  CHECK(has_mean);
  CHECK(!table["left_out"].empty());
#endif
}

TEST_CASE("report: what an interrupted sweep left, and shards") {
  const std::string first = point_line(0, 3) + point_line(2, 3);
  const Temporary torn(Temporary::Kind::file, first + point_line(1, 3).substr(0, 100));
  const Json data = data_in(page_of({torn.name()}));
  CHECK(data["tables"][0]["rows"] == 2);
  CHECK(data["notes"].size() == 1);
  CHECK(data["tables"][0]["notes"] == Json::array({"1 of 3 points of the sweep are missing"}));
  const Temporary whole(Temporary::Kind::file, first),
      rest(Temporary::Kind::file, point_line(1, 3));
  const Json joined = data_in(page_of({whole.name(), rest.name()}));
  REQUIRE(joined["tables"].size() == 1);
  for (const Json& column : joined["tables"][0]["columns"])
    if (column["key"] == "point")
      CHECK(column_values(joined["tables"][0], column) == std::vector<Json>{0, 1, 2});
}

TEST_CASE("report: warnings of all points, each once") {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    Json point = Json::parse(point_line(i, 12));
    point["warnings"] = {"of all", "of " + std::to_string(10 + i)};
    text += point.dump() + "\n";
  }
  const Temporary file(Temporary::Kind::file, text);
  const Json warnings = data_in(page_of({file.name()}))["tables"][0]["warnings"];
  CHECK(warnings["texts"].size() == 10);
  CHECK(warnings["texts"][0] == "of 10");
  CHECK(warnings["more"] == 3);
}

TEST_CASE("report: what is refused, and how") {
  const std::string result = run_sgdsim({"run", experiment, "--format", "json"}).out;
  Json without_messages = Json::parse(result), with_words = without_messages;
  without_messages.erase("messages");
  with_words["metrics"]["iteration_us"]["mean"] = "fast";
  const std::string one_line = Json::parse(result).dump() + "\n";
  const struct {
    const char* reason;
    std::string content;
    const char* said;
  } rows[] = {
      {"empty", "", "is empty; expected what sgdsim run, sweep, plan"},
      {"blanks", " \n\t\n", "is empty; expected what sgdsim run, sweep, plan"},
      {"no JSON", "hello", "not JSON"},
      {"half of an answer", result.substr(0, result.size() / 2), "not JSON"},
      {"a list", "[1, 2]", "there is no field \"schema\"; expected what sgdsim run"},
      {"no schema", "{}", "there is no field \"schema\"; expected what sgdsim run"},
      {"a schema that is no text", R"({"schema": 7})", "there is no field \"schema\""},
      {"another kind", R"({"schema": "sgdsim/cluster/1"})",
       "a report cannot show \"sgdsim/cluster/1\"; expected what sgdsim run"},
      {"a field is missing", without_messages.dump(), "does not fit `sgdsim schema`"},
      {"a word in place of a number", with_words.dump(), "/metrics/iteration_us/mean"},
      {"two kinds of lines", one_line + point_line(0, 1),
       ":2: expected sgdsim/result/1 as in the lines before, got sgdsim/point/1"},
      {"garbage between lines", point_line(0, 2) + "hello\n" + point_line(1, 2),
       ":2: expected a JSON object per line, got hello"},
      {"a plan and more", R"({"schema": "sgdsim/plan/1", "plans": []})" + std::string("\n{}\n"),
       ":2: expected nothing after the object of line 1"},
      {"a point twice", point_line(0, 2) + point_line(0, 2), "point 0 occurs twice"},
      {"a point too far", point_line(0, 2) + point_line(7, 2),
       "point 7 of 2 is none of a sweep of 2 points"},
      {"NaN", R"({"schema": "sgdsim/tune/1", "value": NaN})", "not JSON"},
      {"a key twice", R"({"schema": "sgdsim/plan/1", "schema": "sgdsim/plan/1"})", "twice"},
      {"a number beyond all", R"({"schema": "sgdsim/tune/1", "value": 1e999})", ""},
      {"a timeline without slices",
       R"({"displayTimeUnit":"ns","otherData":{"tool":"sgdsim","version":"0","config":""},)"
       R"("traceEvents":[]})",
       "expected at least one slice"},
      {"a timeline that ends early", R"({"displayTimeUnit":"ns","otherData":{"tool":"sgdsim",)",
       "not JSON"},
      {"a replay", R"({"schema": "sgdsim/replay/1"})", "sgdsim replay SCHEDULE --timeline FILE"},
      {"steps", R"({"schema": "sgdsim/steps/1"})", "the table that sgdsim import prints"},
      {"times", R"({"schema": "sgdsim/measurement/1"})", "sgdsim fit FILE --format json"},
      {"a trace", R"({"schema": "sgdsim/trace/1"})", "sgdsim trace show FILE"},
      {"only a question", read_text(SGDSIM_SOURCE_DIR "/" + experiment), "is a question"},
  };
  for (const auto& row : rows) {
    INFO(row.reason);
    const Temporary file(Temporary::Kind::file, row.content);
    const Ran ran = run_sgdsim({"report", file.name()});
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.starts_with("sgdsim: " + file.name()));
    CHECK(ran.log.find(row.said) != std::string::npos);
    CHECK(std::count(ran.log.begin(), ran.log.end(), '\n') == 1);
  }
}

// Whatever became of a file, the answer is a page whose data can be read, or a sentence.
void check_ends_well(const std::string& content) {
  const Temporary file(Temporary::Kind::file, content);
  ReportRequest request;
  request.files = {file.name()};
  try {
    const std::string page = report_page(request);
    CHECK(data_in(page).contains("tables"));
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).starts_with(file.name()));
  }
}

TEST_CASE("report: damaged files end in a page or a sentence") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string timeline = folder.name() + "/timeline.json";
  const std::string result =
      Json::parse(run_sgdsim({"run", experiment, "--timeline", timeline, "--format", "json"}).out)
          .dump();
  const std::string points = point_line(0, 2) + point_line(1, 2);
  const std::string plan = run_sgdsim({"plan", experiment, "--format", "json"}).out;
  const std::string letters = "\"{}[],:0-e\\ \n\x01\xff<";
  uint64_t state = 1;
  auto below = [&](std::size_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33U) % end;
  };
  for (const std::string& whole : {result, points, plan, read_text(timeline)})
    for (int i = 0; i < rounds(16); ++i) {
      check_ends_well(whole.substr(0, below(whole.size())));
      std::string changed = whole;
      changed[below(changed.size())] = letters[below(letters.size())];
      check_ends_well(changed);
    }
}

TEST_CASE("report: pages round figures by the same table as the program") {
  const Json rows = Json::parse(read_text(SGDSIM_SOURCE_DIR "/tests/data/short_figures.json"));
  REQUIRE(rows.size() > 20);
  for (const Json& row : rows) {
    CAPTURE(row.dump());
    const Json& arguments = row["arguments"];
    const std::string function = row["function"];
    const double value = arguments[0];
    const std::string text = function == "short_size" ? short_size(value)
                             : function == "rounded"  ? rounded(value, arguments[1])
                                                      : short_duration(value, arguments[1]);
    CHECK(text == row["text"]);
  }
}

TEST_CASE("report: an output replaces reports and nothing else") {
  const Temporary result(Temporary::Kind::file,
                         run_sgdsim({"run", experiment, "--format", "json"}).out);
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/report.html";
  const std::vector<std::string> words = {"report", result.name(), "--out", out};
  CHECK(run_sgdsim(words).exit_code == 0);
  CHECK(run_sgdsim(words).exit_code == 0);
  const Temporary other(Temporary::Kind::file, "<!DOCTYPE html>\n<p>mine</p>\n");
  CHECK(run_sgdsim({"report", result.name(), "--out", other.name()}).exit_code == 2);
  CHECK(run_sgdsim({"report", result.name(), "--out", result.name()}).exit_code == 2);
}

}  // namespace
}  // namespace sgdsim
