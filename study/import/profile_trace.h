// Profiles of PyTorch where a trace or an experiment is expected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/kineto/to_trace.h"

namespace sgdsim {

// Whether a file is such a profile, by its beginning (it may be large, and compressed), or a folder
// that holds some; or an execution trace, in which case reading it says what is missing.
bool is_profile(const std::string& file);
bool is_execution_trace_file(const std::string& file);
bool is_folder(const std::string& file);
// The files of a folder that are profiles, by name; of a file itself.
std::vector<std::string> profiles_in(const std::string& file);

// InputError if it is a timeline of training steps, which `sgdsim diagnose` reads, or else a file
// of which something is known that helps. `before`: how the sentence of a timeline begins.
void refuse_timeline(const std::string& file, const std::string& before);
// InputError if the beginning of a file is that of a kind which another command reads, or none
// does.
void refuse_unread(const std::string& file, const std::string& head);

struct RecordedStep {
  std::string file;
  profiler::Recording recording;
  profiler::ImportedStep step;
  std::string why_no_trace;  // it has no trace; empty: it has

  // Why the step cannot be played as it was recorded; empty: it can.
  std::string why_no_replay() const;
};
RecordedStep recorded_step(const std::string& file);

// A profile that cannot be played, with what it says all the same.
struct NoReplay : InputError {
  explicit NoReplay(std::shared_ptr<const RecordedStep> step);
  std::shared_ptr<const RecordedStep> recorded;
};

// The trace of a profile; where it does not say the sizes of gradients, the bytes of a bucket are
// divided among them.
Trace trace_of_profile(const std::string& file);
// "nccl_data" of "a/nccl_data.json.gz".
std::string name_of_profile(const std::string& file);

// ---- the recorded step as an experiment

// The shortest time that was recorded for each size.
Json recorded_curve(const profiler::Recording& recording);
// The whole; `with_exchange` says whether also the cluster and what its all-reduces take.
Json experiment_of(const RecordedStep& recorded, bool with_exchange);
// Strategy: the recorded buckets. Nothing for one rank alone.
Json recorded_strategy(const profiler::Recording& recording);
// Cluster, collective and fidelity: as many ranks as were recorded, whose all-reduces take the
// recorded time.
Json recorded_exchange(const profiler::Recording& recording);

}  // namespace sgdsim
