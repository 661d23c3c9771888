// The job behind tests/data/slow_host.json.gz, which docs/diagnose.md looks at: 4 stages and
// 3 replicas, passes of 10 and 20 ms that differ by up to 0.4 ms, and stage 2 of replica 1, which
// computes 1.3 times as long.
#pragma once

#include "tests/pipeline_job.h"

namespace sgdsim {

inline PipelineJob shipped_job() {
  PipelineJob job;
  job.replicas = 3;
  job.micro_batches = 6;
  job.steps = 3;
  job.first_step = 120;
  job.pass = [](int step, int replica, int stage, int micro_batch, bool is_backward) {
    const int64_t length_ns =
        (is_backward ? 20'000'000 : 10'000'000) +
        (37 * step + 23 * replica + 17 * stage + 11 * micro_batch) % 5 * 100'000;
    return replica == 1 && stage == 2 ? length_ns * 13 / 10 : length_ns;
  };
  return job;
}

// The same a week before, behind tests/data/usual_host.json.gz: no worker is slow.
inline PipelineJob usual_job() {
  PipelineJob job = shipped_job();
  job.first_step = 20;
  job.pass = [slow = job.pass](int step, int replica, int stage, int micro_batch,
                               bool is_backward) {
    const int64_t length_ns = slow(step, replica, stage, micro_batch, is_backward);
    return replica == 1 && stage == 2 ? length_ns * 10 / 13 : length_ns;
  };
  return job;
}

}  // namespace sgdsim
