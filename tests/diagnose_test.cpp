// What-if on recorded steps: small jobs whose every moment is drawn by hand, and records that lack
// something.
//
// Two stages, one replica, two micro-batches; forward 10 and 20 ms, backward 20 and 40 ms, each
// send 5 ms, then clipping 1 ms and the optimizer 3 ms. F, B: passes; a number is the micro-batch.
//
//   as recorded   stage 0  F0 0-10  F1 10-20                      B0 80-100           B1 140-160
//                 stage 1           F0 15-35  B0 35-75   F1 75-95    B1 95-135
//                 the receive of F1 waits for the end of F0: 35-40; B0 75-80, B1 135-140
//   ideal         stage 0  F0 0-15  F1 15-30             B0 70-100           B1 115-145
//   (15 and 30)   stage 1           F0 20-35  B0 35-65   F1 65-80  B1 80-110
//   last ideal    stage 0  F0 0-10  F1 10-20          B0 65-85           B1 110-130
//                 stage 1           F0 15-30 B0 30-60  F1 60-75 B1 75-105
//   first ideal   stage 0  F0 0-15  F1 15-30             B0 85-115          B1 145-175
//                 stage 1           F0 20-40 B0 40-80  F1 80-100 B1 100-140
// With clipping and the optimizer: 164, 149, 134 and 179 ms.
#include <doctest/doctest.h>
#include <fstream>

#include "models/diagnose/clocks.h"
#include "models/diagnose/diagnosis.h"
#include "sim/core/json.h"
#include "study/diagnose/diagnose_answer.h"
#include "study/diagnose/record_source.h"
#include "study/diagnose/what_if.h"
#include "tests/pipeline_job.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

using namespace diagnose;

constexpr int64_t ms = 1'000'000;

PipelineJob drawn_job() {
  PipelineJob job;
  job.replicas = 1;
  job.stages = 2;
  job.micro_batches = 2;
  job.pass = [](int, int, int stage, int, bool is_backward) {
    return (stage == 0 ? 10 : 20) * (is_backward ? 2 : 1) * ms;
  };
  job.send = [](int, int, int, int, bool) { return 5 * ms; };
  return job;
}

StepRecord read_text_as_record(const std::string& text, const std::vector<int64_t>& steps = {}) {
  ByteSource source(text, "record.json");
  return read_pipeline_timeline(source, steps);
}

Diagnosis diagnosed(const StepRecord& record, int layers = 0) {
  return diagnose::diagnose(work_of(record), {.layers = layers, .what_ifs = {}});
}

bool is_near(double value, double expected) {
  return std::abs(value - expected) <= 1e-9 * std::abs(expected);
}

TEST_CASE("diagnose: two stages as drawn") {
  const Diagnosis of = diagnosed(drawn_job().record(), 4);
  CHECK(is_near(of.played_s, 0.164));
  CHECK(is_near(of.measured_s, 0.164));
  CHECK(is_near(of.ideal_s, 0.149));
  CHECK(is_near(of.slowdown(), 164. / 149));
  CHECK(is_near(of.waste(), 15. / 164));
  REQUIRE(of.stages.size() == 2);
  CHECK(is_near(of.stages[0].slowdown, 134. / 149));
  CHECK(is_near(of.stages[1].slowdown, 179. / 149));
  REQUIRE(of.last_stage);
  CHECK(is_near(*of.last_stage, 30. / 15));  // it may exceed 1
  // The only replica is the whole job.
  REQUIRE(of.replicas.size() == 1);
  CHECK(is_near(of.replicas[0].slowdown, 164. / 149));
  CHECK(of.workers.front().worker == 1);
  CHECK(is_near(of.workers.front().slowdown, 164. / 149));
  // Two layers a stage: one of 10 and 20 ms less on the last stage, one more on the first. A layer
  // takes half of stage 0: 5 and 10 ms, so that both stages have 15 and 30.
  REQUIRE(of.fewer_layers_s);
  CHECK(is_near(*of.fewer_layers_s, 0.149));
}

// One stage, two replicas: forward 10 and 20, backward 20 and 40, reduction 6, optimizer 3 and
// clipping 1: T = 60 + 10, T_ideal = 45 + 10. Only replica 0 as recorded: 45 of the other one
// count. Only forward as recorded: 20 + 30; only backward: 15 + 40.
TEST_CASE("diagnose: two replicas") {
  PipelineJob job;
  job.stages = 1;
  job.micro_batches = 1;
  job.pass = [](int, int replica, int, int, bool is_backward) {
    return (replica == 0 ? 10 : 20) * (is_backward ? 2 : 1) * ms;
  };
  job.reduce = [](int, int) { return 6 * ms; };
  const Diagnosis of = diagnosed(job.record());
  CHECK(is_near(of.played_s, 0.070));
  CHECK(is_near(of.ideal_s, 0.055));
  CHECK(is_near(of.replicas[0].slowdown, 1));
  CHECK(is_near(of.replicas[1].slowdown, 70. / 55));
  CHECK(!of.last_stage);  // there is no pipeline
  REQUIRE(of.slow_workers);
  CHECK(is_near(*of.slow_workers, 1));
  CHECK(of.slowest == std::vector<int>{1});
  REQUIRE(of.kinds.size() == 5);
  CHECK(of.kinds[0].name == "forward-compute");
  CHECK(is_near(of.kinds[0].slowdown, 60. / 55));
  CHECK(of.kinds[1].name == "backward-compute");
  CHECK(is_near(of.kinds[1].slowdown, 65. / 55));
  // Replica 1 at the pace of the other one: 30 + 10.
  REQUIRE(!of.parts.empty());
  CHECK(of.parts[0].kind == PartKind::worker);
  CHECK(of.parts[0].worker == 1);
  CHECK(is_near(of.parts[0].saved_s, 0.030));
}

// Exchanges: the median, and only what comes after the last start. Reductions of 4 steps take 6, 6,
// 6 and 46 ms: mean 16, median 6. Replica 1 starts 30 ms later, which is waiting of replica 0.
TEST_CASE("diagnose: the ideal of an exchange is a median, without waiting") {
  PipelineJob job;
  job.stages = 1;
  job.micro_batches = 1;
  job.pass = [](int, int replica, int, int, bool is_backward) {
    return (is_backward ? 20 : replica == 0 ? 10 : 40) * ms;
  };
  job.reduce = [](int step, int) { return (step == 3 ? 46 : 6) * ms; };
  const Diagnosis of = diagnosed(job.record());
  CHECK(is_near(of.steps_s[0], 0.070));
  CHECK(is_near(of.steps_s[3], 0.110));
  CHECK(is_near(of.ideal_s, 0.055));  // 25 + 20 + 6 + 1 + 3
}

// Four virtual stages on two ranks, one micro-batch: forward 0, 1, 2, 3 and back is a chain of 4
// passes of 10 and 4 of 20 ms and 6 sends of 5 ms, then 4 ms: 154. What the profiler records
// besides at both ends of the model was never launched: a receive of 500 ms, a send of 700 ms.
TEST_CASE("diagnose: sends at the ends of virtual stages are none") {
  StepRecord record;
  record.file = "virtual";
  record.steps = {1};
  record.stages = 2;
  record.chunks = 2;
  int64_t now = 1000 * ms;
  const auto add = [&](Recorded kind, int stage, int chunk, int64_t start, int64_t end) {
    record.operations.push_back({start, end, 0, 0, stage, chunk, 0, 0, kind});
  };
  for (int place = 0; place < 4; ++place) {
    if (place > 0) {
      add(Recorded::forward_send, (place - 1) % 2, (place - 1) / 2, now, now + 5 * ms);
      add(Recorded::forward_receive, place % 2, place / 2, now - ms, now + 5 * ms);
      now += 5 * ms;
    } else {
      add(Recorded::forward_receive, 0, 0, now - 500 * ms, now);
    }
    add(Recorded::forward, place % 2, place / 2, now, now + 10 * ms);
    now += 10 * ms;
  }
  add(Recorded::forward_send, 1, 1, now, now + 700 * ms);
  add(Recorded::backward_receive, 1, 1, now - 300 * ms, now);
  for (int place = 3; place >= 0; --place) {
    if (place < 3) {
      add(Recorded::backward_send, (place + 1) % 2, (place + 1) / 2, now, now + 5 * ms);
      add(Recorded::backward_receive, place % 2, place / 2, now - ms, now + 5 * ms);
      now += 5 * ms;
    }
    add(Recorded::backward, place % 2, place / 2, now, now + 20 * ms);
    now += 20 * ms;
  }
  add(Recorded::backward_send, 0, 0, now, now + 900 * ms);
  for (int stage = 0; stage < 2; ++stage) {
    add(Recorded::clip, stage, 0, now, now + ms);
    add(Recorded::optimizer, stage, 0, now + ms, now + 4 * ms);
  }
  const Diagnosis of = diagnosed(record);
  CHECK(is_near(of.played_s, 0.154));
}

// Overlapped gradients: chunk 1's reduction begins when its backward pass has ended, while chunk 0
// computes. Forward 10, 10, backward of chunk 1 30, of chunk 0 20, reductions 25 and 5: the first
// from 50 to 75, the second from 75 (the stream is busy) to 80, then separate 2, clip 1,
// optimizer 3.
TEST_CASE("diagnose: overlapped gradients") {
  StepRecord record;
  record.file = "overlap";
  record.steps = {1};
  record.replicas = 2;
  record.chunks = 2;
  record.overlaps = true;
  for (int replica = 0; replica < 2; ++replica) {
    const auto add = [&](Recorded kind, int chunk, int64_t start, int64_t end) {
      record.operations.push_back({start * ms, end * ms, 0, replica, 0, chunk, 0, 0, kind});
    };
    add(Recorded::forward, 0, 0, 10);
    add(Recorded::forward, 1, 10, 20);
    add(Recorded::backward, 1, 20, 50);
    add(Recorded::backward, 0, 50, 70);
    add(Recorded::reduce, 1, 50, 75);
    add(Recorded::reduce, 0, 75, 80);
    add(Recorded::separate, 0, 80, 82);
    add(Recorded::clip, 0, 82, 83);
    add(Recorded::optimizer, 0, 83, 86);
  }
  CHECK(is_near(diagnosed(record).played_s, 0.086));
}

TEST_CASE("diagnose: a step is played as it was recorded") {
  PipelineJob job;
  job.replicas = 3;
  job.pass = [](int step, int replica, int stage, int micro_batch, bool is_backward) {
    return ((is_backward ? 20 : 10) + (7 * step + 5 * replica + 3 * stage + micro_batch) % 11) * ms;
  };
  job.send = [](int step, int replica, int stage, int micro_batch, bool) {
    return (1 + (step + replica + stage + micro_batch) % 5) * ms;
  };
  const StepRecord record = job.record();
  CHECK(is_near(diagnosed(record).played_s, job.step_s()));
  // Through its file.
  const StepRecord read = read_text_as_record(timeline_text(record));
  CHECK(read.replicas == 3);
  CHECK(read.stages == 4);
  CHECK(read.steps == record.steps);
  CHECK(is_near(diagnosed(read).played_s, job.step_s()));
  const StepRecord two = read_text_as_record(timeline_text(record), {11, 12});
  CHECK(two.steps == std::vector<int64_t>{11, 12});
}

TEST_CASE("diagnose: clocks that are off are aligned") {
  PipelineJob job;
  const double expected = job.step_s();
  job.clock = [](int replica, int stage) { return (replica * 7 - stage * 3) * ms; };
  const ClockedWork found = clocked_work(job.record(), ClockRule::by_record, Clocks::said_to_agree);
  REQUIRE(found.aligned_ns);
  // Stages of replica 0 are off by 0 to -9 ms, those of replica 1 by 7 to -2, from the first one.
  CHECK(*found.aligned_ns == 9 * ms);
  CHECK(is_near(diagnose::diagnose(found.work).played_s, expected));
  // Good clocks are left alone.
  job.clock = [](int, int) { return 0; };
  CHECK(!clocked_work(job.record(), ClockRule::by_record, Clocks::said_to_agree).aligned_ns);
}

TEST_CASE("diagnose: steps that are not whole are left out, with a sentence") {
  StepRecord record = drawn_job().record();
  // The last operation of the last step is missing, as in a file that was cut off.
  record.operations.pop_back();
  const StepWork work = work_of(record);
  CHECK(work.steps == std::vector<int64_t>{10, 11, 12});
  REQUIRE(work.left_out.size() == 1);
  CHECK(work.left_out[0] == "step 13 is left out: it has 1 of optimizer, and most steps have 2");
  // Nothing of a worker in any step.
  std::erase_if(record.operations, [](const RecordedOperation& one) { return one.stage == 1; });
  CHECK(holds(refusal_of([&] { work_of(record); }), "nothing was recorded of stage 1"));
}

// PipelineJob's default: 4 stages, 8 micro-batches, passes of 10 and 20 ms, sends of 1 ms.
TEST_CASE("diagnose: a step with other times") {
  const PipelineJob job;
  const diagnose::StepWork work = diagnose::work_of(job.record());
  const auto step_of = [&](const std::string& words) {
    const diagnose::DiagnoseOptions options{.layers = 0, .what_ifs = what_ifs_of({words})};
    return diagnose::diagnose(work, options).what_ifs.at(0).step_s;
  };
  PipelineJob quick = job;
  quick.pass = [](int, int, int, int, bool is_backward) {
    return is_backward ? 10'000'000 : 5'000'000;
  };
  quick.optimizer_ns = job.optimizer_ns / 2;
  CHECK(step_of("computing=0.5") == doctest::Approx(quick.step_s()).epsilon(1e-12));
  PipelineJob slow = job;
  slow.send = [](int, int, int, int, bool) { return 3'000'000; };
  slow.reduce = [](int, int) { return 4'000'000; };
  CHECK(step_of("sends=3,replicas=0.5") == doctest::Approx(slow.step_s()).epsilon(1e-12));
  CHECK(step_of("sends=1") == doctest::Approx(job.step_s()).epsilon(1e-12));
  // Other numbers of replicas, alike or not; a ring among n moves (n - 1) / n of each byte.
  for (const int replicas : {1, 2, 3, 7}) {
    CAPTURE(replicas);
    PipelineJob other = job;
    other.replicas = replicas;
    other.reduce = [replicas](int, int) { return 16'000'000 * (replicas - 1) / replicas; };
    CHECK(step_of("dp=" + std::to_string(replicas)) ==
          doctest::Approx(other.step_s()).epsilon(1e-8));
  }
  for (const char* const wrong : {"dp=0", "dp=x", "dp=2,dp=3", "dp", "dp=99999999", "", "sends",
                                  "sends=", "sends=-1", "sends=nan", "sends=101", "sends=1x",
                                  "waiting=0", "computing=0.5,forward=1", "sends=1,,sends=2"})
    CHECK(holds(refusal_of([&] { what_ifs_of({wrong}); }), "--what-if"));
  CHECK(holds(refusal_of([&] { check_what_ifs(what_ifs_of({"dp=1000000"}), work); }), "--steps"));
  const diagnose::StepWork alone = diagnose::work_of(drawn_job().record());
  CHECK(holds(refusal_of([&] { check_what_ifs(what_ifs_of({"dp=2"}), alone); }), "one replica"));
}

// Replicas 0 and 2 are quick, replica 1 takes twice as long: two are as slow as three, one is not.
TEST_CASE("diagnose: fewer and more replicas keep who was slow") {
  PipelineJob job;
  job.replicas = 3;
  job.reduce = [](int, int) { return 0; };
  job.pass = [](int, int replica, int, int, bool is_backward) {
    return (is_backward ? 20'000'000 : 10'000'000) * (replica == 1 ? 2 : 1);
  };
  PipelineJob quick = job;
  quick.pass = PipelineJob().pass;
  const diagnose::StepWork work = diagnose::work_of(job.record());
  const auto step_of = [&](int replicas) {
    const diagnose::StepWork other = diagnose::with_replicas(work, replicas);
    CHECK(other.workers() == 4 * replicas);
    return diagnose::played_s(other, other.recorded);
  };
  CHECK(step_of(1) == doctest::Approx(quick.step_s()).epsilon(1e-12));
  for (const int replicas : {2, 3, 4, 8})
    CHECK(step_of(replicas) == doctest::Approx(job.step_s()).epsilon(1e-12));
}

TEST_CASE("diagnose: what is no record is refused") {
  struct Row {
    std::string reason;
    std::string text;
    std::string expected;
  };
  const std::string begin = R"([{"name":"forward-compute","ph":"X","pid":0,"tid":0,)";
  const std::string thread =
      R"({"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, x"}}])";
  const std::vector<Row> rows = {
      {"no events", "[]", "holds no training step"},
      {"no step", begin + R"("ts":0,"dur":1,"args":{}},)" + thread, "has no \"step\""},
      {"no stage", begin + R"("ts":0,"dur":1,"args":{"step":1}}])", "which stage is it of?"},
      {"a time that is a word", begin + R"("ts":"soon","dur":1,"args":{"step":1}},)" + thread,
       "\"ts\" must be a time"},
      {"less than nothing", begin + R"("ts":0,"dur":-1,"args":{"step":1}},)" + thread,
       "\"dur\" is less than 0"},
      {"a year", begin + R"("ts":0,"dur":3e13,"args":{"step":1}},)" + thread, "more than a day"},
      {"clocks of two centuries",
       begin + R"("ts":0,"dur":1,"args":{"step":1}},)" + begin.substr(1) +
           R"("ts":1e15,"dur":1,"args":{"step":1}},)" + thread,
       "lasts more than a day"},
      {"too large a chunk",
       begin + R"("ts":0,"dur":1,"args":{"step":1,"model_chunk":10000000}},)" + thread,
       "\"model_chunk\" must be a whole number"},
      {"ranks and stages without operations",
       begin + R"("ts":0,"dur":1,"args":{"step":1}},)" +
           R"({"name":"forward-compute","ph":"X","pid":7,"tid":9,"ts":0,"dur":1,)" +
           R"("args":{"step":1}},{"name":"thread_name","ph":"M","pid":7,"tid":9,)" +
           R"("args":{"name":"PP rank 5, TP rank 0, x"}},)" + thread,
       "has 2 replicas of 2 stages, but only 2 operations"},
      {"no JSON", "[{]", "expected"}};
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    const std::string found = refusal_of([&] { read_text_as_record(row.text); });
    CHECK_MESSAGE(holds(found, row.expected), found);
  }
}

// Its beginning would be gone when it is read, and a named pipe would be waited for without end.
TEST_CASE("diagnose: a pipe is refused") {
  const std::vector<std::string> lines = {
      "mkfifo record; timeout 10 sh -c '\"$0\" diagnose record' \"" SGDSIM_PROGRAM "\"",
      "cat tests/data/slow_host.json.gz | sgdsim diagnose /dev/stdin"};
  for (const std::string& line : lines) {
    const Ran ran = run_shell_line(line);
    CHECK(ran.exit_code == 2);
    CHECK_MESSAGE(holds(ran.log, "so it cannot be a pipe; give a file"), ran.log);
  }
}

// All that is known of a step is that nothing in it takes time.
TEST_CASE("diagnose: steps of nothing") {
  PipelineJob job;
  job.pass = [](int, int, int, int, bool) { return 0; };
  job.send = [](int, int, int, int, bool) { return 0; };
  job.reduce = [](int, int) { return 0; };
  job.clip_ns = job.optimizer_ns = 0;
  const Diagnosis of = diagnosed(job.record());
  CHECK(of.slowdown() == 1);
  CHECK(of.waste() == 0);
  CHECK(!of.last_stage);
  CHECK(of.parts.empty());
}

}  // namespace
}  // namespace sgdsim
