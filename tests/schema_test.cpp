// The JSON schemas: each is well formed, every file that ships fits its own, and so does what the
// program prints.
#include <doctest/doctest.h>
#include <filesystem>
#include <sstream>

#include "app/schema_check.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Faults = std::vector<std::string>;

// "sgdsim/cluster/1" of a file or an output that says what it is.
std::string schema_of(const Json& json) { return json.value("schema", "none named"); }

// A value with one thing wrong, and where.
struct Spoiled {
  Json json;
  std::string place;
};

// Members that hold whatever the user gave.
bool is_free(const std::string& name) { return name == "inputs" || name == "axes"; }

// Of each list of objects the first is kept, which stands for all.
Json shortened(const Json& json) {
  Json less = json;
  if (less.is_array() && less.size() > 1 && less[0].is_object()) less = Json::array({less[0]});
  if (less.is_structured())
    for (Json& one : less) one = shortened(one);
  return less;
}

// Every object with a member more, and every value of another type.
void spoil(const Json& whole, const Json::json_pointer& at, std::vector<Spoiled>& all) {
  const Json& here = whole.at(at);
  if (here.is_null()) return;
  Json bad = whole;
  if (here.is_object())
    bad[at]["no such member"] = 1;
  else
    bad[at] = here.is_string() ? Json(7) : Json("seven");
  all.push_back({std::move(bad), at.to_string()});
  if (here.is_object()) {
    for (const auto& member : here.items())
      if (!is_free(member.key())) spoil(whole, at / member.key(), all);
  } else if (here.is_array()) {
    for (std::size_t i = 0; i < here.size(); ++i) spoil(whole, at / i, all);
  }
}

void check_refuses_others(const SchemaShelf& shelf, const std::string& id, const Json& json) {
  const Json less = shortened(json);
  CHECK(faults_of_value(shelf, id, less) == Faults{});
  std::vector<Spoiled> all;
  spoil(less, Json::json_pointer(), all);
  CHECK(all.size() > 10);
  for (const Spoiled& bad : all) {
    INFO(bad.place);
    CHECK(!faults_of_value(shelf, id, bad.json).empty());
  }
}

TEST_CASE("schemas: each is well formed, and every field has a description") {
  const SchemaShelf shelf = embedded_shelf();
  CHECK(shelf.size() >= 4);
  for (const auto& one : shelf) {
    const std::string& id = one.first;
    INFO(id);
    CHECK(id.starts_with("sgdsim/"));
    CHECK(faults_of_schema(shelf, id) == Faults{});
  }
}

TEST_CASE("schemas: numbers in outputs say their unit in the key, or count") {
  const std::vector<std::string> units = {"_B", "_ps", "_us", "_GBps", "_percent", "_sigma"};
  const std::vector<std::string> counts = {"ranks", "messages", "root", "seed"};
  const SchemaShelf shelf = embedded_shelf();
  for (const char* id : {"sgdsim/collective/1", "sgdsim/list/1"})
    for (const auto& property : shelf.at(id)["properties"].items()) {
      const std::string& key = property.key();
      const Json& field = property.value();
      const std::string type = field.value("type", "");
      const Json& number = type == "array" ? field["items"] : field;
      if (number.value("type", "") != "integer" && number.value("type", "") != "number") continue;
      INFO(key);
      const bool has_unit = std::any_of(units.begin(), units.end(),
                                        [&](const auto& unit) { return key.ends_with(unit); });
      CHECK((has_unit || std::find(counts.begin(), counts.end(), key) != counts.end()));
    }
}

TEST_CASE("schemas: every JSON file that ships fits its schema") {
  const SchemaShelf shelf = embedded_shelf();
  std::size_t files = 0;
  for (const char* room : {"topologies", "traces", "models", "app/experiments", "app/sweeps",
                           "app/goodput_questions"}) {
    const std::filesystem::path root = std::filesystem::path(SGDSIM_SOURCE_DIR) / room;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".json") continue;
      ++files;
      INFO(entry.path().string());
      const Json json = Json::parse(read_text(entry.path().string()));
      CHECK(faults_of_value(shelf, schema_of(json), json) == Faults{});
    }
  }
  CHECK(files >= 12);
}

TEST_CASE("schemas: what the program prints fits its schema") {
  const std::string cost = " --alpha '1 us' --beta '1 ns/B'";
  const std::string box = " -c topologies/data/dgx_h100_4.json";
  struct Row {
    std::string command;
    std::string schema;
  };
  const std::vector<Row> rows = {
      {"collective -p 4 -n '1 MB'" + cost, "sgdsim/collective/1"},
      {"collective -p 1 -n '1 MB'" + cost, "sgdsim/collective/1"},
      {"collective -p 4 -n 0B" + cost, "sgdsim/collective/1"},
      {"collective -p 4 -n '1 MB' -n '3 KB'" + cost, "sgdsim/collective/1"},
      {"collective -a lp -p 4 -n '1 MB' --block '64 KiB' --root 0" + cost, "sgdsim/collective/1"},
      {"collective -a lp -p 4 -n '1 MB' --option duplex=link --option gamma=overlap" + cost,
       "sgdsim/collective/1"},
      {"collective -p 3 -n '1 MB' --option chunks=fractional" + cost, "sgdsim/collective/1"},
      {"collective -p 2 -n '1 MB' --start '0 us,5 us' --jitter 0.1 --seed 7" + cost,
       "sgdsim/collective/1"},
      {"collective -a double_binary_tree -p 4 -n '1 MB' --fidelity closed_form" + cost,
       "sgdsim/collective/1"},
      {"collective -a auto -n '1 MB'" + box, "sgdsim/collective/1"},
      {"collective -a nccl -n '1 MB'" + box, "sgdsim/collective/1"},
      {"collective -a nccl -p 8 --op reduce_scatter -n '1 MB' --option nvls=on" + box,
       "sgdsim/collective/1"},
      {"collective --sweep -a all -p 2..8 -n '1 KiB..1 MiB'" + box, "sgdsim/collective-sweep/1"},
      {"collective --sweep -a ring,auto,nccl -n '1 KiB..1 MiB'" + box, "sgdsim/collective-sweep/1"},
      {"collective --sweep -a lp,torus_ring,nccl --op broadcast --block '1 KB' -p 1,8 -n 1MB" + box,
       "sgdsim/collective-sweep/1"},
      {"collective -a ring -n '1 MB' --fidelity packet --transport ndp" + box,
       "sgdsim/collective/1"},
      {"traffic app/flows/incast_4.csv -c topologies/data/mgwfbp_paper_10gbe.json --fidelity "
       "packet "
       "--transport 'mlt loss_bound=0.2'",
       "sgdsim/completion/1"},
      {"traffic app/flows/incast_4.csv -c topologies/data/mgwfbp_paper_10gbe.json",
       "sgdsim/completion/1"},
      {"run app/experiments/bert_base_10gbe.json --fidelity packet", "sgdsim/result/1"},
      {"model show deepseek_v3", "sgdsim/model-show/1"},
      {"model laws llama3.1_8b --tokens 15T", "sgdsim/model-laws/1"},
      {"model show mixtral_8x7b --layout 'tp2 pp4 vp2 ep4 dp4 ga8 zero2 sp recompute=full'",
       "sgdsim/model-show/1"},
      {"layout llama3.1_8b --gpus 8" + box, "sgdsim/layouts/1"},
      {"layout deepseek_v3 --gpus 512 --lines 2" + box, "sgdsim/layouts/1"},
      {"layout mixtral_8x7b --layout 'pp8 ep8 dp8 ga16 zero1'" + box, "sgdsim/layouts/1"},
      {"goodput app/goodput_questions/llama3_405b.json --runs 50 --set formula=rsc",
       "sgdsim/goodput/1"},
      {"goodput app/goodput_questions/memory_copies.json --runs 50", "sgdsim/goodput/1"},
      {"goodput app/goodput_questions/resnet50_degraded.json --runs 50", "sgdsim/goodput/1"},
      {"diagnose tests/data/slow_host.json.gz --names tests/data/slow_host_names.csv --layers 32",
       "sgdsim/diagnosis/1"},
      {"compare tests/data/slow_host.json.gz tests/data/usual_host.json.gz", "sgdsim/comparison/1"},
      {"run app/experiments/googlenet_k80.json --fidelity flow", "sgdsim/result/1"},
      {"run app/experiments/resnet50_ddp_straggler.json --set warm_up=0", "sgdsim/result/1"},
      {"run tests/data/kineto.json", "sgdsim/result/1"},
      {"plan app/experiments/googlenet_k80.json", "sgdsim/plan/1"},
      {"advise tests/data/kineto.json", "sgdsim/advice/1"},
      {"advise resnet50_v100 -c topologies/data/25gbe_16.json --set cluster.nodes=4",
       "sgdsim/advice/1"},
      {"fit tests/data/nccl_tests.log", "sgdsim/fit/1"},
      {"fit tests/data/measurement.json --from-collective stated", "sgdsim/fit/1"},
      {"layout llama3.1_8b --layout 'tp2 pp4 dp4 ga16 zero1 sp' --fidelity message --tokens 15T" +
           box,
       "sgdsim/layouts/1"},
      {"layout llama3.1_8b --layout 'tp8 dp2 ga1 zero1 sp' --fidelity flow --sequence 1024 "
       "--global-batch 2 -a ring" +
           box,
       "sgdsim/layouts/1"},
      {"layout llama3.1_8b --axis 'layout=tp8 dp4 zero1'" + box, "sgdsim/layout-point/1"},
      {"goodput app/goodput_questions/llama3_405b.json --runs 20 --axis nodes=2000",
       "sgdsim/goodput-point/1"},
      {"list", "sgdsim/list/1"},
      {"list algorithms", "sgdsim/list/1"},
  };
  const SchemaShelf shelf = embedded_shelf();
  for (const Row& row : rows) {
    INFO(row.command);
    const Ran ran = run_shell_line("sgdsim " + row.command + " --format json");
    REQUIRE(ran.exit_code == 0);
    const Json json = Json::parse(ran.out);  // one object, and nothing after it
    CHECK(schema_of(json) == row.schema);
    CHECK(faults_of_value(shelf, row.schema, json) == Faults{});
    const std::vector<std::string> of_others = {"sgdsim/list/1", "sgdsim/goodput/1",
                                                "sgdsim/goodput-point/1"};
    if (std::find(of_others.begin(), of_others.end(), row.schema) == of_others.end())
      check_refuses_others(shelf, row.schema, json);
  }
}

TEST_CASE("schemas: points of a sweep, with a result and without") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/points.jsonl";
  const Ran ran =
      run_sgdsim({"sweep", "resnet50_v100", "-c", "topologies/data/25gbe_16.json", "--axis",
                  "strategy=wfbp,ddp", "--axis", "cluster.nodes=2,16777217", "--out", out});
  CHECK(ran.exit_code == 1);
  std::istringstream lines(read_text(out));
  const SchemaShelf shelf = embedded_shelf();
  std::size_t failed = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    failed += json.contains("error") ? 1U : 0U;
    if (!json.contains("error")) {
      check_refuses_others(shelf, "sgdsim/point/1", json);
      Json both = json;
      both["error"] = "none";
      CHECK(!faults_of_value(shelf, "sgdsim/point/1", both).empty());
      Json half = json;
      half["metrics"].erase("iteration_us");
      CHECK(!faults_of_value(shelf, "sgdsim/point/1", half).empty());
    } else {
      CHECK(faults_of_value(shelf, "sgdsim/point/1", json) == Faults{});
      Json neither = json;
      neither.erase("error");
      CHECK(!faults_of_value(shelf, "sgdsim/point/1", neither).empty());
    }
  }
  CHECK(failed == 2);
}

TEST_CASE("schemas: what an import writes is a cluster") {
  const Ran ran = run_sgdsim({"import", "nccl-topology", "tests/data/nccl_regular.xml"});
  REQUIRE(ran.exit_code == 0);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/cluster/1", Json::parse(ran.out)) == Faults{});
}

TEST_CASE("schemas: what an import of a profile writes is a trace and a case") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string trace = folder.name() + "/trace.json";
  const std::string one = folder.name() + "/case.json";
  const Ran ran =
      run_sgdsim({"import", "kineto", "tests/data/kineto.json", "--out", trace, "--case", one});
  REQUIRE(ran.exit_code == 0);
  const SchemaShelf shelf = embedded_shelf();
  CHECK(faults_of_value(shelf, "sgdsim/trace/1", Json::parse(read_text(trace))) == Faults{});
  CHECK(faults_of_value(shelf, "sgdsim/case/1", Json::parse(read_text(one))) == Faults{});
}

TEST_CASE("schemas: `sgdsim schema` prints what is embedded") {
  for (const auto& one : embedded_shelf()) {
    const std::string& id = one.first;
    INFO(id);
    const std::string name = id.substr(7, id.rfind('/') - 7);
    const Ran ran = run_sgdsim({"schema", name});
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out) == one.second);
  }
}

// The checker itself, on invented schemas: each row breaks one keyword, and its twin does not.
TEST_CASE("schemas: the checker finds what is wrong and nothing else") {
  struct Row {
    const char* schema;
    const char* good;
    const char* bad;
  };
  const std::vector<Row> rows = {
      {R"({"type": "integer"})", "2.0", "2.5"},
      {R"({"type": "string"})", R"("a")", "1"},
      {R"({"type": "boolean"})", "true", "0"},
      {R"({"type": ["string", "null"]})", "null", "0"},
      {R"({"const": "a"})", R"("a")", R"("b")"},
      {R"({"enum": [1, "a"]})", R"("a")", "2"},
      {R"({"minimum": 1})", "1", "0.5"},
      {R"({"maximum": 1})", R"("5")", "1.5"},
      {R"({"multipleOf": 2})", "4", "3"},
      {R"({"pattern": "^[^\\u0000-\\u001f]*$"})", R"("ok")", R"("a\nb")"},
      {R"({"minLength": 2})", R"("ab")", R"("ä")"},
      {R"({"maxLength": 1})", R"("ä")", R"("ab")"},
      {R"({"minItems": 1})", "[1]", "[]"},
      {R"({"maxItems": 1})", "[1]", "[1, 2]"},
      {R"({"items": {"type": "integer"}})", "[1, 2]", "[1, true]"},
      {R"({"contains": {"const": 1}, "maxContains": 1})", "[1, 2]", "[1, 1]"},
      {R"({"minProperties": 1})", R"({"a": 1})", "{}"},
      {R"({"required": ["a"]})", R"({"a": 1})", R"({"b": 1})"},
      {R"({"properties": {"a": {"const": 1}}, "additionalProperties": false})", R"({"a": 1})",
       R"({"b": 1})"},
      {R"({"additionalProperties": {"const": 1}})", R"({"b": 1})", R"({"b": 2})"},
      {R"({"propertyNames": {"enum": ["a"]}})", R"({"a": 2})", R"({"b": 2})"},
      {R"({"anyOf": [{"const": 1}, {"const": 2}]})", "2", "3"},
      {R"({"oneOf": [{"minimum": 1}, {"minimum": 2}]})", "1", "2"},
      {R"({"allOf": [{"minimum": 1}, {"maximum": 2}]})", "2", "3"},
      {R"({"not": {"const": 1}})", "2", "1"},
      {R"({"if": {"const": 1}, "then": {"const": 2}, "else": {"const": 3}})", "3", "1"},
      {R"({"$defs": {"a": {"const": 1}}, "$ref": "#/$defs/a"})", "1", "2"},
      {R"({"$ref": "../other/1"})", "7", "8"},
      {R"({"$ref": "../more/1#/$defs/a"})", "9", "8"},
  };
  for (const Row& row : rows) {
    INFO(row.schema);
    const SchemaShelf shelf = {{"test/this/1", Json::parse(row.schema)},
                               {"test/other/1", Json::parse(R"({"const": 7})")},
                               {"test/more/1", Json::parse(R"({"$defs": {"a": {"const": 9}}})")}};
    CHECK(faults_of_value(shelf, "test/this/1", Json::parse(row.good)) == Faults{});
    CHECK(faults_of_value(shelf, "test/this/1", Json::parse(row.bad)).size() == 1);
  }
  const std::string head =
      R"({"$schema": "", "$id": "a", "title": "", "description": "", "type": "object", )";
  const std::vector<std::pair<std::string, std::string>> broken = {
      {R"("additionalProperties": false, "uniqueItems": true})", ": unknown keyword uniqueItems"},
      {R"("additionalProperties": false, "$ref": "#/$defs/b"})",
       ": refers to nothing: \"#/$defs/b\""},
      {R"("properties": {}})", ": does not say whether other fields are allowed"},
      {R"("additionalProperties": false, "properties": {"a": {"const": 1}}})",
       ": a has no description"},
  };
  for (const auto& [text, fault] : broken)
    CHECK(faults_of_schema({{"a", Json::parse(head + text)}}, "a") == Faults{fault});
}

}  // namespace
}  // namespace sgdsim
