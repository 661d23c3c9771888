// What profiles have beside the kernels of the compute stream: copies, annotations of each stream,
// collectives of others between the last gradient and its all-reduce; and ranks that do not train
// the same gradients.
#include <doctest/doctest.h>
#include <fstream>

#include "tests/kineto_reading.h"
#include "tests/run_program.h"
#include "traces/kineto/to_trace.h"

namespace sgdsim {
namespace {

using namespace profiler;

constexpr int64_t first_step_ns = 4'458'676'416'788'066;  // where the writer's first step begins
constexpr int64_t first_kernel_ns = 200'000;              // behind the beginning of its step
constexpr int64_t last_gradient_ns = 5'150'000;           // when the CPU begins its backward kernel

// An event beside the writer's, in its step with this index, at a time since the step's beginning.
struct BesideEvent {
  std::string category;
  std::string name;
  int step = 0;
  int lane = 7;  // thread or stream
  int64_t at_ns = 0;
  int64_t length_ns = 1000;
  std::string arguments;

  std::string text() const {
    const KinetoWriter writer;
    const auto us_of = [](int64_t ns) {
      return std::to_string(ns / 1000) + "." + std::to_string(1000 + ns % 1000).substr(1);
    };
    const bool is_call = category == "cuda_runtime";
    return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" +
           (is_call ? "2910249" : "0") + R"(, "tid": )" + std::to_string(lane) + R"(, "ts": )" +
           us_of(first_step_ns + step * writer.period_ns + at_ns) + R"(, "dur": )" +
           us_of(length_ns) + R"(, "args": {)" + arguments + "}},\n";
  }
};

// What a thread launches, and what a stream then does.
struct BesideWork {
  BesideEvent work;
  int thread = 2910249;
  int64_t launch_ns = 0;

  std::string text(int id) const {
    const std::string number = "\"correlation\": " + std::to_string(900'000 + id);
    BesideEvent done = work;
    done.arguments = "\"device\": 0, \"stream\": " + std::to_string(work.lane) + ", " + number +
                     (work.arguments.empty() ? "" : ", " + work.arguments);
    const BesideEvent call{"cuda_runtime", "cudaLaunchKernel", work.step, thread, launch_ns, 1000,
                           number};
    return call.text() + done.text();
  }
};

// The same in each of the writer's steps.
std::string in_each_step(const KinetoWriter& writer, const std::vector<BesideWork>& all) {
  std::string text;
  int id = 0;
  for (int step = 0; step < writer.steps; ++step)
    for (BesideWork one : all) {
      one.work.step = step;
      text += one.text(++id);
    }
  return text;
}

Recording recorded(const KinetoWriter& writer) {
  return recording_of({profile(writer.text())}, {});
}

// Copies of 20 ms on a stream of their own, more than the 8.4 ms of kernels, and one of 0.1 ms
// before the first kernel, which falls into the step before it.
TEST_CASE("kineto streams: copies neither make a compute stream nor begin a step") {
  KinetoWriter writer;
  const BesideWork prefetch{
      {"gpu_memcpy", "Memcpy HtoD", 0, 13, 20'000'000, 20'000'000, ""}, 2910249, 300'000};
  const BesideWork before{
      {"gpu_memcpy", "Memcpy HtoD", 0, 7, 50'000, 100'000, ""}, 2910249, 10'000};
  writer.more_events = in_each_step(writer, {prefetch, before});
  const Recording one = recorded(writer);
  CHECK(one.profiles[0].compute_stream == "device 0, stream 7");
  CHECK(!warns(one.warnings, "computes too"));
  REQUIRE(one.ready.size() == 4);
  for (std::size_t g = 0; g < 4; ++g) CHECK(one.ready[g] == Duration::ns(writer.ready_ns(g)));
  CHECK(one.forward == Duration::ns(writer.forward_ns));
  CHECK(one.iteration == Duration::ns(writer.period_ns));
  CHECK(one.part(PartKind::computing) == Duration::us(8400));
  // Nothing copies behind the last step: 20.1 and 20 ms.
  CHECK(one.part(PartKind::copying) == Duration::us(20'050));
}

// The thread of the last gradient launches a copy of 0.2 ms behind its kernel.
TEST_CASE("kineto streams: a gradient waits for a copy on the compute stream") {
  KinetoWriter writer;
  const BesideWork copy{
      {"gpu_memcpy", "Memcpy DtoD", 0, 7, first_kernel_ns + writer.ready_ns(3), 200'000, ""},
      2919752,
      last_gradient_ns + 10'000};
  writer.more_events = in_each_step(writer, {copy});
  const Recording one = recorded(writer);
  REQUIRE(one.ready.size() == 4);
  CHECK(one.ready[2] == Duration::ns(writer.ready_ns(2)));
  CHECK(one.ready[3] == Duration::ns(writer.ready_ns(3) + 200'000));
}

TEST_CASE("kineto streams: copies alone are no step") {
  std::string text = KinetoWriter{}.text();
  for (std::size_t at = 0; (at = text.find("\"kernel\"", at)) != text.npos;)
    text.replace(at, 8, "\"gpu_memcpy\"");
  CHECK(contains(refusal([&] { profile(text); }), "no kernel of a GPU that computes"));
}

// The writer's annotation of a step on the GPU is 7 ms behind that of the CPU, and as long.
TEST_CASE("kineto streams: annotations of a step on several streams are one") {
  KinetoWriter writer;
  const BesideEvent sooner{"gpu_user_annotation", "ProfilerStep#5", 1, 40, 3'000'000, 10'000'000,
                           "\"External id\": 1"};
  const BesideEvent within{"gpu_user_annotation", "ProfilerStep#6", 2, 40, 9'000'000, 10'000'000,
                           "\"External id\": 1"};
  writer.more_events = sooner.text() + within.text();
  const Recording one = recorded(writer);
  CHECK(one.iteration == Duration::ns(writer.period_ns));
  const std::string text = writer.text();
  ByteSource source(text, "f.json");
  const ProfileRecords records = read_events(source, nullptr);
  REQUIRE(records.device_windows.size() == 3);
  for (const StepWindow& window : records.device_windows) {
    const int64_t begin_ns = first_step_ns + (window.number - 4) * writer.period_ns;
    CHECK(window.start_ns == begin_ns + (window.number == 5 ? 3'000'000 : 7'000'000));
    CHECK(window.end_ns == begin_ns + 7'000'000 + writer.period_ns);
  }
}

// ---- ranks

TEST_CASE("kineto streams: a rank with other gradients is named, whichever file comes first") {
  KinetoWriter stage;
  stage.rank = 1;
  stage.elements = {1000, 2'000'000, 300'000};
  stage.buckets = {2, 1};
  const KinetoWriter other;
  for (const auto& files : {std::vector{stage, other}, std::vector{other, stage}}) {
    const Recording both = recording(files);
    CHECK(both.ready.size() == 4);
    CHECK(trace_of(both, std::nullopt, "x").trace.layers.size() == 4);
    CHECK(warns(both.warnings,
                "no step of it is used: ranks differ in their gradients (a "
                "pipeline?); give the files of one stage"));
    // Two steps against two.
    CHECK(warns(both.warnings, "it has 3 gradients, those that are used have 4 gradients"));
    CHECK(!warns(both.warnings, "most steps"));
  }
}

// ---- what other collectives take behind the last gradient

const char* const facts_of_shards =
    R"("Collective name": "allreduce", "In msg nelems": 250000, "Out msg nelems": 250000,)"
    R"("Group size": 2, "dtype": "Float", "Process Group Name": "2")";
const char* const facts_of_scattered =
    R"("Collective name": "_reduce_scatter_base", "In msg nelems": 1000000,)"
    R"("Out msg nelems": 500000, "Group size": 2, "dtype": "Float", "Process Group Name": "1")";

// Gradients are ready at 13.6 ms; an all-reduce of 0.5 ms comes 1.6 ms later, perhaps behind a
// reduce-scatter of that time.
KinetoWriter sharded(bool scatters) {
  KinetoWriter writer;
  writer.buckets = {};
  const int64_t ready_ns = first_kernel_ns + writer.ready_ns(3);
  std::vector<BesideWork> all;
  if (scatters)
    all.push_back({{"kernel", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", 0, 20, ready_ns,
                    1'600'000, facts_of_scattered},
                   2919752,
                   last_gradient_ns + 50'000});
  all.push_back({{"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 0, 20,
                  ready_ns + 1'600'000, 500'000, facts_of_shards},
                 2919752,
                 last_gradient_ns + 60'000});
  writer.more_events = in_each_step(writer, all);
  return writer;
}

TEST_CASE("kineto streams: a reduce-scatter before the all-reduce of shards is not its time") {
  const Recording one = recorded(sharded(true));
  REQUIRE(one.buckets.size() == 1);
  CHECK(one.exposed == Duration::us(500));
  CHECK(one.others == Duration::us(1600));
  CHECK(one.unhidden == Duration::us(2100));
  CHECK(one.update == Duration::us(50'000 - 13'600 - 500));
  Duration sum;
  for (const RecordedPart& part : one.parts) sum += part.time;
  CHECK(sum == one.iteration);
}

// The second has a pause in place of the reduce-scatter, which is no waiting for other ranks
// either: the all-reduce itself took its shortest time.
TEST_CASE("kineto streams: what is no longer all-reduce is no waiting for other ranks") {
  for (const bool scatters : {true, false}) {
    INFO(scatters);
    const Temporary folder(Temporary::Kind::folder);
    const std::string file = folder.name() + "/run.json";
    std::ofstream(file) << sharded(scatters).text();
    const Ran ran = run_sgdsim({"advise", file});
    INFO(ran.out);
    REQUIRE(ran.exit_code == 0);
    CHECK(contains(ran.out, "an iteration takes at least 47.900 ms"));
    CHECK(!contains(ran.out, "waiting for other ranks"));
    CHECK(contains(ran.out, scatters ? "replayed 50.000 ms" : "replayed 48.400 ms"));
  }
}

}  // namespace
}  // namespace sgdsim
