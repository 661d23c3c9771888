// What a worker does outside its passes, what is slow now and then, steps that overlap, and clocks
// of replicas: jobs of one stage whose every moment is drawn.
//
// Each replica goes on when its own step has ended. A forward pass (10 ms, if not said otherwise),
// a backward pass of 10 ms, an exchange that takes 3 ms once all are there, and the rest of the
// step (1 ms).
#include <doctest/doctest.h>
#include <fstream>
#include <functional>

#include "models/diagnose/step_shape.h"
#include "models/diagnose/usual.h"
#include "study/diagnose/diagnose_answer.h"
#include "tests/pipeline_job.h"
#include "tests/run_program.h"
#include "tests/shipped_job.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

using diagnose::Clocks;
using diagnose::PartKind;

constexpr int64_t drawn_ms = 1'000'000;

struct DrawnReplicas {
  int replicas = 4;
  int steps = 40;
  std::function<double(int step, int replica)> forward_ms = [](int, int) { return 10; };
  std::function<double(int step, int replica)> backward_ms = [](int, int) { return 10; };
  std::function<double(int step, int replica)> rest_ms = [](int, int) { return 1; };

  StepRecord record() const {
    StepRecord record;
    record.file = "drawn";
    record.replicas = replicas;
    record.overlaps = record.chunks_differ = true;
    std::vector<int64_t> now(static_cast<std::size_t>(replicas), 0);
    for (int step = 0; step < steps; ++step) {
      record.steps.push_back(step);
      std::vector<int64_t> ready;
      for (int replica = 0; replica < replicas; ++replica)
        ready.push_back(now[static_cast<std::size_t>(replica)] +
                        ns(forward_ms(step, replica) + backward_ms(step, replica)));
      const int64_t exchanged = *std::max_element(ready.begin(), ready.end()) + 3 * drawn_ms;
      for (int replica = 0; replica < replicas; ++replica) {
        int64_t& at = now[static_cast<std::size_t>(replica)];
        const int64_t forward_end = at + ns(forward_ms(step, replica));
        const int64_t own_ready = ready[static_cast<std::size_t>(replica)];
        const auto add = [&](Recorded kind, int64_t start, int64_t end) {
          record.operations.push_back({start, end, step, replica, 0, 0, 0, 0, kind});
        };
        add(Recorded::forward, at, forward_end);
        add(Recorded::backward, forward_end, own_ready);
        add(Recorded::reduce, own_ready, exchanged);
        at = exchanged + ns(rest_ms(step, replica));
        add(Recorded::optimizer, exchanged, at);
      }
    }
    return record;
  }
  DiagnoseAnswer answer() const {
    return answer_diagnose({.record = record(), .clocks = Clocks::one},
                           diagnose::ClockRule::recorded, {});
  }

 private:
  static int64_t ns(double of_ms) { return std::llround(of_ms * drawn_ms); }
};

bool is_drawn(double value_s, double expected_ms) {
  return std::abs(value_s * 1e3 - expected_ms) < 1e-6;
}

// Replica 2 loads data for 20 ms after each step: its step takes 10 + 10 + 3 + 21 = 44 ms, and the
// others wait 20 of them in the exchange. With a rest of 1 ms it takes 24. The others' next step
// begins 20 ms before that of replica 2, so that from the first start to the last end would be 64.
TEST_CASE("diagnose workers: time outside the passes is its worker's") {
  DrawnReplicas job;
  job.rest_ms = [](int, int replica) { return replica == 2 ? 21 : 1; };
  const DiagnoseAnswer answer = job.answer();
  CHECK(is_drawn(answer.diagnosis.played_s, 44));
  CHECK(is_drawn(answer.diagnosis.measured_s, 44));
  CHECK(is_drawn(answer.diagnosis.ideal_s, 23 + (21 + 3 * 1) / 4.));
  REQUIRE(answer.diagnosis.parts.size() == 1);
  const diagnose::Part& part = answer.diagnosis.parts[0];
  CHECK(part.kind == PartKind::worker);
  CHECK(part.worker == 2);
  CHECK(is_drawn(part.saved_s, 20));
  CHECK(part.outside == 1);
  CHECK(part.share == 1);
  CHECK(part_words(answer, part) == "replica 2 outside its passes (update, loading, idle time)");
}

// Passes of 13 ms and a rest of 2.6, against 10 and 2: 3 + 3 + 0.6 = 6.6 ms, of which 0.6 are 9.1
// %.
TEST_CASE("diagnose workers: a slow card is slow in its update, too") {
  DrawnReplicas job;
  job.replicas = 3;
  const auto slow = [](double usual) {
    return [usual](int, int replica) { return replica == 1 ? 1.3 * usual : usual; };
  };
  job.forward_ms = job.backward_ms = slow(10);
  job.rest_ms = slow(2);
  const DiagnoseAnswer answer = job.answer();
  REQUIRE(!answer.diagnosis.parts.empty());
  CHECK(is_drawn(answer.diagnosis.parts[0].saved_s, 6.6));
  CHECK(part_words(answer, answer.diagnosis.parts[0]) ==
        "computing of replica 1, 9.1 % of it outside the passes");
}

// A forward pass of 65 ms, and in each step of another replica one of 95: no replica is slow in
// more than a quarter of its passes, and every step is 30 ms too long.
TEST_CASE("diagnose workers: a pause of another replica in each step") {
  DrawnReplicas job;
  job.forward_ms = [](int step, int replica) { return step % 4 == replica ? 95 : 65; };
  const DiagnoseAnswer answer = job.answer();
  CHECK(is_drawn(answer.diagnosis.played_s, 95 + 10 + 3 + 1));
  REQUIRE(!answer.diagnosis.parts.empty());
  CHECK(answer.diagnosis.parts[0].kind == PartKind::pauses);
  CHECK(is_drawn(answer.diagnosis.parts[0].saved_s, 30));
  // Each replica alone is a quarter of it.
  REQUIRE(answer.diagnosis.parts.size() == 5);
  CHECK(answer.diagnosis.parts[1].kind == PartKind::worker);
  CHECK(is_drawn(answer.diagnosis.parts[1].saved_s, 30 / 4.));
}

// One replica alone is slow in fewer than half of its steps: 20 ms in 16 of 40, 30 ms in every
// fifth, both in all of its passes or in the first one only.
TEST_CASE("diagnose workers: one replica that is slow now and then is named") {
  struct Row {
    const char* reason;
    std::function<bool(int step)> is_slow;
    double by_ms;
    bool in_backward;
    double saved_ms;
  };
  const auto late = [](int step) { return step >= 24; };
  const auto fifth = [](int step) { return step % 5 == 2; };
  for (const Row& row : {Row{"throttled towards the end", late, 20, false, 20 * 16 / 40.},
                         Row{"the same in all passes", late, 20, true, 40 * 16 / 40.},
                         Row{"every fifth step", fifth, 30, false, 30 / 5.}}) {
    CAPTURE(row.reason);
    DrawnReplicas job;
    job.forward_ms = [&](int step, int replica) {
      return replica == 1 && row.is_slow(step) ? 65 + row.by_ms : 65;
    };
    job.backward_ms = [&](int step, int replica) {
      return replica == 1 && row.is_slow(step) && row.in_backward ? 65 + row.by_ms : 65;
    };
    const DiagnoseAnswer answer = job.answer();
    REQUIRE(!answer.diagnosis.parts.empty());
    CHECK(answer.diagnosis.parts[0].kind == PartKind::worker);
    CHECK(answer.diagnosis.parts[0].worker == 1);
    CHECK(is_drawn(answer.diagnosis.parts[0].saved_s, row.saved_ms));
  }
}

// Of 0.9, 0.9002, ... 1.1 the lower quartile is 0.95: 0.05 / 0.6745 x 5 = 0.3706. A tenth of that
// spread would be 3.7 %, which counts as 5.
TEST_CASE("diagnose workers: what is slow is told from jitter by the spread") {
  const auto spread = [](double most) {
    std::vector<double> ratios;
    for (int i = -500; i <= 500; ++i) ratios.push_back(1 + most * i / 500);
    return ratios;
  };
  CHECK(diagnose::margin_of_slow(spread(0.1)) == doctest::Approx(0.3706).epsilon(1e-3));
  CHECK(diagnose::margin_of_slow(spread(0.01)) == doctest::Approx(0.05));
  // A fifth of them twice as long: the median is the 625th of 1,001 (0.025), the lower quartile the
  // 312th (-0.0375): 1 - 0.9625 / 1.025 = 0.0610, / 0.6745 x 5 = 0.452. The usual spread would have
  // become four times as large.
  std::vector<double> some = spread(0.1);
  for (int i = 0; i < 250; ++i) some.push_back(2);
  CHECK(diagnose::margin_of_slow(some) == doctest::Approx(0.452).epsilon(5e-3));
  // Passes of a usual week differ by up to 4 %: neither pauses nor slow workers.
  for (const diagnose::Part& part :
       diagnose::diagnose(diagnose::work_of(usual_job().record())).parts) {
    CHECK(part.kind != PartKind::pauses);
    CHECK(part.kind != PartKind::worker);
  }
}

// One of four replicas takes 10.4 ms for a forward pass of 10, in each step another one: 0.3 ms of
// 42.4 (10.4 + 20 + 8 + 1 + 3) more than balanced, in no part that could be repaired.
TEST_CASE("diagnose workers: waste without a part is not denied") {
  PipelineJob job;
  job.stages = job.micro_batches = 1;
  job.replicas = 4;
  job.steps = 8;
  job.pass = [](int step, int replica, int, int, bool is_backward) {
    return is_backward ? 20 * drawn_ms : 10 * drawn_ms + (step % 4 == replica ? 400'000 : 0);
  };
  const Temporary file(Temporary::Kind::file);
  std::ofstream(file.name()) << timeline_text(job.record());
  const Ran ran = run_sgdsim({"diagnose", file.name()});
  REQUIRE(ran.exit_code == 0);
  CHECK(holds(ran.out, "step          42.40 ms"));
  CHECK(holds(ran.out, "balanced      42.10 ms"));
  CHECK(holds(ran.out, "No single part explains the waste"));
  CHECK(!holds(ran.out, "No part is slower"));
}

// Steps of a pipeline: 10-50 and 60-95, whose slowest replicas take 38 and 33, do not overlap; if
// the second begins at 45 they do.
TEST_CASE("diagnose workers: what overlapping steps took is what a replica took") {
  using diagnose::StepSpans;
  std::vector<StepSpans> steps = {{10, 50, Duration::ns(38), Duration::ns(30)},
                                  {60, 95, Duration::ns(33), Duration::ns(30)}};
  CHECK(diagnose::recorded_times(steps, 4) == std::vector{Duration::ns(40), Duration::ns(35)});
  CHECK(diagnose::recorded_times(steps, 1) == std::vector{Duration::ns(38), Duration::ns(33)});
  steps[1].first_ns = 45;
  CHECK(diagnose::recorded_times(steps, 4) == std::vector{Duration::ns(38), Duration::ns(33)});
}

// Two replicas of four stages, each with one clock: of the 112 exchanges of a step only the
// reduction of each stage and clipping are between them. Clipping takes 1 ms, so it seems to end
// before the other replica begins it.
TEST_CASE("diagnose workers: clocks of replicas that disagree are aligned") {
  PipelineJob job;
  const double expected_s = job.step_s();
  for (const int64_t off_ms : {5, -5, 200, 30'000}) {
    CAPTURE(off_ms);
    job.clock = [off_ms](int replica, int) { return replica == 1 ? off_ms * drawn_ms : 0; };
    const diagnose::ClockedWork found =
        clocked_work(job.record(), diagnose::ClockRule::by_record, Clocks::said_to_agree);
    REQUIRE(found.aligned_ns);
    CHECK(*found.aligned_ns == std::abs(off_ms) * drawn_ms);
    CHECK(is_drawn(diagnose::diagnose(found.work).played_s, expected_s * 1e3));
    // A simulation has one clock, whatever its exchanges look like.
    CHECK(!clocked_work(job.record(), diagnose::ClockRule::by_record, Clocks::one).aligned_ns);
    CHECK(clocked_work(job.record(), diagnose::ClockRule::aligned, Clocks::one).aligned_ns);
  }
}

}  // namespace
}  // namespace sgdsim
