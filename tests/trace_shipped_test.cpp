// The traces that ship: their parameters, tensors and times are those of the architectures and of
// the publications, and the derived ones are what traces/derive.py writes.
#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <unistd.h>

#include "sim/core/json.h"
#include "tests/repository.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

Trace shipped(const std::string& name) {
  return read_trace_file((repository / "traces/data" / (name + ".json")).string());
}

// Parameters per tensor, all layers, in order of registration.
std::vector<int64_t> tensors_of(const Trace& trace) {
  std::vector<int64_t> tensors;
  for (const Layer& layer : trace.layers) {
    if (layer.parameters == 0) continue;
    if (layer.tensors.empty()) tensors.push_back(layer.parameters);
    tensors.insert(tensors.end(), layer.tensors.begin(), layer.tensors.end());
  }
  return tensors;
}

struct Shipped {
  std::string name;
  bool derived;
  std::size_t layers;
  std::size_t tensors;
  int64_t parameters;
  int64_t batch;       // 0: not stated by the source
  int64_t forward_ns;  // -1: part of compute_ns
  int64_t compute_ns;  // forward and backward
};

// Parameters and tensors as torchvision, Hugging Face and the papers count them; times as
// published.
const std::vector<Shipped> table = {
    {"googlenet_k80", false, 64, 128, 13'379'136, 64, 102'667'156, 308'001'468},
    {"resnet50_v100", false, 161, 161, 25'557'032, 32, -1, 0},
    {"resnet101_v100", false, 314, 314, 44'549'160, 32, -1, 0},
    {"vgg16bn_v100", false, 58, 58, 138'365'992, 32, -1, 0},
    {"resnet50_a100_ddp", false, 161, 161, 25'557'032, 0, 99'476'041, 182'191'825},
    {"alexnet_p102", true, 8, 16, 61'100'840, 64, 85'735'000, 257'205'000},
    {"vgg16_v100", true, 16, 32, 138'357'544, 16, 26'200'000, 83'500'000},
    {"resnet152_v100", true, 311, 467, 60'192'808, 128, -1, 883'118'444},
    {"resnet50_dgx1", true, 107, 161, 25'557'032, 32, -1, 100'000'000},
    {"resnet101_dgx1", true, 209, 314, 44'549'160, 32, -1, 171'000'000},
    {"resnext50_dgx1", true, 107, 161, 25'028'904, 32, -1, 147'000'000},
    {"resnext101_dgx1", true, 209, 314, 88'791'336, 32, -1, 425'000'000},
    {"densenet161_v100", true, 322, 484, 28'681'000, 16, 48'300'000, 142'500'000},
    {"densenet201_v100", true, 402, 604, 20'013'928, 64, 120'292'452, 360'877'356},
    {"inception_v3_p100", true, 189, 284, 23'834'568, 64, -1, 0},
    {"inception_v4_asc", true, 299, 449, 42'679'816, 0, 63'153'740, 189'461'220},
    {"lstm_ptb_p102", true, 4, 11, 66'034'000, 20, 76'000'000, 206'890'000},
    {"bert_base_asc", true, 101, 199, 109'482'240, 0, -1, 305'489'260},
    {"bert_large_v100", true, 197, 391, 335'141'888, 7, -1, 0},
    {"gpt2_124m_a100", true, 76, 148, 124'439'808, 8, 45'000'000, 135'000'000},
    {"gpt2_1558m_h100", true, 292, 580, 1'557'611'200, 16, -1, 350'000'000},
    {"llama_7b_a100", true, 291, 291, 6'738'415'616, 2, -1, 0},
};

TEST_CASE("shipped traces: parameters, tensors and total times") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(repository / "traces/data"))
    files += entry.path().extension() == ".json" ? 1U : 0U;
  CHECK(files == table.size());
  for (const Shipped& row : table) {
    INFO(row.name);
    const Trace trace = shipped(row.name);
    CHECK(trace.name == row.name);
    CHECK(trace.derived == row.derived);
    CHECK(trace.layers.size() == row.layers);
    CHECK(tensors_of(trace).size() == row.tensors);
    CHECK(trace.parameters() == row.parameters);
    CHECK(trace.batch == row.batch);
    CHECK(trace.source.find("easured: ") != std::string::npos);
    CHECK(trace.source.find(row.derived ? "Divided among layers" : "Derived: ") !=
          std::string::npos);
    CHECK(!trace.notes.empty());
    if (row.forward_ns >= 0) CHECK(trace.forward() == Duration::ns(row.forward_ns));
    if (row.compute_ns > 0)
      CHECK(trace.forward() + trace.backward() == Duration::ns(row.compute_ns));
  }
}

TEST_CASE("shipped traces: what is written reads back") {
  for (const Shipped& row : table) {
    INFO(row.name);
    const Trace trace = shipped(row.name);
    CHECK(read_trace(Document::parse(to_text(trace), "written").root()) == trace);
  }
}

TEST_CASE("shipped traces: GoogLeNet on K80 has the backward times of B-Caffe") {
  const Trace trace = shipped("googlenet_k80");
  CHECK(trace.backward() == Duration::ns(205'334'312));
  CHECK(trace.layers.front().name == "conv1/7x7_s2");
  CHECK(trace.layers.front().backward == Duration::ns(15'143'700));
  CHECK(trace.layers.back().name == "loss3/classifier");
  CHECK(trace.layers.back().backward == Duration::ns(461'088));
  CHECK(trace.layers.back().tensors == std::vector<int64_t>{1'024'000, 1024});
}

TEST_CASE("shipped traces: NetAI'20 totals and iterations") {
  struct Row {
    std::string name;
    int64_t backward_us;  // rounded
    int64_t gradient_B;
    int64_t iteration_us;
  };
  const std::vector<Row> rows = {{"resnet50_v100", 64'807, 102'228'128, 128'100},
                                 {"resnet101_v100", 106'407, 178'196'640, 192'000},
                                 {"vgg16bn_v100", 111'620, 553'463'968, 194'500}};
  for (const Row& row : rows) {
    INFO(row.name);
    const Trace trace = shipped(row.name);
    CHECK((trace.backward().ps() + 500'000) / 1'000'000 == row.backward_us);
    CHECK(trace.gradient() == Bytes(row.gradient_B));
    CHECK(trace.forward() + trace.backward() + trace.update == Duration::us(row.iteration_us));
  }
}

TEST_CASE(
    "shipped traces: ResNet-50 DDP has the ready times of the Kineto trace, pauses included") {
  const Trace trace = shipped("resnet50_a100_ddp");
  const std::vector<Duration> ready = ready_times(trace);
  CHECK(ready.back() == Duration::ns(100'658'169));
  CHECK(ready.front() == Duration::ns(182'191'825));
  // Backward times are the distances of ready times, so without the latter all stays as it is.
  Trace without = trace;
  without.has_ready = false;
  CHECK(ready_times(without) == ready);
}

TEST_CASE("shipped traces: totals from rates") {
  struct Row {
    std::string name;
    double compute_s;
  };
  const std::vector<Row> rows = {{"bert_large_v100", 7 / 7.56},
                                 {"llama_7b_a100", 82432. * 3600 * 2 * 2048 / 1e12}};
  for (const Row& row : rows) {
    INFO(row.name);
    const Trace trace = shipped(row.name);
    const Duration compute = trace.forward() + trace.backward();
    CHECK(compute.s() == doctest::Approx(row.compute_s).epsilon(1e-12));  // rounded to 1 ps
    CHECK(trace.forward().s() == doctest::Approx(row.compute_s / 3).epsilon(1e-11));
  }
}

// PyTorch's rule: tensors in reverse order of registration; a bucket closes when it has reached
// 1 MiB (the first) or 25 MiB. For ResNet-50 these are the all-reduces of the Kineto trace.
std::vector<int64_t> ddp_buckets(const Trace& trace) {
  const std::vector<int64_t> tensors = tensors_of(trace);
  std::vector<int64_t> buckets = {0};
  bool is_full = false;
  for (auto count = tensors.rbegin(); count != tensors.rend(); ++count) {
    if (is_full) buckets.push_back(0);
    buckets.back() += *count;
    is_full = 4 * buckets.back() >= (buckets.size() == 1 ? 1 << 20 : 25 << 20);
  }
  return buckets;
}

TEST_CASE("shipped traces: tensors stand in the order in which PyTorch registers them") {
  struct Row {
    std::string name;
    std::vector<int64_t> buckets;
  };
  const std::vector<int64_t> resnet50 = {2049000, 7875584, 6563840, 6637568, 2431040};
  const std::vector<Row> rows = {
      {"resnet50_a100_ddp", resnet50},
      {"resnet50_v100", resnet50},
      {"resnet101_v100", {2049000, 7875584, 6563840, 6965760, 6703104, 6703104, 6590464, 1098304}},
      {"vgg16_v100", {4097000, 16781312, 102764544, 7079424, 7079936, 555328}},
      {"alexnet_p102", {4097000, 16781312, 37752832, 2469696}}};
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(ddp_buckets(shipped(row.name)) == row.buckets);
  }
}

TEST_CASE("shipped traces: derive.py writes the derived ones byte for byte") {
  if (std::system("python3 -c '' 2>/dev/null") != 0) {
    MESSAGE("skipped: there is no python3 here");
    return;
  }
  const auto folder = std::filesystem::temp_directory_path() /
                      ("sgdsim_derive_" + std::to_string(static_cast<long>(getpid())));
  const std::string command =
      "python3 '" + in_repository("traces/derive.py") + "' --out '" + folder.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  for (const Shipped& row : table) {
    if (!row.derived) continue;
    const std::string name = row.name + ".json";
    CHECK_MESSAGE(read_text((folder / name).string()) ==
                      read_text((repository / "traces/data" / name).string()),
                  name);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sgdsim
