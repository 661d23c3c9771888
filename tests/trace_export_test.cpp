// Traces as files of other programs: what goes out comes in again, but for what the file cannot
// hold, which is said.
#include "traces/trace_export.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <sstream>

#include "app/commands.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/repository.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

std::vector<Trace> shipped() {
  std::vector<Trace> traces;
  for (const auto& entry : std::filesystem::directory_iterator(repository / "traces/data"))
    if (entry.path().extension() == ".json")
      traces.push_back(read_trace_file(entry.path().string()));
  CHECK(traces.size() >= 18);
  return traces;
}

// Any trace that the reader of trace files would take.
Trace random_trace(uint64_t seed) {
  Random random(seed);
  Trace trace;
  trace.has_ready = random.below(2) == 0;
  const bool has_tensors = random.below(2) == 0;
  const std::string letters = "ab,;\"'. _\xc3\xa4%-";
  const auto count = 1 + random.below(20);
  for (uint64_t i = 0; i < count; ++i) {
    Layer layer;
    layer.name = "x";
    for (uint64_t k = random.below(8); k > 0; --k) {
      const uint64_t at = random.below(letters.size());
      layer.name += letters[at] == '\xc3' || letters[at] == '\xa4' ? std::string("\xc3\xa4")
                                                                   : std::string(1, letters[at]);
    }
    layer.name += "x";
    for (uint64_t k = random.below(4); k > 0; --k) {
      const auto tensor = static_cast<int64_t>(random.below(1'000'000));
      layer.parameters += tensor;
      if (has_tensors) layer.tensors.push_back(tensor);
    }
    layer.gradient =
        Bytes(random.below(2) == 0 ? 4 * layer.parameters
                                   : static_cast<int64_t>(random.below(1'000'000'000)));
    layer.forward = Duration::ps(static_cast<int64_t>(random.below(100'000'000'000)));
    layer.backward = Duration::ps(static_cast<int64_t>(random.below(100'000'000'000)));
    trace.layers.push_back(layer);
  }
  Duration ready;
  for (auto layer = trace.layers.rbegin(); trace.has_ready && layer != trace.layers.rend();
       ++layer) {
    ready += Duration::ps(static_cast<int64_t>(random.below(100'000'000'000)));
    layer->ready = ready;
  }
  return trace;
}

TEST_CASE("layers csv: what is exported is imported again, of every trace that ships and 1,000") {
  std::vector<Trace> traces = shipped();
  for (uint64_t seed = 0; seed < 1000; ++seed) traces.push_back(random_trace(seed));
  for (const Trace& trace : traces) {
    const ExportedTrace exported = to_layers_csv(trace, "f");
    INFO(exported.text);
    CHECK(is_layers_csv(exported.text));
    const Trace again = layers_csv({exported.text, "f", {}});
    REQUIRE(again.layers.size() == trace.layers.size());
    for (std::size_t i = 0; i < again.layers.size(); ++i)
      CHECK((again.layers[i] == trace.layers[i]));
    CHECK(again.has_ready == trace.has_ready);
    CHECK(again.notes.empty());
  }
}

TEST_CASE("layers csv: tensors must add up, and names that no cell holds are refused") {
  const std::string head = "name,params,bwd_us,tensors\n";
  CHECK(layers_csv({head + "a,5,1,2 3\nb,4,1,\n", "f", {}}).layers[0].tensors ==
        std::vector<int64_t>{2, 3});
  for (const char* row : {"a,5,1,2 4\n", "a,5,1,2\n", "a,5,1,6\n", "a,5,1,2 x\n", "a,5,1,-1 6\n"})
    CHECK_THROWS_AS(layers_csv({head + row, "f", {}}), InputError);
  Trace trace = random_trace(1);
  trace.layers[0].name = " a";
  CHECK_THROWS_WITH_AS(to_layers_csv(trace, "f"), doctest::Contains("begins or ends with a blank"),
                       InputError);
}

bool is_lost(const ExportedTrace& exported, const std::string& part) {
  for (const std::string& lost : exported.lost)
    if (lost.find(part) != std::string::npos) return true;
  return false;
}

// Whole nanoseconds come back exactly, others within one; their sums within half of one.
TEST_CASE("astra text: what is exported is imported again, up to nanoseconds") {
  std::vector<Trace> traces = shipped();
  for (uint64_t seed = 0; seed < 200; ++seed) traces.push_back(random_trace(seed));
  for (const Trace& trace : traces) {
    const ExportedTrace exported = to_astra_text(trace);
    CHECK(is_astra_text(exported.text));
    const Trace again = astra_text({exported.text, "f", {}});
    REQUIRE(again.layers.size() == trace.layers.size());
    const bool is_whole = !is_lost(exported, "parts of nanoseconds");
    for (std::size_t i = 0; i < again.layers.size(); ++i) {
      const Layer& out = trace.layers[i];
      const Layer& in = again.layers[i];
      CHECK(in.gradient == out.gradient);
      CHECK(std::abs(in.forward.ps() - out.forward.ps()) <= (is_whole ? 0 : 1000));
      CHECK(std::abs(in.backward.ps() - out.backward.ps()) <= (is_whole ? 0 : 1000));
      if (!is_lost(exported, "blanks")) CHECK(in.name == out.name);
    }
    CHECK(std::abs(again.forward().ps() - trace.forward().ps()) <= 500);
    CHECK(std::abs(again.backward().ps() - trace.backward().ps()) <= 500);
    CHECK(std::abs(again.update.ps() - trace.update.ps()) <= 500);
    CHECK(is_lost(exported, "ready times") == trace.has_ready);
    CHECK(again.notes.empty());
  }
}

TEST_CASE("astra text: a trace by hand, as it is written") {
  Trace trace;
  trace.update = Duration::us(3);
  trace.layers = {{"a b", 10, Bytes(40), Duration::ns(7), Duration::ns(9), {}, {}},
                  {"c", 0, Bytes(0), Duration::ns(1), Duration::ps(2400), {}, {}}};
  const ExportedTrace exported = to_astra_text(trace);
  CHECK(exported.text ==
        "DATA\n2\n"
        "a_b\t-1\t7\tNONE\t0\t0\tNONE\t0\t9\tALLREDUCE\t40\t3000\n"
        "c\t-1\t1\tNONE\t0\t0\tNONE\t0\t2\tNONE\t0\t0\n");
  CHECK(is_lost(exported, "parts of nanoseconds"));
  CHECK(is_lost(exported, "blanks in names"));
  CHECK(exported.lost.size() == 2);
}

// Layers are all that the files have.
TEST_CASE("trace exports: all else that a trace says is named") {
  Trace trace = random_trace(1);
  trace.update = Duration{};
  for (const bool is_table : {true, false}) {
    const auto losses = [&](const Trace& of) {
      return is_table ? to_layers_csv(of, "f") : to_astra_text(of);
    };
    const std::size_t before = losses(trace).lost.size();
    Trace full = trace;
    full.name = "r50";
    full.model = "ResNet-50";
    full.framework = "PyTorch 2";
    full.device = "V100";
    full.date = "2020-01";
    full.source = "a paper";
    full.derived = full.beside_exchanges = true;
    full.batch = 32;
    full.load = Duration::ms(3);
    full.notes = {"a note"};
    const ExportedTrace exported = losses(full);
    CHECK(exported.lost.size() == before + 11);
    for (const char* loss :
         {"the name of the trace (r50)", "the model (ResNet-50)", "the framework (PyTorch 2)",
          "the device (V100)", "the date (2020-01)", "the source of the figures", "the batch (32)",
          "that times are derived", "that times hold what exchanges slow computing down by",
          "the time to load (3 ms)", "the notes of the trace"})
      CHECK(is_lost(exported, loss));
  }
}

TEST_CASE("astra text: forward, input and weight gradients, and what is left out") {
  const std::string file = in_repository("tests/data/astra_text.txt");
  const Trace trace = astra_text({read_text(file), file, {}});
  REQUIRE(trace.layers.size() == 3);
  CHECK(trace.layers[1].name == "attention");
  CHECK(trace.layers[1].forward == Duration::ns(2000));
  CHECK(trace.layers[1].backward == Duration::ns(3500));
  CHECK(trace.layers[1].gradient == Bytes(8388608));
  CHECK(trace.layers[1].parameters == 2097152);
  CHECK(trace.layers[2].gradient == Bytes(0));
  CHECK(trace.update == Duration::ns(20));
  CHECK(trace.notes.empty());
  const Trace other = astra_text(
      {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 2 vpp: 1 ga: 1 "
       "all_gpus: 16 checkpoints: 1 0 checkpoint_initiates: 1 0\n1\n"
       "a -1 1 ALLREDUCE 8 1 ALLTOALL_EP 8 1 ALLREDUCE_DP_EP 8 0\n",
       "f",
       {}});
  CHECK(other.notes.size() == 4);  // pp, checkpoints, other communication, another group
}

// What SimAI's sample says, and what AICB prints; then gradients as AICB writes those of a
// distributed optimizer: 4 bytes of each there, and 2 bytes of each parameter back. An all-reduce
// of 3 bytes of each moves as much.
TEST_CASE("astra text: workloads of AICB") {
  const std::string head =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 1 vpp: 1 ga: 1 "
      "all_gpus: 9216 checkpoints: 0 checkpoint_initiates: 0";
  const int64_t parameters = 5'615'517'696 / 4;
  const std::string gather = "grad_gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 2807758848 100\n";
  const std::string scatter =
      "grad_param_comm -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 5615517696 100\n";
  const std::string layer = "a -1 5 ALLGATHER 8 1 NONE 0 7 NONE 0 100\n";
  struct Row {
    std::string pipeline;
    std::string rows;
    std::size_t place;  // of the gradient
  };
  for (const Row& row :
       std::vector<Row>{{"", gather + scatter + layer, 1},
                        {" pp_comm 50331648", gather + scatter + layer, 1},
                        {" pp_comm: 8388608.0", scatter + gather + layer, 0},
                        {" pp_comm: 0",
                         "b -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n" + layer +
                             "grad_norm -1 1 ALLGATHER 2807758848 1 NONE 0 1 REDUCESCATTER "
                             "5615517696 100\n",
                         2}}) {
    INFO(row.pipeline, row.rows);
    const Trace trace = astra_text({head + row.pipeline + "\n3\n" + row.rows, "f", {}});
    REQUIRE(trace.layers.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(trace.layers[i].gradient == Bytes(i == row.place ? 3 * parameters : 0));
      CHECK(trace.layers[i].parameters == (i == row.place ? parameters : 0));
    }
    REQUIRE(trace.notes.size() == 2);
    CHECK(trace.notes[0].starts_with("1 layer also communicate in forward"));
    CHECK(
        trace.notes[1] ==
        "1 gradient goes by a reduce-scatter and an all-gather: taken as an all-reduce of half of "
        "both sizes together, which moves as much");
  }
  // Of other elements, of another group, or of one all-gather for two.
  const std::string one = "s -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 8 1\n";
  const std::string of_experts = "g -1 1 NONE 0 1 NONE 0 1 ALLGATHER_DP_EP 8 1\n";
  const std::string odd = "g -1 1 NONE 0 1 NONE 0 1 ALLGATHER 6 1\n";
  const std::string good = "g -1 1 NONE 0 1 NONE 0 1 ALLGATHER 8 1\n";
  for (const std::string& rows : {one + of_experts, odd + one, one + good + one}) {
    INFO(rows);
    const auto lines = std::count(rows.begin(), rows.end(), '\n');
    CHECK_THROWS_WITH_AS(astra_text({"DATA\n" + std::to_string(lines) + "\n" + rows, "f", {}}),
                         doctest::Contains("Write an ALLREDUCE of half the bytes of both in its"),
                         InputError);
  }
  CHECK_THROWS_WITH_AS(astra_text({"DATA pp_comm\n1\n" + one, "f", {}}),
                       "f: line 1: \"pp_comm\" has no number", InputError);
}

TEST_CASE("astra text: what is wrong is refused with a sentence that names the line") {
  const std::string megatron =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 ga: 1 all_gpus: 8 "
      "checkpoints: 0 checkpoint_initiates: 0\n";
  const std::string good = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
  struct Row {
    std::string text;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"", "f: expected a line on how the network is distributed"},
      {megatron + "1\n" + good,
       "f: line 1: the header of HYBRID_TRANSFORMER_FWD_IN_BCKWD lacks \"vpp:\""},
      {"HYBRID_TRANSFORMER\n1\n" + good, "lacks \"model_parallel_NPU_group:\""},
      {"DATTA\n1\n" + good,
       "f: line 1: unknown way of distributing \"DATTA\" (did you mean "
       "\"DATA\"?)"},
      {"DATA x\n1\n" + good, "f: line 1: expected a key that ends with a colon, got \"x\""},
      {"DATA x:\n1\n" + good, "f: line 1: \"x:\" has no number"},
      {"DATA checkpoints: 1000000000\n1\n" + good, "\"checkpoints:\" has no number"},
      {"DATA\n2\n" + good, "f: line 2: expected 2 layers, got 1"},
      {"DATA\nmany\n" + good, "f: line 2: expected the number of layers, a whole number"},
      {"DATA\n1\na -1 1 NONE 0\n", "f: line 3: expected 12 fields for a layer, got 5"},
      {"DATA\n1\na -1 1.5 NONE 0 1 NONE 0 1 NONE 0 1\n", "expected the forward time, a whole"},
      {"DATA\n1\na -1 -1 NONE 0 1 NONE 0 1 NONE 0 1\n", "expected the forward time, a whole"},
      {"DATA\n1\na -1 1 GATHER 0 1 NONE 0 1 NONE 0 1\n", "expected NONE, ALLREDUCE, ALLGATHER"},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 8 1\n",
       "f: line 3: the weight gradient goes by REDUCESCATTER"},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 9999999999999999 1\n",
       "expected the weight gradient's size, a whole number"},
      {"DATA\n1\na -1 9999999999999999 NONE 0 1 NONE 0 1 NONE 0 1\n", "of at most 3600 s"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THROWS_WITH_AS(astra_text({row.text, "f", {}}), doctest::Contains(row.sentence.c_str()),
                         InputError);
  }
}

}  // namespace
}  // namespace sgdsim
