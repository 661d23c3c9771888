// Trace files: what is wrong is refused with exactly the sentence that stands beside it, what is
// right reads back as it was written, and the schema knows the fields that the reader knows.
#include "traces/trace_file.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <set>

#include "sim/core/error.h"
#include "tests/repository.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

std::vector<std::filesystem::path> json_files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(repository / folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Trace trace_of(const std::string& text) {
  return read_trace(Document::parse(text, "trace.json").root());
}

std::string refusal_of_trace(const std::string& text, const std::string& file) {
  return refusal_of([&] { read_trace(Document::parse(text, file).root()); });
}

TEST_CASE("trace files: what is wrong is refused with a sentence") {
  const auto files = json_files_in("tests/bad/trace");
  CHECK(files.size() >= 45);
  for (const auto& file : files) {
    INFO(file.filename().string());
    auto sentence = file;
    sentence.replace_extension(".txt");
    std::string expected = read_text(sentence.string());
    expected.pop_back();  // the newline
    CHECK(refusal_of_trace(read_text(file.string()), file.filename().string()) == expected);
  }
}

TEST_CASE("trace files: too many layers are refused before they are read") {
  std::string text = R"({"layers": [0)";
  for (int i = 0; i < 1'000'000; ++i) text += ",0";
  CHECK(refusal_of_trace(text + "]}", "big.json") ==
        "big.json: /layers: expected at most 1000000 layers, got 1000001");
}

TEST_CASE("trace files: a hundred thousand layers are read in linear time") {
  constexpr int count = 100'000;  // under a second; half a minute if reading were quadratic
  std::string text = R"({"layers": [)";
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") +
            (R"({"name": "l)" + std::to_string(i) + R"(", "parameters": 1, "backward": "1 us"})");
  const Trace trace = trace_of(text + "]}");
  CHECK(trace.parameters() == count);
  CHECK(trace.backward() == Duration::us(count));
}

TEST_CASE("trace files: every field arrives where it belongs") {
  const Trace trace = trace_of(R"({
    "schema": "sgdsim/trace/1", "name": "n", "model": "m", "framework": "f", "device": "d",
    "date": "2020", "source": "s", "derived": true, "batch": 64, "load": "1 ms", "update": "2 ms",
    "bytes_per_parameter": 2, "notes": ["a", "b"],
    "layers": [
      {"name": "first", "parameters": 10, "forward": "1 us", "backward": "2 us", "ready": "90 us",
       "tensors": [8, 2]},
      {"name": "second", "parameters": 3, "gradient": "4 MB", "forward": "3 us",
       "backward": "461.088 us", "ready": "90 us"},
      {"name": "pooling", "parameters": 0, "forward": "0 s", "backward": "0 s", "ready": "0 s"}]})");
  CHECK(trace.name == "n");
  CHECK(trace.model == "m");
  CHECK(trace.framework == "f");
  CHECK(trace.device == "d");
  CHECK(trace.date == "2020");
  CHECK(trace.source == "s");
  CHECK(trace.derived);
  CHECK(trace.batch == 64);
  CHECK(trace.load == Duration::ms(1));
  CHECK(trace.update == Duration::ms(2));
  CHECK(trace.notes == std::vector<std::string>{"a", "b"});
  CHECK(trace.has_ready);
  REQUIRE(trace.layers.size() == 3);
  CHECK(trace.layers[0].tensors == std::vector<int64_t>{8, 2});
  CHECK(trace.layers[0].gradient == Bytes(20));
  CHECK(trace.layers[1].gradient == Bytes(4'000'000));
  CHECK(trace.layers[1].backward == Duration::ps(461'088'000));
  CHECK(trace.parameters() == 13);
  CHECK(trace.gradient() == Bytes(4'000'020));
  CHECK(trace.forward() == Duration::us(4));
  CHECK(ready_times(trace)[0] == Duration::us(90));
}

// Layers of 1, 2 and 4 us of backward.
Trace three_layers(const std::string& fields) {
  std::string layers;
  for (const std::string backward : {"1 us", "2 us", "4 us"})
    layers += (layers.empty() ? "" : ",") +
              (R"({"name": "l", "parameters": 1, "backward": ")" + backward + R"("})");
  return trace_of("{" + fields + R"("layers": [)" + layers + "]}");
}

// Layers of 1, 2 and 4 us; the forward time of 14 us is divided as before and scaled with them.
TEST_CASE("trace files: compute_scale multiplies all that the device computes") {
  const auto with = [](const std::string& scale) {
    return three_layers(R"("forward": "14 us", "update": "3 us", "load": "5 us",)" + scale);
  };
  struct Row {
    std::string factor;
    int64_t unit_ns;  // of the first layer's backward time
  };
  const std::vector<Row> rows = {{"1", 1000}, {"2", 2000}, {"0.5", 500}, {"1.25", 1250}};
  for (const Row& row : rows) {
    INFO(row.factor);
    const Trace trace = with(R"("compute_scale": )" + row.factor + ",");
    for (const std::size_t i : {0U, 1U, 2U}) {
      CHECK(trace.layers[i].backward == Duration::ns(row.unit_ns << i));
      CHECK(trace.layers[i].forward == Duration::ns(2 * row.unit_ns << i));
      CHECK(trace.layers[i].gradient == Bytes(4));
    }
    CHECK(trace.update == Duration::ns(3 * row.unit_ns));
    CHECK(trace.load == Duration::us(5));
  }
  CHECK(with("") == with(R"("compute_scale": 1,)"));
  CHECK(refusal_of_trace(R"({"compute_scale": 0, "layers": []})", "f") ==
        "f: /compute_scale: expected a number from 1e-06 to 1e+06, got 0");
  const Trace ready = trace_of(R"({"compute_scale": 3, "layers": [
    {"name": "a", "parameters": 1, "forward": "1 us", "backward": "1 us", "ready": "3 us"}]})");
  CHECK(ready.layers[0].ready == Duration::us(9));
  CHECK(trace_of(to_text(ready)) == ready);
}

TEST_CASE("trace files: forward is divided in proportion to backward, to the picosecond") {
  struct Row {
    std::string reason;
    std::string fields;
    std::vector<int64_t> forward_ps;
  };
  const std::vector<Row> rows = {
      {"a total of 14 us", R"("forward": "14 us", )", {2'000'000, 4'000'000, 8'000'000}},
      {"10 ps: the ends are 10/7, 30/7 and 10", R"("forward": "10 ps", )", {1, 3, 6}},
      {"nothing", R"("forward": "0 ps", )", {0, 0, 0}},
      {"not given: half of backward", "", {500'000, 1'000'000, 2'000'000}},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Trace trace = three_layers(row.fields);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(trace.layers[i].forward == Duration::ps(row.forward_ps[i]));
    CHECK(trace.notes.empty() == !row.fields.empty());
  }
  CHECK(three_layers("").notes[0] ==
        "the forward time is not known: half of the backward time is assumed");
  CHECK(three_layers("").name == "trace");
}

TEST_CASE("trace files: what is written reads back") {
  const std::vector<std::string> texts = {
      R"({"layers": [{"name": "a", "parameters": 0, "backward": "0 s"}]})",
      R"({"batch": 1, "derived": true, "notes": ["b", "c \"d\""], "forward": "7 ps", "load": "1 ps",
          "update": "3600 s", "source": "e", "layers": [
          {"name": "g", "parameters": 5, "gradient": "1 B", "backward": "3 ps", "tensors": [2, 3]},
          {"name": "h", "parameters": 1000000000000, "backward": "461.088 us"}]})",
      R"({"layers": [{"name": "\u00e9", "parameters": 1, "backward": "1 us", "forward": "0 s",
                      "ready": "1.000001 us"}]})"};
  for (const std::string& text : texts) {
    INFO(text);
    const Trace trace = trace_of(text);
    CHECK(trace_of(to_json(trace).dump()) == trace);
    CHECK(trace_of(to_text(trace)) == trace);
    CHECK(to_text(trace_of(to_text(trace))) == to_text(trace));
  }
}

TEST_CASE("trace files: an experiment may hold one inline, and errors say where") {
  const Document document =
      Document::parse(R"({"trace": {"layers": [{"name": "a"}]}})", "experiment.json");
  CHECK_THROWS_WITH_AS(read_trace(document.root().child("trace")),
                       "experiment.json: /trace/layers/0: the field \"parameters\" is missing",
                       InputError);
}

// ---- the schema

std::set<std::string> names_after(const std::string& error) {
  const std::string mark = "known: ";
  std::set<std::string> names;
  std::size_t from = error.find(mark);
  REQUIRE(from != std::string::npos);
  from += mark.size();
  while (true) {
    const std::size_t end = error.find(", ", from);
    names.insert(error.substr(from, end - from));
    if (end == std::string::npos) return names;
    from = end + 2;
  }
}

std::set<std::string> described_in(const Value& properties) {
  std::set<std::string> names;
  for (const auto& property : properties.entries()) {
    names.insert(property.first);
    CHECK_MESSAGE(property.second.json().contains("description"), property.first);
  }
  return names;
}

TEST_CASE("trace files: the schema lists the fields that the reader knows, and describes each") {
  const Json json = schema_of_traces();
  const Value schema(json, "schema", "");
  const std::string layer = R"("name": "a", "parameters": 1, "backward": "1 us")";
  CHECK(described_in(schema.child("properties")) ==
        names_after(refusal_of_trace(R"({"no such field": 1, "layers": [{)" + layer + "}]}", "f")));
  CHECK(
      described_in(schema.child("properties").child("layers").child("items").child("properties")) ==
      names_after(refusal_of_trace(R"({"layers": [{"no such field": 1, )" + layer + "}]}", "f")));
}

}  // namespace
}  // namespace sgdsim
