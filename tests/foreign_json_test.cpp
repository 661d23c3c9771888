// JSON of other programs: comments and the numbers NaN and Infinity are read; who needs such a
// number refuses it by name; our own files stay JSON.
#include "sim/core/foreign_json.h"

#include <cmath>
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

std::string refusal(const std::string& text) {
  try {
    foreign_json(text, "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Of a shipped file of the tests, with a text put in place of another.
std::string changed(const std::string& file, const std::string& what, const std::string& instead) {
  std::string text = read_text(SGDSIM_SOURCE_DIR "/" + file);
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), instead);
}

}  // namespace

TEST_CASE("foreign JSON: comments are blanks") {
  const Json expected = {{"a", {1, 2}}, {"b", "// no /* comment */"}};
  for (const char* text :
       {R"({"a": [1, 2], "b": "// no /* comment */"})",
        "// first\n{\"a\": [1, /* NaN */ 2], // Infinity\n \"b\": \"// no /* comment */\"}",
        "/**/{\"a\":[1/*,*/,2],/*\n*/\"b\":\"// no /* comment */\"}//", R"(
          /* "a": 3 */ {"a": [1, 2], "b": "// no /* comment */"} // )"}) {
    INFO(text);
    CHECK(foreign_json(text, "f.json") == expected);
    CHECK(foreign_value(text, "f.json") == expected);
    CHECK(first_of_json(text) == '{');
  }
  CHECK(first_of_json("// only this") == '\0');
  CHECK(first_of_json(" /* never ended") == '\0');
  CHECK(first_of_json("/ {}") == '/');
}

TEST_CASE("foreign JSON: numbers that JSON lacks") {
  const Json json = foreign_json(
      R"({"NaN": [NaN, -Infinity,Infinity], "t": "NaN, Infinity", "e": "\"NaN", "n": {"x":NaN}})",
      "f.json");
  CHECK(std::isnan(json["NaN"][0].get<double>()));
  CHECK(json["NaN"][1].get<double>() == -HUGE_VAL);
  CHECK(json["NaN"][2].get<double>() == HUGE_VAL);
  CHECK(json["t"] == "NaN, Infinity");
  CHECK(json["e"] == "\"NaN");
  CHECK(text_of_number(json["n"]["x"]) == "NaN");
  CHECK(text_of_number(json["NaN"][1]) == "-Infinity");
  CHECK(std::isinf(foreign_value("Infinity", "f")->get<double>()));
  // No number of this kind is one that was asked for.
  const Value root(json, "f.json", "");
  const std::string sentence = [&] {
    try {
      root.child("n").child("x").whole(1, 9);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  }();
  CHECK(sentence == "f.json: /n/x: expected a whole number from 1 to 9, got the number NaN");
  CHECK_THROWS_AS(root.child("n").child("x").number(-1e300, 1e300), InputError);
}

TEST_CASE("foreign JSON: what is no JSON is refused where it stands") {
  struct Row {
    const char* text;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"", "f.json: not JSON: line 1, column 1 (the text ends too early)"},
           {"{\"a\": nan}", "f.json: not JSON: line 1, column 8"},
           {"{\"a\": +Infinity}", "f.json: not JSON: line 1, column 7"},
           {"{\"a\": NaNs}", "f.json: not JSON: line 1, column 7"},
           // Behind numbers that were marked, the place is that of the file.
           {"{\"a\": NaN,\n \"b\": [Infinity, -Infinity], x}",
            "f.json: not JSON: line 2, column 30"},
           {"{\"a\": NaN, \"a\": 1}", "f.json: the key \"a\" occurs twice in one object"},
           {"{\"a\": 1, }",
            "f.json: not JSON: line 1, column 10 (there is a comma before \"}\"; JSON "
            "has none after the last entry)"},
           {"{\"a\": \"\\u0001NaN\\u0001\"}", "f.json: a string has the control character \\x01"},
           {"{\"a\": 1} /* never ended",
            "f.json: not JSON: line 1, column 24 (the text ends too early)"}}) {
    INFO(row.text);
    CHECK(refusal(row.text) == row.sentence);
    CHECK((row.sentence[8] != 'n' || !foreign_value(row.text, "f").has_value()));
  }
  // What is ours has neither.
  for (const char* text : {"{\"a\": NaN}", "{\"a\": 1} // b", "{\"a\": Infinity}"})
    CHECK_THROWS_AS(Document::parse(text, "f.json"), InputError);
}

// Every file of another program is read the same with comments, and with a number that nobody asks
// for.
TEST_CASE("foreign JSON: every reader of other programs' JSON takes it") {
  const std::string odd = "\"x_odd\": [NaN, {\"y\": -Infinity}], /* odd */ ";
  const auto with_odd = [&](const std::string& file) {
    return "// a comment\n" + changed(file, "{", "{ // another\n " + odd);
  };
  struct Row {
    const char* what;
    std::string text;
    const char* plain;
    std::vector<std::string> before;
    std::vector<std::string> behind;
  };
  const std::vector<Row> rows = {
      {"config.json",
       with_odd("tests/data/hugging_face_config.json"),
       "tests/data/hugging_face_config.json",
       {"model", "show"},
       {"--format", "json"}},
      {"DeepSpeed",
       with_odd("tests/data/layouts/deepspeed.json"),
       "tests/data/layouts/deepspeed.json",
       {"model", "show", "llama3.1_8b", "--gpus", "16", "--layout"},
       {"--format", "json"}},
      {"nccl-tests",
       with_odd("tests/data/nccl_tests.json"),
       "tests/data/nccl_tests.json",
       {"fit"},
       {"--name", "a", "--format", "json"}},
      {"Kineto",
       with_odd("tests/data/kineto.json"),
       "tests/data/kineto.json",
       {"import", "kineto"},
       {"--name", "a"}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const Temporary file(Temporary::Kind::file, row.text);
    const auto words = [&](const std::string& name) {
      std::vector<std::string> all = row.before;
      all.push_back(name);
      all.insert(all.end(), row.behind.begin(), row.behind.end());
      return all;
    };
    const Ran odd_one = run_sgdsim(words(file.name()));
    const Ran plain = run_sgdsim(words(row.plain));
    INFO(odd_one.log);
    CHECK(odd_one.exit_code == 0);
    CHECK(plain.exit_code == 0);
    // The name of the file stands in what is printed.
    std::string text = odd_one.out;
    for (std::size_t at = text.find(file.name()); at != text.npos; at = text.find(file.name()))
      text.replace(at, file.name().size(), row.plain);
    if (std::string(row.what) == "config.json")  // the model is named as its file
      CHECK(Json::parse(text)["parameters"] == Json::parse(plain.out)["parameters"]);
    else
      CHECK((text == plain.out));
  }
}

TEST_CASE("foreign JSON: traces of Chakra, and their groups") {
  const Temporary folder(Temporary::Kind::folder);
  const auto put = [&](const std::string& name, const std::string& text) {
    run_shell_line("cat > " + folder.name() + "/" + name + " <<'END'\n" + text + "\nEND");
    return folder.name() + "/" + name;
  };
  // 5 us of work, and what is not asked for is no number.
  const std::string plain = put("plain.0.json", R"({"workload_graph": [{"Id": 1, "Name": "c",
    "NodeType": 4, "is_cpu_op": false, "runtime": 5, "data_deps": []}]})");
  const std::string odd = put("odd.0.json", R"(// of a simulator
    {"workload_graph": [ /* one */ {"Id": 1, "Name": "c", "x": [NaN, -Infinity],
    "NodeType": 4, "is_cpu_op": false, "runtime": 5, "data_deps": []}]})");
  const std::string groups = put("groups.json", "{\"0\": [0 /* alone */]}");
  const std::vector<std::string> costs = {"--L", "1 us", "--G", "1 ns/B", "--format", "json"};
  const auto answer_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "replay");
    words.insert(words.end(), costs.begin(), costs.end());
    const Ran ran = run_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    return Json::parse(ran.out)["makespan_ps"];
  };
  CHECK(answer_of({odd}) == answer_of({plain}));
  CHECK(answer_of({odd, "--groups", groups}) == answer_of({plain}));
}

TEST_CASE("foreign JSON: a number that is needed is named") {
  const Temporary config(Temporary::Kind::file,
                         changed("tests/data/hugging_face_config.json", "\"num_hidden_layers\":",
                                 "\"num_hidden_layers\": NaN, \"before\":"));
  Ran ran = run_sgdsim({"model", "show", config.name()});
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.log, "/num_hidden_layers: expected a whole number"));
  CHECK(contains(ran.log, "got the number NaN"));
  const Temporary folder(Temporary::Kind::folder);
  const std::string deepspeed = folder.name() + "/ds.json";
  run_shell_line("cat > " + deepspeed + " <<'END'\n" +
                 R"({"train_batch_size": NaN, "train_micro_batch_size_per_gpu": 2})" + "\nEND");
  ran = run_sgdsim({"model", "show", "llama3.1_8b", "--gpus", "16", "--layout", deepspeed});
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.log, "train_batch_size: expected a whole number"));
  // A file of ours with a comment is no JSON.
  const Temporary own(Temporary::Kind::file,
                      "// mine\n" + read_text(SGDSIM_SOURCE_DIR "/models/training/data/models/"
                                                                "llama3.1_8b.json"));
  ran = run_sgdsim({"model", "show", own.name()});
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.log, "not JSON: line 1, column 1"));
}

}  // namespace sgdsim
