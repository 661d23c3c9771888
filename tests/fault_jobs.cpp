// Lengths are functions of the place and the seed, so that a job is the same however it is played.
#include "tests/fault_jobs.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace sgdsim {
namespace {

using diagnose::PartKind;

uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}
uint64_t hash(uint64_t seed, std::initializer_list<int> place) {
  uint64_t value = mixed(seed);
  for (const int one : place) value = mixed(value ^ static_cast<uint64_t>(one + 1));
  return value;
}
double uniform(uint64_t seed, std::initializer_list<int> place) {
  return static_cast<double>(hash(seed, place) >> 11) * 0x1p-53;
}
// Nearly normal: the sum of twelve.
double normal(uint64_t seed, std::initializer_list<int> place) {
  const uint64_t base = hash(seed, place);
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(base, {i});
  return sum;
}
int chosen(uint64_t seed, int what, int from, int to) {
  return from + static_cast<int>(hash(seed, {1000 + what}) % static_cast<uint64_t>(to - from + 1));
}

// What makes a job as the seed says; `strength` is how bad the fault is.
struct Maker {
  Fault fault;
  uint64_t seed;
  int replicas = chosen(seed, 1, 2, 4);
  int stages = chosen(seed, 2, 3, 6);
  int micro_batches = chosen(seed, 3, 4, 12);
  int worker_replica = chosen(seed, 4, 0, replicas - 1);
  int worker_stage = chosen(seed, 5, 0, stages - 1);
  int link_stage = chosen(seed, 6, 0, stages - 2);
  int64_t send_ns = chosen(seed, 7, 1'000'000, 3'000'000);
  int64_t forward_ns = chosen(seed, 8, 8'000'000, 15'000'000);

  double pass_factor(int step, int replica, int stage, int micro_batch, bool back,
                     double strength) const {
    const bool is_worker = replica == worker_replica && stage == worker_stage;
    switch (fault) {
      case Fault::slow_gpu:
        return is_worker ? 1 + strength : 1;
      case Fault::long_last_stage:
        return stage == stages - 1 ? 1 + strength : 1;
      case Fault::sequences:
        // Work grows with the square of lengths, which are drawn anew for every micro-batch.
        return std::pow(1 + strength * uniform(seed, {21, step, replica, micro_batch}), 2);
      case Fault::pauses:
        return uniform(seed, {22, step, replica, stage, micro_batch, back ? 1 : 0}) < 0.02
                   ? 2 + 20 * strength
                   : 1;
      case Fault::none:
      case Fault::slow_link:
      case Fault::flapping_card:
        break;
    }
    return 1;
  }
  bool flaps(int step, int what) const { return uniform(seed, {23, step, what}) < 0.3; }

  PipelineJob job(double strength) const {
    PipelineJob job;
    job.replicas = replicas;
    job.stages = stages;
    job.micro_batches = micro_batches;
    job.steps = 8;
    const Maker maker = *this;
    job.pass = [maker, strength](int step, int replica, int stage, int micro_batch, bool back) {
      const double jitter =
          1 + 0.01 * normal(maker.seed, {11, step, replica, stage, micro_batch, back ? 1 : 0});
      const double length = static_cast<double>(maker.forward_ns) * (back ? 2 : 1) * jitter *
                            maker.pass_factor(step, replica, stage, micro_batch, back, strength);
      return static_cast<int64_t>(length);
    };
    job.send = [maker, strength](int step, int replica, int stage, int micro_batch, bool back) {
      const int to = back ? stage - 1 : stage + 1;
      double factor =
          1 + 0.05 * normal(maker.seed, {12, step, replica, stage, micro_batch, back ? 1 : 0});
      if (maker.fault == Fault::slow_link && replica == maker.worker_replica &&
          std::min(stage, to) == maker.link_stage)
        factor *= 1 + 40 * strength;
      if (maker.fault == Fault::flapping_card && replica == maker.worker_replica &&
          (stage == maker.worker_stage || to == maker.worker_stage) &&
          maker.flaps(step, 2 * micro_batch + (back ? 1 : 0)))
        factor *= 1 + 40 * strength;
      return static_cast<int64_t>(static_cast<double>(maker.send_ns) * factor);
    };
    job.reduce = [maker, strength](int step, int stage) {
      double factor = 1 + 0.03 * normal(maker.seed, {13, step, stage});
      if (maker.fault == Fault::flapping_card && stage == maker.worker_stage &&
          maker.flaps(step, -1))
        factor *= 1 + 40 * strength;
      return static_cast<int64_t>(4. * static_cast<double>(maker.send_ns) * factor);
    };
    job.clock = [maker](int replica, int stage) {
      return static_cast<int64_t>((2 * uniform(maker.seed, {14, replica, stage}) - 1) * 1e7);
    };
    return job;
  }

  diagnose::Part expected() const {
    const int worker = worker_replica * stages + worker_stage;
    const int link = worker_replica * stages + link_stage;
    switch (fault) {
      case Fault::slow_gpu:
        return {.kind = PartKind::worker, .worker = worker};
      case Fault::slow_link:
        return {.kind = PartKind::link, .worker = link, .peer = link + 1};
      case Fault::flapping_card:
        return {.kind = PartKind::card, .worker = worker};
      case Fault::long_last_stage:
        return {.kind = PartKind::stage, .stage = stages - 1};
      case Fault::sequences:
        return {.kind = PartKind::sequences};
      case Fault::pauses:
        return {.kind = PartKind::pauses};
      case Fault::none:
        break;
    }
    return {};
  }
};

}  // namespace

bool FaultyJob::is_found(const diagnose::Part& part) const {
  return part.kind == expected.kind && part.worker == expected.worker &&
         part.peer == expected.peer && part.stage == expected.stage;
}

FaultyJob faulty_job(Fault fault, uint64_t seed, double effect) {
  const Maker maker{fault, seed};
  const Maker clean{Fault::none, seed};
  const double without_s = clean.job(0).step_s();
  const auto effect_of = [&](double strength) {
    return maker.job(strength).step_s() / without_s - 1;
  };
  double low = 0;
  double high = 1;
  while (fault != Fault::none && high < 64 && effect_of(high) < effect) high *= 2;
  for (int i = 0; i < 10 && fault != Fault::none; ++i) {
    const double middle = (low + high) / 2;
    (effect_of(middle) < effect ? low : high) = middle;
  }
  FaultyJob result;
  result.fault = fault;
  result.job = maker.job(high);
  result.expected = maker.expected();
  result.effect = effect_of(high);
  return result;
}

}  // namespace sgdsim
