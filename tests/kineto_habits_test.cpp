// What profiles lack or say in another way, case by case; whole profiles in the habits of many
// programs are in tests/profiles_test.py.
#include <doctest/doctest.h>

#include "tests/kineto_reading.h"
#include "traces/kineto/collective_kind.h"
#include "traces/kineto/event_fields.h"
#include "traces/kineto/spans.h"
#include "traces/kineto/to_trace.h"

namespace sgdsim {
namespace {

using namespace profiler;

std::string replaced(std::string text, const std::string& what, const std::string& instead) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + instead.size()))
    text.replace(at, what.size(), instead);
  return text;
}

Recording recording_in(const std::string& text) { return recording_of({profile(text)}, {}); }

TEST_CASE("kineto: elements of shapes as they are written") {
  struct Row {
    const char* shapes;
    int64_t elements;
  };
  for (const Row& row : std::vector<Row>{{"", 0},
                                         {"[]", 0},
                                         {"[[]]", 0},
                                         {"[[2049000]]", 2'049'000},
                                         {"[[64, 3, 7, 7], [], []]", 9408},
                                         {"[[[10], [20, 3]], []]", 70},
                                         {"[[0, 5]]", 0},
                                         {"[[5,\"x\"]]", -1},
                                         {"[[-5]]", -1},
                                         {"[[5], [6...", -1},
                                         {"[[9999999999999999999]]", -1},
                                         {"[[99999999, 99999999, 99999999]]", -1},
                                         {"]]", 0}}) {
    INFO(row.shapes);
    CHECK(elements_in_shapes(row.shapes) == row.elements);
  }
  CHECK(first_known_type("[\"TensorList\", \"c10::BFloat16\", \"float\"]") == "c10::BFloat16");
  CHECK(first_known_type("[\"Scalar\"").empty());
}

TEST_CASE("kineto: kinds of collectives by their calls, else by their kernels") {
  struct Row {
    const char* call;
    const char* kernel;
    const char* kind;
  };
  for (const Row& row : std::vector<Row>{
           {"allreduce", "", "all-reduce"},
           {"all_reduce", "ncclDevKernel_Generic", "all-reduce"},
           {"_allgather_base", "", "all-gather"},
           {"_reduce_scatter_base", "", "reduce-scatter"},
           {"all_to_allv", "ncclDevKernel_SendRecv(ncclDevComm*)", "all-to-all"},
           {"ALLTOALL_BASE", "", "all-to-all"},
           {"send", "ncclDevKernel_SendRecv(ncclDevComm*)", "send/receive"},
           {"", "ncclDevKernel_SendRecv(ncclDevComm*)", "send/receive or all-to-all"},
           {"", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all-reduce"},
           {"", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", "reduce-scatter"},
           {"", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "unknown collective"},
           {"init", "ncclDevKernel_Broadcast_RING_LL(x)", "broadcast"}}) {
    INFO(row.call, row.kernel);
    CommunicationFacts facts;
    facts.collective = row.call;
    CHECK(kind_of(facts, row.kernel) == row.kind);
  }
}

TEST_CASE("kineto: spans are joined, cut and subtracted") {
  const Spans all = joined({{5, 9}, {1, 3}, {2, 4}, {9, 10}, {20, 20}});
  CHECK(all == Spans{{1, 4}, {5, 10}});
  CHECK(within(all, {3, 6}) == Spans{{3, 4}, {5, 6}});
  CHECK(within(all, {4, 5}).empty());
  CHECK(minus(all, {{2, 3}, {6, 30}}) == Spans{{1, 2}, {3, 4}, {5, 6}});
  CHECK(minus({{0, 10}}, {{0, 10}}).empty());
  CHECK(length_of(all) == 8);
}

// Forward 10 ms of which the kernel takes 5; gradients of 0.6 ms each; the optimizer 1 ms; 1.7 ms
// exposed behind the last gradient.
TEST_CASE("kineto: parts of the step add up to it") {
  const KinetoWriter writer;
  const Recording one = recording({writer});
  Duration sum;
  for (const RecordedPart& part : one.parts) sum += part.time;
  CHECK(sum == one.iteration);
  CHECK(one.part(PartKind::gradients) == Duration::us(1700));
  CHECK(one.part(PartKind::computing) == Duration::us(5000 + 4 * 600 + 1000));
  CHECK(one.part(PartKind::idle) == Duration::us(50'000 - 1700 - 8400));
  // From 11.6 to 15.3 ms all-reduces run, and two kernels of 0.6 ms beside them.
  CHECK(one.unhidden == Duration::us(3700 - 1200));
  REQUIRE(one.collectives.size() == 2);
  CHECK(one.collectives[0].size_B == 1'202'000);
  CHECK(one.collectives[0].count == 1);
}

TEST_CASE("kineto: without AccumulateGrad, each all-reduce stands for its gradients") {
  const KinetoWriter writer;
  for (const auto& changed : std::vector<std::pair<std::string, std::string>>{
           {"AccumulateGrad", "Accumulate"}, {"cudaLaunchKernel", "cudaEventRecord"}}) {
    INFO(changed.first);
    const Recording one = recording_in(replaced(writer.text(), changed.first, changed.second));
    CHECK(one.is_ready_by_bucket);
    const Trace trace = trace_of(one, std::nullopt, "x").trace;
    REQUIRE(trace.layers.size() == 2);
    CHECK(trace.layers[1].name == "bucket 1");
    CHECK(trace.layers[1].gradient == Bytes(8'004'000));
    CHECK(trace.layers[1].ready == Duration::ns(writer.ready_ns(1)));
    CHECK(trace.layers[0].gradient == Bytes(1'202'000));
    // The kernel of the last gradient ended before the second all-reduce could begin.
    CHECK(trace.layers[0].ready == Duration::ns(writer.ready_ns(3)));
  }
}

TEST_CASE("kineto: steps by Optimizer.step where ProfilerStep# is not") {
  const KinetoWriter writer;
  const Recording one = recording_in(replaced(writer.text(), "ProfilerStep#", "Step "));
  CHECK(warns(one.warnings, "steps are told apart by the ends of Optimizer.step"));
  CHECK(one.iteration == Duration::ns(writer.period_ns));
  CHECK(one.buckets.size() == 2);
  const std::string bare =
      replaced(replaced(writer.text(), "ProfilerStep#", "Step "), "Optimizer.step", "o");
  CHECK(contains(refusal([&] { profile(bare); }),
                 "or Optimizer.step (it has 3 backward passes, and nothing in it marks steps)"));
}

// What the GPU did, without operators of the CPU and without marks.
std::string of_gpu_only(const KinetoWriter& writer) {
  return replaced(replaced(writer.text(), "\"cpu_op\"", "\"x\""), "user_annotation\"", "x\"");
}

// All-reduces of 2,001,000 and 300,500 elements in each of three steps; without the first of them
// two whole repetitions and a part are left. Four gradients in one all-reduce repeat, too, but
// nothing says how many of those are a step.
TEST_CASE("kineto: without marks, all-reduces that repeat are of several steps") {
  KinetoWriter writer;
  const std::string three = of_gpu_only(writer);
  const std::string said = refusal([&] { profile(three); });
  CHECK(contains(said,
                 "or Optimizer.step (its all-reduces repeat 3 times, as those of several "
                 "steps, and nothing in it marks steps)"));
  CHECK(contains(said, "expected ProfilerActivity.CPU"));
  const std::size_t first = three.find(R"("cat": "kernel", "name": "ncclDevKernel_AllReduce)");
  REQUIRE(first != three.npos);
  const std::string late = three.substr(0, first) + R"("cat": "x)" + three.substr(first + 8);
  CHECK(contains(refusal([&] { profile(late); }), "its all-reduces repeat 2 times"));
  writer.steps = 1;
  const Recording one = recording_in(of_gpu_only(writer));
  CHECK(warns(one.warnings, "steps are told apart by the whole file, which has no backward pass"));
  CHECK(trace_of(one, std::nullopt, "x").trace.layers.size() == 2);
  writer.steps = 3;
  writer.buckets = {4};
  const Recording alike = recording_in(of_gpu_only(writer));
  CHECK(warns(alike.warnings, "the whole file, which has no backward pass"));
  CHECK(alike.buckets.size() == 3);
}

TEST_CASE("kineto: a GPU whose kernels were not recorded is no CPU") {
  const std::string text = KinetoWriter{}.text();
  CHECK(contains(refusal([&] { profile(replaced(text, "\"kernel\"", "\"x\"")); }),
                 "no kernel of a GPU that computes"));
}

// The inner operators, in the order in which gradients are ready, with their sizes.
std::string with_shapes(const KinetoWriter& writer) {
  std::string text = writer.text();
  const std::string name = "\"torch::autograd::AccumulateGrad\"";
  std::size_t at = 0;
  for (std::size_t i = 0; (at = text.find(name, at)) != text.npos; ++i) {
    const std::size_t arguments = text.find("\"External id\"", at);
    const std::string shapes = "\"Input Dims\": [[" + std::to_string(writer.elements[i % 4]) +
                               "], []], \"Input type\": [\"float\", \"\"], ";
    text.insert(arguments, shapes);
    at = arguments;
  }
  return text;
}

TEST_CASE("kineto: sizes of gradients as AccumulateGrad was recorded") {
  const KinetoWriter writer;
  const std::string text = with_shapes(writer);
  const ImportedStep step = trace_of(recording_in(text), std::nullopt, "x");
  CHECK(step.no_buckets.empty());
  CHECK(!step.trace.derived);
  CHECK(step.trace.notes.empty());
  REQUIRE(step.trace.layers.size() == 4);
  for (std::size_t g = 0; g < 4; ++g)
    CHECK(step.trace.layers[3 - g].parameters == writer.elements[g]);
}

// Of three passes of 14 ms, the last one begins at 28 ms.
TEST_CASE("kineto: accumulated gradients are ready in the last backward pass") {
  KinetoWriter writer;
  writer.passes = 3;
  REQUIRE(writer.last_pass_ns() == 28'000'000);
  const Recording one = recording({writer});
  REQUIRE(one.ready.size() == 4);
  for (std::size_t g = 0; g < 4; ++g)
    CHECK(one.ready[g] == Duration::ns(38'600'000 + static_cast<int64_t>(g) * 1'000'000));
  CHECK(one.forward == Duration::ns(38'000'000));
  CHECK(one.iteration == Duration::ns(writer.period_ns));
  REQUIRE(one.buckets.size() == 2);
  CHECK(one.buckets[1].gradients == 2);
  const ImportedStep step = trace_of(one, std::nullopt, "x");
  CHECK(step.trace.layers.size() == 4);
  CHECK(warns(step.trace.notes, "a step has 3 backward passes (accumulated gradients)"));
  // A table of the four parameters fits.
  ParameterSizes sizes;
  sizes.origin = "p.csv";
  for (std::size_t g = 4; g-- > 0;) sizes.parameters.push_back({"p", writer.elements[g]});
  const ImportedStep listed = trace_of(one, sizes, "x");
  CHECK(listed.no_buckets.empty());
  CHECK(listed.trace.layers[3].parameters == 1000);
}

// Both passes on the main thread, as on a CPU: nothing but sizes tells.
TEST_CASE("kineto: gradients that repeat while one pass is exchanged are accumulated") {
  KinetoWriter writer;
  writer.passes = 2;
  const Recording one = recording_in(replaced(with_shapes(writer), "2919752", "2910249"));
  REQUIRE(one.ready.size() == 4);
  for (std::size_t g = 0; g < 4; ++g)
    CHECK(one.ready[g] == Duration::ns(24'600'000 + static_cast<int64_t>(g) * 1'000'000));
  CHECK(trace_of(one, std::nullopt, "x").trace.layers.size() == 4);
}

TEST_CASE("kineto: what launches between gradients is no pass unless each has the same ones") {
  // The thread of the forward pass launches another kernel behind the third gradient.
  KinetoWriter writer;
  writer.more_events = "";
  for (int step = 0; step < writer.steps; ++step) {
    const std::string at = std::to_string(4'458'676'416'788 + step * 50'000 + 5'000 + 145);
    const std::string id = std::to_string(900'000 + step);
    writer.more_events +=
        R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 2910249, )"
        R"("tid": 2910249, "ts": )" +
        at + R"(, "dur": 1, "args": {"correlation": )" + id + "}},\n" +
        R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": )" + at +
        R"(, "dur": 1, "args": {"stream": 7, "correlation": )" + id + "}},\n";
  }
  const Recording one = recording({writer});
  CHECK(one.ready.size() == 4);
  for (std::size_t g = 0; g < 4; ++g) CHECK(one.ready[g] == Duration::ns(writer.ready_ns(g)));
}

// Rank 0 of two, steps 5 and 6. Read by hand: ready times of the first and the last gradient, the
// elements of the all-reduces, and the shorter of their two times (traces/data/profiles/).
TEST_CASE("kineto: the recorded profile that ships") {
  ByteSource source(SGDSIM_SOURCE_DIR "/traces/data/profiles/resnet50_2xA100_rank0.json.gz");
  const Recording one = recording_of({profile_of(read_events(source, nullptr), false)}, {});
  CHECK(one.ranks == 2);
  REQUIRE(one.ready.size() == 161);
  CHECK(one.ready.front().us() == doctest::Approx((100'658.2 + 100'302.7) / 2).epsilon(1e-6));
  CHECK(one.ready.back().us() == doctest::Approx((182'191.8 + 187'385.6) / 2).epsilon(1e-6));
  std::vector<int64_t> elements;
  for (const GradientBucket& bucket : one.buckets) elements.push_back(bucket.elements);
  CHECK(elements == std::vector<int64_t>{2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040});
  // 38.6 ms of kernels in a step of 219.7 ms and one of 224.9 ms.
  CHECK(one.iteration.us() == doctest::Approx((219'726.9 + 224'936.2) / 2).epsilon(0.001));
  CHECK(one.part(PartKind::computing).us() == doctest::Approx(38'600).epsilon(0.01));
}

}  // namespace
}  // namespace sgdsim
