// Execution traces of PyTorch: what they hold, what they add to a profile of the same run, and that
// what they do not say is refused.
#include "traces/kineto/execution_trace.h"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <zlib.h>

#include "sim/core/json.h"
#include "tests/kineto_reading.h"
#include "tests/run_program.h"
#include "traces/kineto/execution_link.h"
#include "traces/kineto/to_trace.h"
#include "traces/trace_file.h"

namespace sgdsim::profiler {
namespace {

using Facts = KinetoWriter::Facts;

const std::string sample = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/execution_trace.json";
const std::string old_sample =
    std::string(SGDSIM_SOURCE_DIR) + "/tests/data/execution_trace_old.json";
const std::string profile_sample =
    std::string(SGDSIM_SOURCE_DIR) + "/tests/data/kineto_with_ids.json";
constexpr char no_times[] = "is an execution trace of PyTorch, which has no times";

ExecutionTrace read(const std::string& text) {
  ByteSource source(text, "et.json");
  return read_execution_trace(source);
}

std::string in_nodes(const std::string& nodes) {
  return R"({"schema": "1.1.1-chakra.0.0.4", "nodes": [)" + nodes + "]}";
}

std::string node(int64_t id, const std::string& name, int64_t function_id,
                 const std::string& inputs = R"({"values": [], "shapes": [], "types": []})",
                 int64_t parent = 1) {
  return R"({"id": )" + std::to_string(id) + R"(, "name": ")" + name + R"(", "ctrl_deps": )" +
         std::to_string(parent) + R"(, "inputs": )" + inputs +
         R"(, "attrs": [{"name": "rf_id", "type": "uint64", "value": )" +
         std::to_string(function_id) + "}]}";
}

std::string float_inputs(const std::string& shape, const std::string& numel,
                         const std::string& bytes = "4") {
  return R"({"values": [[7,8,0,)" + numel + "," + bytes + R"(,"cuda:0"]], "shapes": [)" + shape +
         R"x(], "types": ["Tensor(float)"]})x";
}

constexpr char outer[] = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
constexpr char inner[] = "torch::autograd::AccumulateGrad";

// What the observer writes beside the invented profile, of one of its steps.
std::string traced(const KinetoWriter& writer, int step) {
  std::string nodes = node(2, "ProfilerStep#" + std::to_string(step), 0);
  int64_t id = 2;
  for (std::size_t g = 0; g < writer.elements.size(); ++g) {
    const int64_t function_id = KinetoWriter::gradient_id(step, g);
    const std::string numel = std::to_string(writer.elements[g]);
    nodes += "," + node(++id, outer, function_id);
    nodes += "," + node(++id, inner, function_id + 1, float_inputs("[" + numel + "]", numel));
  }
  for (std::size_t b = 0; b < writer.buckets.size(); ++b) {
    const std::string numel = std::to_string(writer.bucket_elements(b));
    nodes += "," + node(++id, "record_param_comms", KinetoWriter::exchange_id(step, b),
                        R"({"values": [[[7,8,0,)" + numel +
                            R"(,4,"cuda:0"]],[3,false],["0",""],0,"allreduce",[],[],0,1,2], )" +
                            R"("shapes": [[[)" + numel +
                            R"(]]], "types": ["GenericList[Tensor(float)]"]})");
  }
  return in_nodes(nodes);
}

Recording linked(const KinetoWriter& writer, const std::string& execution_trace) {
  ByteSource source(writer.text(), "f.json");
  ProfileRecords records = read_events(source, nullptr);
  link_with(read(execution_trace), records);
  return recording_of({profile_of(std::move(records), false)}, {});
}

KinetoWriter with_ids() {
  KinetoWriter writer;
  writer.has_function_ids = true;
  writer.facts = Facts::bare_call;
  return writer;
}

std::string put(const Temporary& folder, const std::string& name, const std::string& text) {
  const std::string file = folder.name() + "/" + name;
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

// In pieces, whatever the size.
void put_packed(const std::string& file, const std::string& begin, const std::string& part,
                int parts, const std::string& end) {
  const gzFile out = gzopen(file.c_str(), "wb1");
  const auto write = [&](const std::string& text) {
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  };
  write(begin);
  for (int i = 0; i < parts; ++i) write(part);
  write(end);
  gzclose(out);
}

std::vector<int64_t> parameters_in(const Trace& trace) {
  std::vector<int64_t> all;
  for (const Layer& layer : trace.layers) all.push_back(layer.parameters);
  return all;
}

}  // namespace

// ---- alone

TEST_CASE("execution trace: what the new layout holds") {
  const Ran ran = run_sgdsim({"import", sample});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK(contains(ran.log, "read as execution-trace"));
  CHECK(contains(ran.log, no_times));
  // 21 nodes, of which two c10d::allreduce_, a convolution and an addition have a schema.
  CHECK(contains(ran.out,
                 "21 nodes, 4 operators, 1 step with gradients (told apart by "
                 "ProfilerStep#N), schema 1.1.1-chakra.0.0.4\n"));
  // 1000 + 2,000,000 + 300,000 + 500 numbers of 4 bytes: 9,206,000 bytes are 8.78 MiB.
  CHECK(contains(ran.out, "float                       4     2301500  8.8 MiB\n"));
  // 2,001,000 numbers are 8,004,000 bytes, 7.63 MiB; 300,500 are 1,202,000 bytes, 1.15 MiB. Each
  // is recorded by three nodes and counts once.
  CHECK(contains(ran.out, "all-reduce      2  1.1 MiB          1\n"));
  CHECK(contains(ran.out, "all-reduce      2  7.6 MiB          1\n"));
}

TEST_CASE("execution trace: what the old layout holds, with two steps") {
  const Ran ran = run_sgdsim({"import", "execution-trace", old_sample});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  CHECK(contains(ran.out,
                 "18 nodes, 2 operators, 2 steps with gradients (told apart by "
                 "Optimizer.step), schema 1.0.1\n"));
  // 16 + 12 numbers of 2 bytes; waiting is no collective.
  CHECK(contains(ran.out, "c10::Half                   2          28  56 B\n"));
  CHECK(contains(ran.out, "all-reduce      4  56 B          2\n"));
}

TEST_CASE("execution trace: the table of parameters stands in the order of registration") {
  CHECK(run_sgdsim({"import", "execution-trace", old_sample, "--out", "-"}).out ==
        "name,elements\nparameter 1,12\nparameter 2,16\n");
  const Temporary folder(Temporary::Kind::folder);
  const std::string table = folder.name() + "/p.csv";
  CHECK(run_sgdsim({"import", sample, "--out", table}).exit_code == 0);
  CHECK(read_text(table) ==
        "name,elements\nparameter 1,500\nparameter 2,300000\nparameter 3,2000000\n"
        "parameter 4,1000\n");
  const Ran ran = run_sgdsim({"import", "kineto", profile_sample, "--parameters", table});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  const std::vector<int64_t> expected = {500, 300'000, 2'000'000, 1000};
  CHECK(parameters_in(read_trace(Document::parse(ran.out, "out").root())) == expected);
}

TEST_CASE("execution trace: wherever a trace is expected, no times are invented") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string packed = put(folder, "et.json.gz", packed_as_gzip(read_text(sample)));
  const std::string out = folder.name() + "/trace.json";
  for (const std::string& file : {sample, old_sample, packed}) {
    const std::vector<std::vector<std::string>> commands = {
        {"import", file, "--out", out},
        {"import", "execution-trace", file, "--out", out},
        {"import", "kineto", file, "--out", out},
        {"advise", file},
        {"run", file, "-c", "dgx_h100_4"},
        {"sweep", file, "-c", "dgx_h100_4", "--axis", "seed=1,2"}};
    for (const auto& command : commands) {
      const Ran ran = call_sgdsim(command);
      INFO(command[0]);
      INFO(ran.log);
      CHECK(ran.exit_code == 2);
      CHECK(ran.out.empty());
      CHECK(contains(ran.log, file + ": " + no_times));
      CHECK(contains(ran.log, "type sgdsim import kineto PROFILE --execution-trace " + file));
      CHECK(contains(ran.log, "sgdsim import execution-trace " + file + " --out parameters.csv"));
      CHECK(!std::filesystem::exists(out));
    }
  }
  CHECK(call_sgdsim({"import", packed}).exit_code == 0);
}

TEST_CASE("execution trace: gradients that a table cannot hold") {
  const std::string small = "," + node(4, inner, 41, float_inputs("[2]", "2"));
  struct Row {
    std::string nodes;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {node(3, "aten::add", 30), "has no gradient"},
      {node(3, inner, 30) + small, "does not say the size of the gradient of node id 3"},
      {node(3, "ProfilerStep#1", 30) + small + "," + node(5, "ProfilerStep#2", 50) + "," +
           node(6, inner, 60, float_inputs("[3]", "3")),
       "its steps have different gradients"}};
  for (const Row& row : rows)
    CHECK(contains(refusal([&] { parameters_of(read(in_nodes(row.nodes))); }), row.sentence));
  // A gradient without dimensions is one number, one that is not there has no size.
  const auto one = read(in_nodes(node(3, inner, 30, float_inputs("[]", "1"))));
  CHECK(parameters_of(one).parameters.front().second == 1);
  CHECK(read(in_nodes(node(3, inner, 30, float_inputs("[]", "0")))).gradients[0].elements == -1);
}

// ---- with a profile

TEST_CASE("execution trace: the shipped profile gets its sizes from the shipped trace") {
  KinetoWriter writer = with_ids();
  writer.steps = 2;
  CHECK((read_text(profile_sample) == writer.text()));
  const Temporary folder(Temporary::Kind::folder);
  const std::string out = folder.name() + "/t.json";
  const std::string one = folder.name() + "/c.json";
  const Ran ran = run_sgdsim(
      {"import", profile_sample, "--execution-trace", sample, "--out", out, "--case", one});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(
      contains(ran.log, "from " + sample +
                            ": sizes of 4 gradients, facts of 2 collectives; 1 "
                            "step that it does not hold is taken to be like one that it holds\n"));
  const Trace trace = read_trace_file(out);
  const std::vector<int64_t> expected = {500, 300'000, 2'000'000, 1000};
  CHECK(parameters_in(trace) == expected);
  CHECK(trace.gradient().count() == 4 * 2'301'500);
  CHECK(contains(trace.source, "Sizes are those of AccumulateGrad in the execution trace"));
  CHECK(!trace.derived);
  const Ran valid = run_sgdsim({"validate", one});
  INFO(valid.out);
  CHECK(valid.exit_code == 0);
}

TEST_CASE("execution trace: gradients and buckets of a profile that says neither") {
  const KinetoWriter writer = with_ids();
  for (int step = 4; step < 7; ++step) {  // the first is cold, and left out; all are alike
    const Recording recording = linked(writer, traced(writer, step));
    INFO(step);
    REQUIRE(recording.has_gradient_sizes());
    REQUIRE(recording.has_bucket_sizes());
    CHECK(recording.buckets[0].elements == 2'001'000);
    CHECK(recording.buckets[1].elements == 300'500);
    CHECK(recording.buckets[1].size == Bytes(1'202'000));
    const ImportedStep imported = trace_of(recording, std::nullopt, "t");
    CHECK(imported.no_buckets.empty());
    const std::vector<int64_t> expected = {500, 300'000, 2'000'000, 1000};
    CHECK(parameters_in(imported.trace) == expected);
    CHECK(recording.profiles[0].linked.steps == 2);
    CHECK(!warns(recording.warnings, "unknown kind or size"));
  }
  // Without it, nothing says them.
  CHECK(contains(refusal([&] { trace_of(recording({writer}), std::nullopt, "t"); }),
                 "--execution-trace of the same run"));
}

TEST_CASE(
    "execution trace: where the profile knows its collectives, only gradients are filled in") {
  KinetoWriter writer = with_ids();
  writer.facts = Facts::in_kernel;
  const Recording recording = linked(writer, traced(writer, 5));
  CHECK(recording.profiles[0].linked.gradients == 4);
  CHECK(recording.profiles[0].linked.collectives == 0);
  CHECK(recording.has_gradient_sizes());
}

TEST_CASE("execution trace: of another run it is refused") {
  const KinetoWriter writer = with_ids();
  struct Row {
    std::string reason;
    std::string trace;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"no id in both", traced(writer, 9), "no gradient and no collective of it (rf_id) is one of"},
      {"no gradient", in_nodes(node(3, "aten::add", 1)), "no gradient and no collective of it"},
      {"an id of another operator", in_nodes(node(3, "aten::add", 5000)),
       "its rf_id 5000 is no gradient, but that of f.json is one"},
      {"the inner one for the outer one", in_nodes(node(3, inner, 5000)),
       "its rf_id 5000 is no gradient of that kind"}};
  for (const Row& row : rows) {
    INFO(row.reason);
    const std::string sentence = refusal([&] { linked(writer, row.trace); });
    CHECK(contains(sentence, "et.json: " + row.sentence));
    CHECK(contains(sentence, "they are of different runs; record both in one"));
  }
  ProfileRecords records;
  records.file = "f.json";
  BackwardOperator own;
  own.kind = BackwardKind::inner_gradient;
  own.function_id = 7;
  own.elements = 12;
  own.element_B = 4;
  records.operators = {own};
  const auto with = [&](const std::string& shape, const std::string& numel) {
    link_with(read(in_nodes(node(3, inner, 7, float_inputs(shape, numel)))), records);
  };
  with("[3,4]", "12");
  CHECK(records.linked.gradients == 0);
  CHECK(contains(refusal([&] { with("[13]", "13"); }),
                 "its gradient of rf_id 7 has 13 elements of 4 bytes, that of f.json has 12 of 4"));
}

TEST_CASE("execution trace: one for each profile, in their order") {
  const Temporary folder(Temporary::Kind::folder);
  KinetoWriter first = with_ids();
  KinetoWriter second = with_ids();
  second.rank = 1;
  const std::string a = put(folder, "a.json", first.text());
  const std::string b = put(folder, "b.json", second.text());
  const std::string traced_a = put(folder, "ea.json", traced(first, 5));
  const std::string traced_b = put(folder, "eb.json.gz", packed_as_gzip(traced(second, 6)));
  const std::string out = folder.name() + "/t.json";
  for (const bool is_named : {true, false}) {
    std::vector<std::string> words = {"import"};
    if (is_named) words.emplace_back("kineto");
    for (const std::string& word : {a, b, std::string("--force"), std::string("--out"), out,
                                    std::string("--execution-trace"), traced_a, traced_b})
      words.push_back(word);
    const Ran ran = run_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    const std::vector<int64_t> expected = {500, 300'000, 2'000'000, 1000};
    CHECK(parameters_in(read_trace_file(out)) == expected);
  }
  struct Row {
    std::vector<std::string> words;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {{a, b, "--execution-trace", traced_a},
       "--execution-trace: expected one for each of the 2 profiles, in their order, got 1"},
      {{a, "--execution-trace", b}, "expected an execution trace of PyTorch"},
      {{traced_a, "--execution-trace", a}, no_times},
      {{a, "--execution-trace", a + "x"}, "cannot be read"},
      {{a, "--execution-trace", traced_a, "--out", traced_a, "--force"}, "--out"},
      {{a, "--execution-trace", traced_a, "--like", sample}, "--like"}};
  for (const Row& row : rows) {
    std::vector<std::string> words = {"import", "kineto"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = call_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(contains(ran.log, row.sentence));
  }
}

// ---- bad input

TEST_CASE("execution trace: what cannot be is refused in one sentence") {
  const std::string gradient = "et.json: node 1: ";
  const auto sized = [](const std::string& shape, const std::string& numel,
                        const std::string& bytes = "4") {
    return in_nodes(node(3, inner, 30, float_inputs(shape, numel, bytes)));
  };
  struct Row {
    std::string text;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"", "expected an execution trace"},
      {"[1]", "expected an execution trace"},
      {std::string(100, '\0'), "expected JSON"},
      {R"({"traceEvents": []})", "expected an execution trace"},
      {R"({"schema": "1.1.1-chakra.0.0.4", "nodes": 7})", "expected an execution trace"},
      {R"({"nodes": [], "nodes": []})", "\"nodes\" occurs twice"},
      {in_nodes(""), "has no nodes; observe at least one training step"},
      {in_nodes("7"), "expected \"{\", found \"7\""},
      {in_nodes(node(1, "a", 1) + "," + node(1, "b", 2)), "the node id 1 occurs twice"},
      {in_nodes(node(1, "a", 5) + "," + node(2, "b", 5)), "the rf_id 5 occurs twice"},
      {in_nodes(R"({"name": "a"})"), "node 1: has no id"},
      {in_nodes(R"({"id": "x"})"), "expected a whole number from 0 for id, got x"},
      {in_nodes(R"({"id": -4})"), "expected a whole number from 0 for id, got -4"},
      {in_nodes(R"({"id": 1e30})"), "expected a whole number from 0 for id, got 1e30"},
      {in_nodes(R"({"id": 1, "id": 2})"), "a member occurs twice in it"},
      {in_nodes(R"({"id": 1, "attrs": [{"name": "rf_id", "value": "one"}]})"),
       "expected a whole number from 0 for rf_id, got one"},
      {in_nodes(R"({"id": 1, "attrs": [{"name": "rf_id", "value": 1}, {"name": "rf_id"}]})"),
       "rf_id occurs twice in it"},
      {in_nodes(node(1, "a", 0, "[]", 2) + "," + node(2, "b", 0, "[]", 3) + "," +
                node(3, "c", 0, "[]", 1)),
       "is its own ancestor (ctrl_deps)"},
      {sized("[4]", "1e30"), gradient + "expected the number of elements of a tensor from 0 to"},
      {sized("[4]", "-4"), gradient + "expected the number of elements of a tensor from 0 to"},
      {sized("[4]", "5"), gradient + "its shape [4] has 4 elements, its tensor says 5"},
      {sized("[-4]", "4"), gradient + "its shape [-4] is no list of sizes"},
      {sized("[1e30]", "4"), gradient + "its shape [1e30] is no list of sizes"},
      {sized("[4294967296,4294967296]", "4"), gradient + "its shape"},
      {sized("[[4]]", "4"), gradient + "its shape [[4]] is no list of sizes"},
      {sized("4", "4"), gradient + "its shape 4 is no list of sizes"},
      {sized("[4]", "4", "8"),
       gradient + "an element of type float has 4 bytes, its tensor says 8"},
      {sized("[4]", "4", "1000"), gradient + "expected the bytes of an element of a tensor"}};
  for (const Row& row : rows) {
    INFO(row.text);
    const std::string sentence = refusal([&] { read(row.text); });
    INFO(sentence);
    CHECK(contains(sentence, row.sentence));
    CHECK(!contains(sentence, "\n"));
  }
}

TEST_CASE("execution trace: cut off anywhere it is refused, plain and packed") {
  const std::string text = read_text(sample);
  for (std::size_t length = 1; length + 3 < text.size(); length += 97) {
    INFO(length);
    CHECK(!refusal([&] { read(text.substr(0, length)); }).empty());
  }
  CHECK(contains(refusal([&] { read(text.substr(0, 9000)); }), "ends too early, behind"));
  const std::string packed = packed_as_gzip(text);
  for (std::size_t length = 20; length + 9 < packed.size(); length += 61) {
    INFO(length);
    CHECK(!refusal([&] { read(packed.substr(0, length)); }).empty());
  }
}

TEST_CASE("execution trace: long lists, zeros and hostile names take little memory") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string zeros = folder.name() + "/zeros.json.gz";
  put_packed(zeros, "", std::string(1 << 20, '\0'), 512, "");
  const std::string longest = folder.name() + "/long.json.gz";
  std::string part;
  for (int i = 0; i < 1000; ++i) part += "[7],";
  put_packed(longest, R"({"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "inputs": [)", part,
             20'000, "0]}]}");
  for (const std::string& file : {zeros, longest}) {
    const Ran ran = run_sgdsim({"import", "execution-trace", file});
    CHECK_MESSAGE(ran.exit_code == (file == zeros ? 2 : 0), ran.log);
#ifndef SGDSIM_SANITIZED  // sanitizers keep what was freed
    CHECK(ran.most_memory_B < 100'000'000);
#endif
  }
  const std::string name = put(folder, "name.json",
                               in_nodes(node(1, "\x1b[31m\\u001b[2J", 1) + "," +
                                        node(2, "record_param_comms", 2,
                                             R"({"values": [[],1,2,3,"\u001b[2J)"
                                             "\x07"
                                             R"("], "shapes": [], "types": []})")));
  const Ran ran = run_sgdsim({"import", "execution-trace", name});
  CHECK(ran.exit_code == 0);
  for (const char c : ran.out + ran.log) CHECK((c == '\n' || (c >= 0x20 && c < 0x7f)));
}

}  // namespace sgdsim::profiler
