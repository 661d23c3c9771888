// Traces made from traces: sums stay, times scale, and what differs is named.
#include "traces/trace_edit.h"

#include <doctest/doctest.h>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/random.h"
#include "tests/run_program.h"
#include "traces/trace_file.h"

using namespace sgdsim;

namespace {

std::vector<std::string> shipped() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SGDSIM_SOURCE_DIR "/traces/data"))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  return files;
}

Trace three() {
  Trace trace;
  trace.name = "three";
  trace.batch = 32;
  trace.load = Duration::ms(3);
  trace.update = Duration::ms(1);
  trace.has_ready = true;
  const auto layer = [](const char* name, int64_t parameters, int64_t ms, int64_t ready_ms) {
    Layer one;
    one.name = name;
    one.parameters = parameters;
    one.gradient = Bytes(4 * parameters);
    one.forward = Duration::ms(ms);
    one.backward = Duration::ms(2 * ms);
    one.ready = Duration::ms(ready_ms);
    return one;
  };
  trace.layers = {layer("conv.weight", 1000, 1, 30), layer("conv.bias", 10, 2, 20),
                  layer("fc.weight", 5000, 3, 10)};
  return trace;
}

}  // namespace

TEST_CASE("trace edit: by hand") {
  const Trace half = with_compute(three(), 0.5);
  CHECK(half.forward() == Duration::ms(3));
  CHECK(half.backward() == Duration::ms(6));
  CHECK(half.update == Duration::us(500));
  CHECK(half.load == Duration::ms(3));
  CHECK(half.layers[0].ready == Duration::ms(15));
  const Trace more = with_batch(three(), 48);
  CHECK(more.batch == 48);
  CHECK(more.forward() == Duration::ms(9));
  CHECK(more.load == Duration::us(4500));
  CHECK(more.update == Duration::ms(1));
  CHECK(more.layers[2].ready == Duration::ms(15));
  CHECK(more.notes == std::vector<std::string>{"times are those of a batch of 32, in proportion"});
  Trace unknown = three();
  unknown.batch = 0;
  CHECK_THROWS_WITH_AS(with_batch(unknown, 1),
                       "--batch: the trace does not state the batch that it was measured with; "
                       "write it into the trace as `batch`, or scale with --compute",
                       InputError);
  const Trace blocks = merged_by_name(three(), 1);
  REQUIRE(blocks.layers.size() == 2);
  CHECK(blocks.layers[0].name == "conv");
  CHECK(blocks.layers[0].parameters == 1010);
  CHECK(blocks.layers[0].tensors == std::vector<int64_t>{1000, 10});
  CHECK(blocks.layers[0].ready == Duration::ms(30));  // when the last of its gradients is
  CHECK(blocks.layers[0].backward == Duration::ms(6));
  CHECK(blocks.layers[1].name == "fc");
  // From the last layer forwards: 20,000 B stand alone, 40 B wait for the next.
  const Trace large = merged_to(three(), Bytes(4000));
  REQUIRE(large.layers.size() == 2);
  CHECK(large.layers[0].name == "conv.weight");
  CHECK(large.layers[0].gradient == Bytes(4040));
  CHECK(merged_to(three(), Bytes(1'000'000)).layers.size() == 1);
  CHECK(merged_to(three(), Bytes(0)).layers == three().layers);
}

TEST_CASE("trace edit: sums stay, and a scaled file is a file with that scale") {
  Random random(5);
  int traces = 0;
  for (const std::string& file : shipped()) {
    CAPTURE(file);
    const Trace trace = read_trace_file(file);
    ++traces;
    for (const int64_t least_B : {int64_t{1} << 12, int64_t{1} << 20, int64_t{1} << 25}) {
      const Trace merged = merged_to(trace, Bytes(least_B));
      CHECK(merged.forward() == trace.forward());
      CHECK(merged.backward() == trace.backward());
      CHECK(merged.gradient() == trace.gradient());
      CHECK(merged.parameters() == trace.parameters());
      CHECK(ready_times(merged).front() == ready_times(trace).front());
      for (std::size_t i = 1; i < merged.layers.size(); ++i)
        CHECK(merged.layers[i].gradient >= Bytes(least_B));
      // What is written reads back to the same.
      const Document document = Document::parse(to_text(merged), "merged");
      CHECK(read_trace(document.root()) == merged);
    }
    const double factor = 0.1 + 3 * random.uniform();
    Json json = to_json(trace);
    json["compute_scale"] = factor;
    CHECK(with_compute(trace, factor).layers == read_trace(Value(json, file, "")).layers);
  }
  CHECK(traces >= 20);
}

TEST_CASE("trace edit: the commands") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string trace = "traces/data/resnet50_v100.json";
  const std::string out = folder.name() + "/scaled.json";
  REQUIRE(run_sgdsim({"trace", "scale", trace, "--batch", "64", "--faster", "2", "--device", "A100",
                      "--name", "twice", "--out", out})
              .exit_code == 0);
  const Trace before = read_trace_file(SGDSIM_SOURCE_DIR "/" + trace);
  const Trace after = read_trace_file(out);
  CHECK(after.device == "A100");
  CHECK(after.name == "twice");
  CHECK(after.batch == 64);
  // Twice the batch on a device that is twice as fast: the same times, but for the update.
  CHECK(after.forward() == before.forward());
  CHECK(after.backward() == before.backward());
  CHECK(2 * after.update.us() == doctest::Approx(before.update.us()));
  const auto exit_of = [](const std::vector<std::string>& words) {
    return run_sgdsim(words).exit_code;
  };
  // The batch is another one, whatever times may differ by.
  CHECK(exit_of({"trace", "diff", trace, out, "--within", "100"}) == 5);
  CHECK(exit_of({"trace", "diff", trace, trace, "--within", "0"}) == 0);
  const std::string slower = folder.name() + "/slower.json";
  REQUIRE(exit_of({"trace", "scale", trace, "--compute", "1.1", "--out", slower}) == 0);
  CHECK(exit_of({"trace", "diff", trace, slower, "--within", "9"}) == 5);
  CHECK(exit_of({"trace", "diff", trace, slower, "--within", "10"}) == 0);
  CHECK(exit_of({"trace", "diff", trace, slower, "--within", "nan"}) == 2);
  CHECK(exit_of({"trace", "diff", trace, slower}) == 0);
  const Ran ran = run_sgdsim({"trace", "diff", trace, "traces/data/googlenet_k80.json", "--format",
                              "json", "--within", "50"});
  CHECK(ran.exit_code == 5);
  const Json difference = Json::parse(ran.out);
  CHECK(difference["schema"] == "sgdsim/trace-diff/1");
  CHECK(difference["most_percent"] == 100);
  // All layers of both, and the batch and the update of the whole.
  CHECK(difference["layers"].size() == before.layers.size() + 64 + 2);
  // Other layers are beyond every tolerance of times.
  CHECK(exit_of({"trace", "diff", trace, "traces/data/googlenet_k80.json", "--within", "100"}) ==
        5);
  // Nothing is lost, and nothing is guessed.
  CHECK(exit_of({"trace", "scale", trace, "--out", trace}) == 2);
  CHECK(exit_of({"trace", "scale", trace, "--compute", "0"}) == 2);
  CHECK(exit_of({"trace", "scale", trace, "--compute", "1000000"}) == 2);  // beyond an hour
  CHECK(exit_of({"trace", "scale", "traces/data/bert_base_asc.json", "--batch", "8"}) == 2);
  CHECK(exit_of({"trace", "merge-layers", trace}) == 2);
  CHECK(exit_of({"trace", "merge-layers", trace, "--least", "1MiB", "--by-name", "1"}) == 2);
  CHECK(exit_of({"trace", "merge-layers", trace, "--least", "1"}) == 2);
  const Ran check = run_sgdsim({"trace", "check", "traces/data/bert_base_asc.json"});
  CHECK(check.exit_code == 0);
  CHECK(check.out.find("doubt: the batch is not stated") != std::string::npos);
  CHECK(check.out.find("layers can be simulated") != std::string::npos);
}

TEST_CASE("trace edit: doubts") {
  CHECK(doubts_about(read_trace_file(SGDSIM_SOURCE_DIR "/traces/data/vgg16_v100.json")).empty());
  Trace odd = three();
  odd.source = "a test";
  CHECK(doubts_about(odd).empty());
  odd.layers[1].backward = Duration();
  odd.layers[2].gradient = Bytes(7);
  odd.layers[2].name = odd.layers[0].name;
  odd.batch = 0;
  CHECK(doubts_about(odd) ==
        std::vector<std::string>{
            "gradients that take no time: layer 2 (conv.bias)",
            "gradients whose size is not 1, 2, 4 or 8 bytes a parameter: layer 3 (conv.weight)",
            "names that occur twice: layer 3 (conv.weight)", "the batch is not stated"});
}
