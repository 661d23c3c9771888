// Profiles that are packed, damaged or hostile: what is refused with which sentence, what is
// counted, and that a file without an end never gives wrong figures.
#include <doctest/doctest.h>

#include "sim/core/byte_source.h"
#include "tests/kineto_reading.h"
#include "tests/run_program.h"
#include "traces/kineto/event_fields.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

using namespace profiler;

// ---- bytes and words

TEST_CASE("kineto: microseconds are read to the nanosecond") {
  struct Row {
    const char* text;
    std::optional<int64_t> ns;
  };
  for (const Row& row : std::vector<Row>{{"4458676416788.066", 4458676416788066},
                                         {"1711964646000000.123", 1711964646000000123},
                                         {"7", 7000},
                                         {"0.5", 500},
                                         {"0.0004", 0},
                                         {"0.0005", 1},
                                         {"2.9996", 3000},
                                         {"-1.5", -1500},
                                         {"1.5e3", 1500000},
                                         {"", std::nullopt},
                                         {".", std::nullopt},
                                         {"-", std::nullopt},
                                         {"1.2.3", std::nullopt},
                                         {"NaN", std::nullopt},
                                         {"9e18", std::nullopt},
                                         {"99999999999999999999", std::nullopt},
                                         {"2300000000000000", std::nullopt}}) {
    INFO(row.text);
    CHECK(nanoseconds(row.text) == row.ns);
  }
}

std::string all_bytes(ByteSource& source) {
  std::string all;
  for (auto piece = source.next(); !piece.empty(); piece = source.next()) all += piece;
  return all;
}

TEST_CASE("kineto: bytes of plain files and of gzip, whole or not") {
  std::string text(700'000, 'x');
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
  const std::string packed = packed_as_gzip(text);
  struct Row {
    const char* reason;
    std::string bytes;
    std::string expected;
    bool damaged;
  };
  for (const Row& row : std::vector<Row>{
           {"plain", text, text, false},
           {"empty", "", "", false},
           {"the mark of UTF-8", "\xef\xbb\xbf" + text, text, false},
           {"the same packed", packed_as_gzip("\xef\xbb\xbf" + text), text, false},
           {"gzip", packed, text, false},
           {"two files one after another", packed + packed, text + text, false},
           {"filled up with zeros", packed + std::string(600'000, '\0'), text, false},
           {"nothing packed", packed_as_gzip(""), "", false},
           {"the sum of the end is missing", packed.substr(0, packed.size() - 4), text, true},
           {"something else behind", packed + "rest", text, true}}) {
    INFO(row.reason);
    ByteSource source(row.bytes, "f");
    CHECK((all_bytes(source) == row.expected));
    CHECK(source.is_damaged() == row.damaged);
  }
  ByteSource half(packed.substr(0, packed.size() / 2), "f");
  CHECK(text.starts_with(all_bytes(half)));
  CHECK(half.is_damaged());
}

TEST_CASE("kineto: what is no JSON is refused with the byte") {
  struct Row {
    const char* text;
    const char* sentence;
  };
  const std::string deep = "{\"a\": " + std::string(70, '[');
  for (const Row& row : std::vector<Row>{
           {"", "f.json: is empty; expected a trace of PyTorch's profiler"},
           {"  \n ", "f.json: is empty; expected a trace of PyTorch's profiler"},
           {"x", "f.json: byte 1: expected \"{\", found \"x\""},
           {"{} {}", "f.json: byte 4: expected the end of the file, found \"{\""},
           {"{\"a\" 1}", "f.json: byte 6: expected \":\", found \"1\""},
           {"{\"a\": 1 \"b\": 2}", "f.json: byte 9: expected \",\" or \"}\", found \"\"\""},
           {"{\"a\": [1, 2}}", "f.json: byte 12: expected a value, found \"}\""},
           {"{\"a\": }", "f.json: byte 7: expected a value, found \"}\""},
           {"{1: 2}", "f.json: byte 2: expected a name in quotes, found \"1\""},
           {"{\"traceEvents\": {}}", "f.json: byte 17: expected \"[\", found \"{\""},
           {"{\"traceEvents\": [1]}", "f.json: byte 18: expected \"{\", found \"1\""},
           {deep.c_str(),
            "f.json: byte 70: expected values nested less than 64 levels deep, "
            "found \"[\""}}) {
    INFO(row.text);
    CHECK(refusal([&] { profile(row.text); }) == row.sentence);
  }
  CHECK(contains(refusal([] { profile("{\"traceEvents\": []}"); }),
                 "f.json: no training step in 0 events: expected ProfilerStep#N"));
  CHECK(contains(refusal([] { profile("[]"); }), "no training step"));
}

// What a machine that crashed leaves: zeros where nothing was written yet.
TEST_CASE("kineto: zeros are the end of a file, and no beginning") {
  const std::string zeros(1 << 20, '\0');
  CHECK(contains(refusal([&] { profile(zeros); }), "f.json: byte 1: expected JSON, which begins"));
  CHECK(contains(refusal([&] { profile(" \n" + zeros); }), "f.json: byte 3: expected JSON"));
  CHECK(
      contains(refusal([&] { profile(packed_as_gzip(zeros)); }), "f.json: byte 1: expected JSON"));
  // Blanks for ever are no beginning either.
  CHECK(contains(refusal([&] { profile(std::string(3 << 20, ' ') + "{}"); }), "expected JSON"));
  CHECK(contains(refusal([&] { profile("/*" + std::string(3 << 20, ' ')); }), "expected JSON"));
  const KinetoWriter writer;
  const std::string text = writer.text();
  // Behind the whole, between events, and within a text: what stands before counts.
  const std::size_t between = text.rfind("},\n") + 3;
  const std::size_t within = text.rfind("\"name\": \"") + 12;
  for (const auto& [reason, damaged] : std::vector<std::pair<std::string, std::string>>{
           {"behind", text + zeros},
           {"between", text.substr(0, between) + zeros},
           {"within", text.substr(0, within) + zeros}}) {
    const auto& reason_said = reason;
    INFO(reason_said);
    ByteSource source(damaged, "f.json");
    const ProfileRecords records = read_events(source, nullptr);
    CHECK(records.events > 0);
    CHECK(records.is_cut_off == (reason != "behind"));
  }
  // Single zeros within a text are control characters, as before.
  std::string dotted = text;
  dotted.insert(within, std::string("\0a\0", 3));
  ByteSource source(dotted, "f.json");
  CHECK(!read_events(source, nullptr).is_cut_off);
}

// A hole of 10 GB is read in no time.
TEST_CASE("kineto: 10 GB of zeros are refused at once") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string file = folder.name() + "/zeros.json";
  const Ran ran = run_shell_line("truncate -s 10G " + file +
                                 " && timeout 5 \"" SGDSIM_PROGRAM "\" import kineto " + file);
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.log, "byte 1: expected JSON, which begins with { or ["));
}

TEST_CASE("kineto: comments are blanks") {
  const KinetoWriter writer;
  std::string text = writer.text();
  const std::size_t brace = text.find('{');
  text.insert(brace + 1, "// first\n /* \"traceEvents\": 3, ** / */");
  text.insert(0, "/* a */\n// b\n");
  const std::size_t event = text.rfind("},\n") + 2;
  text.insert(event, " // an event\n");
  ByteSource source(text, "f.json");
  ByteSource plain(writer.text(), "f.json");
  CHECK(read_events(source, nullptr).events == read_events(plain, nullptr).events);
  CHECK(contains(refusal([] { profile("{\"a\": 1 / 2}"); }), "expected a value"));
}

// ---- damaged files

TEST_CASE("kineto: what cannot be used is counted by kind") {
  KinetoWriter writer;
  const auto event = [](const std::string& fields) {
    return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"args\": {\"stream\": 7}, " +
           fields + "},\n";
  };
  writer.more_events = event("\"ts\": 1") + event("\"ts\": 1, \"dur\": null") +
                       event("\"dur\": 1") + event("\"ts\": 1, \"dur\": -5") +
                       event("\"ts\": 1, \"dur\": \"x\"") + event("\"ts\": 1, \"ts\": 2") +
                       "{\"ph\": \"?\"},\n{\"name\": \"a\x01\x02\\u0041\\\"\"},\n" +
                       "{\"ph\": \"B\", \"args\": [{\"a\": [[]]}, true, null, -1.5e3]},\n";
  const Recording one = recording({writer});
  for (const char* warning :
       {"f.json: 2 events without a duration", "f.json: 1 events without a time",
        "f.json: 1 events that end before they begin",
        "f.json: 1 events whose duration is no number",
        "f.json: 1 events in which a field occurs twice", "f.json: 3 events of an unknown phase",
        "f.json: 2 control characters"}) {
    INFO(warning);
    CHECK(warns(one.warnings, warning));
  }
  CHECK(one.ready.front() == Duration::ns(writer.ready_ns(0)));
}

TEST_CASE("kineto: kernels without a launch, and launches without a kernel, are counted") {
  const KinetoWriter writer;
  const std::string text = writer.text();
  const auto changed = [&](const std::string& what, const std::string& instead) {
    std::string other = text;
    return profile(other.replace(other.rfind(what), what.size(), instead));
  };
  // The last one of the file is the optimizer's.
  const std::string kernel = "\"kernel\", \"name\": \"multi_tensor_apply_kernel\"";
  CHECK(warns(changed(kernel, "\"x\", \"name\": \"x\"").warnings,
              "1 launches whose kernel is missing"));
  CHECK(warns(changed("cudaLaunchKernel", "cudaEventRecord").warnings,
              "1 kernels and copies whose launch is missing"));
  CHECK(changed("schemaVersion", "schemaVersion").warnings.empty());
}

// Wherever a file ends, the answer is a refusal or the times of whole steps: all are alike here.
TEST_CASE("kineto: a file that ends anywhere gives right figures or none") {
  KinetoWriter writer;
  writer.steps = 4;
  const std::string text = writer.text();
  std::size_t answers = 0;
  for (std::size_t length = 0; length + 4 < text.size(); length += length < 1000 ? 1 : 97) {
    CAPTURE(length);
    Trace trace;
    const auto import = [&] { trace = kineto({text.substr(0, length), "f.json", {}}); };
    if (!refusal(import).empty()) continue;
    ++answers;
    REQUIRE(trace.layers.size() == 4);
    for (std::size_t g = 0; g < 4; ++g)
      CHECK(trace.layers[3 - g].ready == Duration::ns(writer.ready_ns(g)));
    CHECK(trace.gradient() == Bytes(4 * 2'301'500));
    CHECK(trace.forward() == Duration::ns(writer.forward_ns));
    CHECK(trace.notes.back() == "f.json ends too early");
  }
  CHECK(answers > 50);
}

TEST_CASE("kineto: steps that nobody can use, with the reason") {
  KinetoWriter writer;
  const std::string text = writer.text();
  const auto without = [&](const std::string& what, const std::string& instead) {
    std::string changed = text;
    for (std::size_t at = changed.find(what); at != changed.npos; at = changed.find(what, at))
      changed.replace(at, what.size(), instead);
    return refusal([&] { kineto({changed, "f.json", {}}); });
  };
  CHECK(contains(without("\"kernel\"", "\"kernels\""), "no kernel of a GPU that computes"));
  CHECK(contains(without("ProfilerStep#6", "ProfilerStep#5"), "ProfilerStep#5 occurs twice"));
  CHECK(contains(without("\"tid\": 2919752", "\"tid\": \"\""), "no gradient (AccumulateGrad)"));
}

}  // namespace
}  // namespace sgdsim
