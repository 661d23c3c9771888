// The profiles of one rank or several, put together: one step as it usually was.
//
// Times are medians over all steps of all ranks. The transfer time of a bucket is the least
// duration of its all-reduce over ranks and steps, because the rank that comes last does not wait;
// what a kernel takes beyond that is waiting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "traces/kineto/name_pattern.h"
#include "traces/kineto/steps.h"

namespace sgdsim::profiler {

struct ProfileOptions {
  bool keep_first = false;
  std::optional<NamePattern> communication;  // kernels besides those of NCCL and RCCL
  std::vector<int64_t> rank;                 // of each file, where files do not say
  std::optional<int64_t> ranks;              // of the job, where files do not say
};

struct GradientBucket {
  int64_t elements = -1;  // -1: not known
  std::string type;
  Bytes size;
  Duration recorded;  // median
  Duration transfer;
  std::size_t gradients =
      0;  // whose operators began before its launch, and not before the last one
};

struct Recording {
  std::vector<RankProfile> profiles;  // with the steps that were used
  int64_t ranks = 1;
  int64_t group_size = 1;  // of those that exchange gradients
  std::vector<Duration> ready;
  Duration forward;
  Duration update;
  Duration iteration;
  Duration exposed;
  std::vector<GradientBucket> buckets;
  std::vector<std::string> warnings;

  std::string steps_text() const;  // "steps 5, 6 of rank 0"
  bool has_bucket_sizes() const;
};

Recording recording_of(std::vector<RankProfile> profiles, const ProfileOptions& options);

}  // namespace sgdsim::profiler
