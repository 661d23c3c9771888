// The profiles of one rank or several, put together: one step as it usually was.
//
// Times are medians over all steps of all ranks. The transfer time of a bucket is the least
// duration of its all-reduce over ranks and steps, because the rank that comes last does not wait;
// what a kernel takes beyond that is waiting. Parts of the step are medians too, but for the time
// in which nothing runs: it is the rest, so that they add up to the iteration.
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
  bool numbers_files = false;                // where they do not say their ranks, nor their names
};

enum class PartKind : uint8_t { gradients, others, computing, copying, loading, idle };

struct RecordedPart {
  PartKind kind = PartKind::idle;
  std::string name;  // "computing"
  Duration time;

  bool is_communication() const { return kind <= PartKind::others; }
};

// All of one kind, group and size, in a step on average.
struct RecordedCollective {
  std::string kind;
  int64_t group_size = 0;  // 0: not said
  int64_t size_B = -1;     // that go in, each time; -1: not said
  bool is_bucket = false;
  double count = 0;
  Duration time;
  Duration alone;  // that nothing hides; of buckets 0: the step's exposed time is theirs
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
  Duration exposed;                 // of the gradients' exchange
  Duration others;                  // other collectives that nothing hides
  Duration unhidden;                // all collectives while no kernel computes
  std::vector<RecordedPart> parts;  // the first are communication, the last is the rest
  std::vector<RecordedCollective> collectives;
  std::vector<GradientBucket> buckets;
  std::vector<GradientSize> sizes;  // of the gradients
  bool is_ready_by_bucket = false;
  std::optional<int64_t> last_rank;  // that the others wait for
  std::vector<std::string> warnings;

  std::string steps_text() const;  // "steps 5, 6 of rank 0"
  bool has_bucket_sizes() const;
  bool has_gradient_sizes() const;
  Duration part(PartKind kind) const;
};

// What the name of a file says: 3 of "trace_rank3.json".
std::optional<int64_t> rank_in(const std::string& file);

// The first step that was used.
const ProfiledStep& any_step(const std::vector<RankProfile>& profiles);

Recording recording_of(std::vector<RankProfile> profiles, const ProfileOptions& options);

}  // namespace sgdsim::profiler
