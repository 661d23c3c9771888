// One description of a field: what the reader takes, the schema takes, and the other way round.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/compression/registry.h"
#include "models/learning/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "models/traffic/registry.h"
#include "models/transport/registry.h"
#include "models/worker/worker.h"
#include "sim/core/part.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "topologies/registry.h"

using namespace sgdsim;

namespace {

enum class Colour : uint8_t { red, green };
constexpr Named<Colour, 2> colours{{{"red", Colour::red}, {"green", Colour::green}}};
const auto& names_of(Colour) { return colours; }

struct Inner {
  double part = 0.5;
};
Fields fields_of(Inner& inner) { return {Field("part", inner.part, "a part").from(0, 1)}; }

struct Everything {
  bool flag = false;
  bool second = false;
  int whole = 3;
  uint32_t count = 1;
  std::string text;
  Duration time = Duration::us(1);
  Bytes size{1000};
  Bandwidth rate = Bandwidth::Gbps(10);
  PerByte per_byte = PerByte::ps(80);
  Colour colour = Colour::red;
  std::optional<Bytes> maybe;
  std::vector<double> list;
  std::vector<double> filled{1};
  std::vector<int> marks{1};
  std::string word = "a";
  std::vector<Inner> records;
  Inner inner;
  std::optional<double> left;
  std::optional<double> right;
};

Fields fields_of(Everything& o) {
  return Fields{{"flag", o.flag, "a flag"},
                Field("second", o.second, "one of two").one_of({"no", "yes"}),
                Field("whole", o.whole, "a whole number").from(2, 5),
                Field("count", o.count, "a count"),
                {"text", o.text, "a text"},
                {"time", o.time, "a time"},
                {"size", o.size, "a size"},
                {"rate", o.rate, "a bandwidth"},
                {"per_byte", o.per_byte, "a time per byte"},
                {"colour", o.colour, "a colour"},
                {"maybe", o.maybe, "a size that need not be there"},
                Field("list", o.list, "numbers").from(-1, 1).or_one(),
                Field("filled", o.filled, "numbers").filled("number"),
                Field("marks", o.marks, "one or two").entries(1, 2, "marks"),
                Field("word", o.word, "a text that is not empty").filled("letter"),
                {"records", o.records, "a list of records"},
                {"inner", o.inner, "a record"},
                Field("left", o.left, "left").from(0, 1),
                Field("right", o.right, "right").from(0, 1)}
      .at_most_one({"left", "right"}, "left or right, not both");
}

// As answers are described.
struct Told {
  int number = 0;
  std::string text;
  std::vector<Inner> records;
  std::optional<double> share;
  std::optional<double> end;
  bool is_late = false;
  std::vector<int> pair;
};

Fields fields_of(const Told& told) {
  return {answer_kind("test/told/1"),
          Field("twice", 2 * told.number, "what follows").at_least(-4),
          {"text", told.text, "a text"},
          Field("note", told.text, "a text that need not be there").if_any(),
          {"records", told.records, "a list of records"},
          {"share", told.share, "a number that need not be there"},
          Field("end", told.end, "a number that is null where it is not there").or_null(),
          Field("is_late", told.is_late, "only told if so").if_any(),
          Field("pair", told.pair, "two numbers, or nothing").entries(2, 2, "numbers").if_any()};
}

bool fits(const Json& schema, const Json& value) {
  return faults_of_value({{"test/this/1", schema}}, "test/this/1", value).empty();
}

}  // namespace

TEST_CASE("fields: reader and schema take the same") {
  const Json schema = schema_of_record<Everything>();
  for (const char* good : {"{}",
                           R"({"flag": true})",
                           R"({"second": "yes"})",
                           R"({"whole": 2})",
                           R"({"whole": 5})",
                           R"({"count": 4294967295})",
                           R"({"text": ""})",
                           R"({"time": "0 s"})",
                           R"({"time": "1.5e3 us"})",
                           R"({"time": ".5 µs"})",
                           R"({"time": "2.min"})",
                           R"({"size": "64 KiB"})",
                           R"({"rate": "10 Gbit/s"})",
                           R"({"per_byte": "0.1 ns/B"})",
                           R"({"colour": "green"})",
                           R"({"maybe": "1B"})",
                           R"({"list": []})",
                           R"({"list": 1})",
                           R"({"list": [-1, 0.5, 1]})",
                           R"({"filled": [7]})",
                           R"({"records": [{}, {"part": 1}]})",
                           R"({"inner": {"part": 0}})",
                           R"({"left": 1})",
                           R"({"right": 0})"}) {
    INFO(good);
    const Json json = Json::parse(good);
    CHECK(refusal_of([&] { read_record<Everything>(Value(json, "f", "")); }) == "");
    CHECK(fits(schema, json));
  }
  const std::vector<std::pair<const char*, const char*>> bad = {
      {R"([])", "f: /: expected an object, got an array"},
      {R"({"flga": true})", "f: /: unknown field \"flga\" (did you mean \"flag\"?)"},
      {R"({"flag": 1})", "f: /flag: expected true or false, got the number 1"},
      {R"({"second": "y"})", "f: /second: unknown second \"y\" (did you mean \"yes\"?)"},
      {R"({"second": true})", "f: /second: expected a string, got a boolean"},
      {R"({"whole": 1})", "f: /whole: expected a whole number from 2 to 5, got the number 1"},
      {R"({"whole": 6})", "f: /whole: expected a whole number from 2 to 5, got the number 6"},
      {R"({"whole": 2.5})", "f: /whole: expected a whole number from 2 to 5, got the number 2.5"},
      {R"({"whole": "3"})", "f: /whole: expected a whole number"},
      {R"({"whole": null})", "f: /whole: expected a whole number from 2 to 5, got null"},
      {R"({"count": -1})", "f: /count: expected a whole number from 0 to 4294967295"},
      {R"({"text": 1})", "f: /text: expected a string, got the number 1"},
      {R"({"time": 1})", "f: /time: expected a time with a unit"},
      {R"({"time": "1"})", "f: /time: expected a time with a unit"},
      {R"({"time": "-1 s"})", "which is negative"},
      {R"({"time": "1 KB"})", "f: /time: expected a time with a unit"},
      {R"({"time": "nan s"})", "f: /time: expected a time with a unit"},
      {R"({"size": "1 kB"})", "f: /size: expected a size with a unit"},
      {R"({"size": "1  KB"})", "f: /size: expected a size with a unit"},
      {R"({"rate": "10 G"})", "f: /rate: expected a bandwidth with a unit"},
      {R"({"per_byte": "1 ns"})", "f: /per_byte: expected a time per byte with a unit"},
      {R"({"colour": "gren"})",
       "f: /colour: unknown colour \"gren\" (did you mean \"green\"?); known: red, green"},
      {R"({"maybe": null})", "f: /maybe: expected a quantity with a unit"},
      {R"({"list": [2]})", "f: /list/0: expected a number from -1 to 1, got 2"},
      {R"({"list": "a"})", "f: /list: expected a number, got a string"},
      {R"({"filled": []})", "f: /filled: expected at least one number"},
      {R"({"marks": [1, 2, 3]})", "f: /marks: expected 1 to 2 marks, got 3"},
      {R"({"word": ""})", "f: /word: expected some text, got an empty string"},
      {R"({"records": [{"part": 2}]})", "f: /records/0/part: expected a number from 0 to 1"},
      {R"({"records": [{"prat": 1}]})", "f: /records/0: unknown field \"prat\""},
      {R"({"records": {}})", "f: /records: expected an array, got an object"},
      {R"({"inner": {"part": -1}})", "f: /inner/part: expected a number from 0 to 1"},
      {R"({"left": 1, "right": 1})", "f: /: left or right, not both"},
  };
  for (const auto& [text, sentence] : bad) {
    const std::string given = text;
    INFO(given);
    const Json json = Json::parse(given);
    const std::string refusal = refusal_of([&] { read_record<Everything>(Value(json, "f", "")); });
    CHECK_MESSAGE(refusal.find(sentence) != std::string::npos, refusal);
    CHECK(!fits(schema, json));
  }
  // Written, it reads back; a value that is not there is left out.
  Everything all;
  all.maybe = Bytes(7);
  all.records = {{0.25}};
  const Json json = to_json_by_fields(all);
  CHECK(!json.contains("left"));
  CHECK(json["maybe"] == "7 B");
  CHECK(json["colour"] == "red");
  CHECK(json["second"] == "no");
  CHECK(json["records"] == Json::parse(R"([{"part": 0.25}])"));
  CHECK(to_json_by_fields(read_record<Everything>(Value(json, "f", ""))) == json);
  CHECK(fits(schema, json));
}

namespace {

struct PartOfKind {
  std::string field;  // of an experiment, or what the part is of
  const PartText text;
  Json schema;
  std::function<void(const Value&)> read;
};

std::vector<PartOfKind> all_parts() {
  std::vector<PartOfKind> parts;
  const auto add = [&](const char* field, const std::vector<PartText>& texts, const Json& schema,
                       const std::function<void(const Value&)>& read) {
    for (const PartText& text : texts) parts.push_back({field, text, schema, read});
  };
  add("strategy", texts_of(strategies()), schema_of_strategies(),
      [](const Value& value) { read_strategy(value); });
  add("synchronization", texts_of(synchronizations()), schema_of_synchronizations(),
      [](const Value& value) { read_synchronization(value); });
  add("transport", transport_texts(), schema_of_transports(),
      [](const Value& value) { read_transport(value, {}, 1); });
  add("task", texts_of(learning::tasks()), learning::schema_of_tasks(),
      [](const Value& value) { learning::read_task(value); });
  const auto trace = std::make_shared<Trace>();
  for (const int64_t bytes : {4000, 8}) trace->layers.emplace_back().gradient = Bytes(bytes);
  add("compression", texts_of(compressions()), schema_of_compressions(Json::object()),
      [trace](const Value& value) {
        const Json named = {{"name", value.json()}};
        Object fields(value.json().is_string() ? Value(named, value.file(), "") : value);
        read_compression(fields, {*trace, 4, PairCost()});
        fields.done();
      });
  return parts;
}

}  // namespace

TEST_CASE("fields: limits beyond all whole numbers are the largest and the least") {
  double any = 0;
  const Field wide = Field("any", any, "a number").from(-1e24, 1e24);
  CHECK(wide.least() == INT64_MIN);
  CHECK(wide.most() == INT64_MAX);
  CHECK(wide.least_number() == -1e24);
  CHECK(wide.most_number() == 1e24);
  const Field exact = Field("any", any, "a number").from(0, INT64_MAX - 1);
  CHECK(exact.most() == INT64_MAX - 1);
}

TEST_CASE("fields: every option of every part is in the schema and in the list") {
  const Json listed = Json::parse(call_sgdsim({"list", "--format", "json"}).out);
  std::size_t options = 0;
  for (const PartOfKind& part : all_parts()) {
    INFO(part.field << " " << part.text.name);
    CHECK(refusal_of([&] { part.read(Value(Json(part.text.name), "f", "")); }) == "");
    CHECK(fits(part.schema, part.text.name));
    for (const OptionText& option : part.text.options.texts) {
      ++options;
      INFO(option.name);
      CHECK(option.says.size() > 3);
      const Json misspelt = {{"name", part.text.name}, {option.name + "x", 1}};
      CHECK(refusal_of([&] { part.read(Value(misspelt, "f", "")); }).find("unknown field") !=
            std::string::npos);
      CHECK(!fits(part.schema, misspelt));
      for (const Json& wrong :
           {Json(), Json(-1e9), Json("no such"), Json::parse(R"({"a": [1]})")}) {
        const Json given = {{"name", part.text.name}, {option.name, wrong}};
        INFO(given.dump());
        // Texts that a schema cannot know (sets of letters, ranks) are left to the reader.
        const bool is_read = refusal_of([&] { part.read(Value(given, "f", "")); }).empty();
        CHECK(!is_read);
        if (option.name != "parts") CHECK(!fits(part.schema, given));
      }
      // The default, written out, is taken.
      const Json usual = Json::parse(option.usual, nullptr, false);
      const Json given = {{"name", part.text.name},
                          {option.name, usual.is_discarded() ? Json(option.usual) : usual}};
      INFO(given.dump());
      CHECK(refusal_of([&] { part.read(Value(given, "f", "")); }).empty() ==
            fits(part.schema, given));
    }
    const Json unknown = part.text.name + "x";
    CHECK(refusal_of([&] { part.read(Value(unknown, "f", "")); }) != "");
    CHECK(!fits(part.schema, unknown));
  }
  CHECK(options > 90);
  for (const char* kind : {"strategies", "synchronizations", "transports", "tasks", "compressions",
                           "traffic", "shapes"}) {
    INFO(kind);
    std::size_t told = 0;
    for (const Json& entry : listed[kind])
      for (const Json& option : entry.value("options", Json::array())) {
        ++told;
        CHECK(option["meaning"].get<std::string>().size() > 3);
      }
    CHECK(told > 3);
  }
  const std::string table = call_sgdsim({"list", "strategies"}).out;
  CHECK(table.find("first_bucket: bytes at which the first bucket is closed") != std::string::npos);
  CHECK(table.find("default: 1 MiB") != std::string::npos);
}

TEST_CASE("fields: of an answer all is written but what need not be there") {
  const Json schema = schema_of_record<Told>();
  const std::vector<std::pair<Told, const char*>> rows = {
      {{}, R"({"schema": "test/told/1", "twice": 0, "text": "", "records": [], "end": null})"},
      {{.number = -2,
        .text = "a",
        .records = {{}},
        .share = 0,
        .end = 1,
        .is_late = true,
        .pair = {1, 2}},
       R"({"schema": "test/told/1", "twice": -4, "text": "a", "note": "a",
           "records": [{"part": 0.5}], "share": 0.0, "end": 1.0, "is_late": true, "pair": [1, 2]})"}};
  for (const auto& [told, text] : rows) {
    const Json json = to_json_by_fields(told);
    CHECK(json == Json::parse(text));
    CHECK(fits(schema, json));
    for (const auto& one : json.items()) {
      const std::string& name = one.key();
      INFO(name);
      Json less = json;
      less.erase(name);
      const Json& needed = schema["required"];
      CHECK(fits(schema, less) == (std::find(needed.begin(), needed.end(), name) == needed.end()));
    }
  }
  CHECK(schema["required"] == Json({"schema", "twice", "text", "records", "end"}));
  const Json whole = to_json_by_fields(rows[1].first);
  const std::vector<std::pair<const char*, Json>> bad = {{"schema", "test/told/2"},
                                                         {"twice", -5},
                                                         {"text", nullptr},
                                                         {"share", nullptr},
                                                         {"is_late", false},
                                                         {"pair", Json::array({1})},
                                                         {"more", 1}};
  for (const auto& one : bad) {
    INFO(one.first);
    Json changed = whole;
    changed[one.first] = one.second;
    CHECK(!fits(schema, changed));
  }
}
