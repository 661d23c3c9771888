// Case files: those in tests/bad/case are refused with exactly the sentence that stands beside
// them, uses and errors are what an invented case says they are, and the schema knows the fields
// that the reader knows.
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <set>

#include "sim/core/error.h"
#include "study/validate/validation.h"

namespace sgdsim {
namespace {

const std::filesystem::path root = SGDSIM_SOURCE_DIR;

// Two hosts: a linear broadcast of s bytes takes 10 us + s x 1 ns.
Json small_case(Json rows) {
  return {{"schema", "sgdsim/case/1"},
          {"name", "two"},
          {"grade", "A"},
          {"kind", "collective"},
          {"description", "Two hosts at a switch."},
          {"source", {{"origin", "invented"}, {"measured", "nothing"}, {"fitted", "nothing"}}},
          {"tolerance",
           {{"median_percent", 1},
            {"p90_percent", 6},
            {"per_algorithm_median_percent", 2},
            {"from_size", "16 KiB"}}},
          {"cluster",
           {{"shape", "single_switch"},
            {"nodes", 2},
            {"nic", {{"latency", "5 us"}, {"bandwidth", "1 GBps"}}}}},
          {"measured", std::move(rows)}};
}

Json small_row(const std::string& label, const std::string& time) {
  return {{"label", label},
          {"algorithm", "linear"},
          {"operation", "broadcast"},
          {"size", "990 KB"},  // 1 ms
          {"time", time}};
}

CaseFile read_json(const Json& json, const std::string& file = "two.json") {
  return read_case(Document::parse(json.dump(), file).root());
}

std::string error_of(const std::vector<CaseFile>& files) {
  try {
    validate(files);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string error_of(const std::string& text, const std::string& file) {
  try {
    return error_of(std::vector{read_case(Document::parse(text, file).root())});
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST_CASE("case files: what is wrong is refused with a sentence") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests/bad/case")) {
    if (entry.path().extension() != ".json") continue;
    ++count;
    const std::string name = entry.path().filename().string();
    INFO(name);
    auto sentence = entry.path();
    sentence.replace_extension(".txt");
    std::string expected = read_text(sentence.string());
    expected.pop_back();  // the newline
    CHECK(error_of(read_text(entry.path().string()), name) == expected);
  }
  CHECK(count >= 35);
}

TEST_CASE("case files: names that only the registries know") {
  auto error_with = [](const std::string& field, const Json& value) {
    Json row = small_row("a", "1 ms");
    row[field] = value;
    return error_of(small_case(Json::array({row})).dump(), "f");
  };
  CHECK(error_with("algorithm", "rings")
            .starts_with("f: /measured/0/algorithm: unknown algorithm \"rings\" (did you mean "
                         "\"ring\"?); known: mst, "));
  CHECK(error_with("operation", "alltoall")
            .starts_with("f: /measured/0: linear has no alltoall; those that have: "));
  CHECK(error_with("options", {{"aplha", "wire"}})
            .starts_with("f: /measured/0/options: unknown option \"aplha\" (did you mean "
                         "\"alpha\"?); known: alpha, "));
}

TEST_CASE("case files: how rows are used, and what their errors come to") {
  Json fitted = small_row("a", "1 ms");
  fitted["fitted"] = true;
  Json reported = small_row("a", "2 ms");
  reported["held"] = false;
  reported["reason"] = "an example";
  Json below = small_row("a", "10 us");
  below["size"] = "16383 B";
  const Json rows = {fitted,
                     reported,
                     below,
                     small_row("b", "0.8 ms"),   // +25 %
                     small_row("a", "1 ms"),     // 0
                     small_row("a", "1.25 ms"),  // -20 %
                     small_row("a", "0.5 ms")};  // +100 %
  const std::vector<CaseFile> files = {read_json(small_case(rows))};
  const std::vector<SuiteResult> suites = validate(files);
  REQUIRE(suites.size() == 1);
  const Judged& judged = suites.front().judged;
  CHECK(suites.front().name == "two");
  // Sorted: 0, 20, 25, 100; the 90th percentile lies 0.7 of the way from the third to the fourth.
  CHECK(judged.held.rows == 4);
  CHECK(judged.held.median == doctest::Approx(22.5));
  CHECK(judged.held.p90 == doctest::Approx(77.5));
  CHECK(judged.held.max == doctest::Approx(100));
  CHECK(judged.held.signed_median == doctest::Approx(12.5));
  REQUIRE(judged.labels.size() == 5);
  struct Row {
    std::string label;
    RowUse use;
    std::size_t rows;
    double median;
  };
  const std::vector<Row> expected = {{"a", RowUse::held, 3, 20},
                                     {"b", RowUse::held, 1, 25},
                                     {"a", RowUse::fitted, 1, 0},
                                     {"a", RowUse::reported, 1, 50},
                                     {"a", RowUse::below_range, 1, 163.83}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(judged.labels[i].label == expected[i].label);
    CHECK(judged.labels[i].use == expected[i].use);
    CHECK(judged.labels[i].errors.rows == expected[i].rows);
    CHECK(judged.labels[i].errors.median == doctest::Approx(expected[i].median));
  }
  CHECK(
      suites.front().breaches ==
      std::vector<std::string>{"the median error is 22.50 %, above the tolerance of 1.00 %",
                               "the 90th percentile is 77.50 %, above the tolerance of 6.00 %",
                               "the median error of a is 20.00 %, above the tolerance of 2.00 %",
                               "the median error of b is 25.00 %, above the tolerance of 2.00 %"});
}

TEST_CASE("case files: what is equal to the tolerance is within it") {
  Json one = small_case(Json::array({small_row("a", "0.8 ms")}));
  one["tolerance"]["median_percent"] = 25;
  one["tolerance"]["p90_percent"] = 25;
  one["tolerance"]["per_algorithm_median_percent"] = 25;
  const std::vector<CaseFile> files = {read_json(one)};
  CHECK(within_tolerance(validate(files)));
}

TEST_CASE("case files: suites are judged together, other cases by themselves") {
  Json good = small_case(Json::array({small_row("a", "1 ms"), small_row("a", "1 ms")}));
  Json bad = small_case(Json::array({small_row("a", "0.8 ms")}));
  bad["name"] = "bad";
  const std::vector<CaseFile> apart = {read_json(good), read_json(bad)};
  CHECK(validate(apart).size() == 2);
  CHECK(validate(apart)[0].breaches.empty());
  CHECK_FALSE(within_tolerance(validate(apart)));
  good["suite"] = bad["suite"] = "both";
  good["tolerance"]["p90_percent"] = bad["tolerance"]["p90_percent"] = 25;
  const std::vector<CaseFile> together = {read_json(good), read_json(bad)};
  CHECK(validate(together).size() == 1);
  CHECK(within_tolerance(validate(together)));
}

TEST_CASE("case files: cases that cannot be judged together") {
  Json one = small_case(Json::array({small_row("a", "1 ms")}));
  CHECK(error_of({read_json(one, "f1"), read_json(one, "f2")}) ==
        "f2: the case \"two\" was already read from f1");
  one["suite"] = "both";
  Json other = one;
  other["name"] = "other";
  other["tolerance"]["p90_percent"] = 7;
  CHECK(error_of({read_json(one, "f1"), read_json(other, "f2")}) ==
        "f2: /tolerance: differs from that of f1, but cases of one suite are judged together");
}

TEST_CASE("case files: options of a row win over those of the case") {
  Json row = small_row("a", "1 ms");
  row["algorithm"] = "lp";
  row["block"] = "495 KB";
  Json one = small_case(Json::array({row, row}));
  one["options"] = {{"alpha", "wire"}};
  one["measured"][1]["options"] = {{"alpha", "port"}};
  const CaseFile file = read_json(one);
  CHECK(file.rows[0].predict().time == Duration::us(1000));  // one flight, two transits
  CHECK(file.rows[1].predict().time == Duration::us(1010));
}

// ---- kind "experiment"

// One layer of 1 MB: 1 ms forward, 2 ms backward, then an exchange of 10 us + 1 ns/B: 4.01 ms.
Json small_experiment_case(Json rows) {
  Json one = small_case(std::move(rows));
  one["kind"] = "experiment";
  one["experiment"] = {
      {"trace",
       {{"layers",
         {{{"name", "l"}, {"parameters", 250000}, {"forward", "1 ms"}, {"backward", "2 ms"}}}}}},
      {"cluster", one["cluster"]},
      {"collective", {{"start_up", "10 us"}, {"per_byte", "1 ns/B"}}},
      {"fidelity", "closed_form"}};
  one.erase("cluster");
  return one;
}

Json small_step(const std::string& time, Json settings = Json::array()) {
  return {{"label", "a"}, {"set", std::move(settings)}, {"time", time}};
}

TEST_CASE("case files: a row sets what makes the experiment its own") {
  const CaseFile file = read_json(small_experiment_case(
      {small_step("4.01 ms"), small_step("4.02 ms", {"collective.start_up=20 us"}),
       small_step("3 ms", {"collective.start_up=0 us", "collective.per_byte=0 ns/B"})}));
  REQUIRE(file.rows.size() == 3);
  for (const CaseRow& row : file.rows) {
    CHECK(row.predict().time == row.measured);
    CHECK(row.size == Bytes(1'000'000));
  }
  CHECK(file.rows[0].point == "as it is");
  CHECK(file.rows[1].point == "collective.start_up=20 us");
}

TEST_CASE("case files: messages and the largest error are held") {
  struct Row {
    std::string reason;
    std::string time;
    Json messages_B;
    std::vector<std::string> breaches;
  };
  const std::vector<Row> rows = {
      {"as measured", "4.01 ms", {1000000}, {}},
      {"as far as tolerated", "4.01 ms", nullptr, {}},
      {"another size",
       "4.01 ms",
       {999999},
       {"two, a, as it is: message 0 of the plan has 1000000 B, measured were 999999 B"}},
      {"another number",
       "4.01 ms",
       {500000, 500000},
       {"two, a, as it is: the plan has 1 messages, measured were 2"}},
      {"too long",
       "2.005 ms",
       nullptr,
       {"the largest error is 100.00 %, above the tolerance of 99.00 %"}}};
  for (const Row& row : rows) {
    INFO(row.reason);
    Json step = small_step(row.time);
    if (!row.messages_B.is_null()) step["messages_B"] = row.messages_B;
    Json one = small_experiment_case(Json::array({step}));
    for (const char* percent : {"median_percent", "p90_percent", "per_algorithm_median_percent"})
      one["tolerance"][percent] = 100.5;
    one["tolerance"]["max_percent"] = 99;
    const std::vector<CaseFile> files = {read_json(one)};
    CHECK(validate(files).front().breaches == row.breaches);
  }
}

TEST_CASE("case files: what is wrong with an experiment is refused, and names the row") {
  auto error_with = [](const Json& step) {
    return error_of(small_experiment_case(Json::array({step})).dump(), "f");
  };
  CHECK(error_with(small_step("1 ms", {"strategy=wfpb"}))
            .starts_with("f: /measured/0: --set strategy=wfpb: unknown strategy \"wfpb\""));
  CHECK(error_with(small_step("1 ms", {"nodes"})) ==
        "f: /measured/0: --set nodes: expected path=value, as in nodes=64");
  Json step = small_step("1 ms");
  step["messages_B"] = Json::array();
  CHECK(error_with(step) == "f: /measured/0/messages_B: expected at least one message");
  Json both = small_experiment_case(Json::array({small_step("1 ms")}));
  both["cluster"] = both["experiment"]["cluster"];
  CHECK(error_of(both.dump(), "f").starts_with("f: /: unknown field \"cluster\""));
}

// ---- the schema

std::set<std::string> fields_that_reader_knows(const Json& json) {
  const std::string error = error_of(json.dump(), "f");
  const std::string mark = "known: ";
  std::size_t from = error.find(mark);
  REQUIRE_MESSAGE(from != std::string::npos, error);
  std::set<std::string> names;
  for (from += mark.size(); from < error.size();) {
    const std::size_t end = std::min(error.find(", ", from), error.size());
    names.insert(error.substr(from, end - from));
    from = end + 2;
  }
  return names;
}

std::set<std::string> properties_of(const Json& schema) {
  std::set<std::string> names;
  for (const auto& property : schema["properties"].items()) {
    names.insert(property.key());
    CHECK_MESSAGE(property.value().contains("description"), property.key());
  }
  CHECK(schema["additionalProperties"] == false);
  return names;
}

TEST_CASE("case files: the schema lists the fields that the reader knows") {
  const Json schema = schema_of_cases();
  const Json good = small_case(Json::array({small_row("a", "1 ms")}));
  const Json step = small_experiment_case(Json::array({small_step("1 ms")}));
  Json layout = good;
  layout["kind"] = "training";
  layout.erase("options");
  layout["gpu"] = "h100";
  layout["model"] = "llama3.1_8b";
  layout["measured"] = Json::array({{{"label", "a"}, {"layout", "tp1"}, {"time", "1 s"}}});
  for (const Json& file : {good, step, layout}) {
    const std::string kind = file["kind"];
    INFO(kind);
    const auto branch = std::find_if(
        schema["allOf"].begin(), schema["allOf"].end(),
        [&](const Json& one) { return one["if"]["properties"]["kind"]["const"] == kind; });
    REQUIRE(branch != schema["allOf"].end());
    const Json& whole = (*branch)["then"];
    const std::vector<std::pair<std::string, Json>> objects = {
        {"", whole},
        {"/source", whole["properties"]["source"]},
        {"/tolerance", whole["properties"]["tolerance"]},
        {"/measured/0", whole["properties"]["measured"]["items"]}};
    for (const auto& object : objects) {
      INFO(object.first);
      Json bad = file;
      bad[Json::json_pointer(object.first)]["no such field"] = 1;
      CHECK(fields_that_reader_knows(bad) == properties_of(object.second));
    }
  }
}

}  // namespace
}  // namespace sgdsim
