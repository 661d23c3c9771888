// Timelines of Megatron's training steps as the StragglerAnalysis artefact writes them (ByteDance
// Seed, Apache-2.0): Chrome events, of which `name` is the operation, `pid` the data-parallel rank,
// the name of the thread the pipeline stage, and `args` the step, model chunk and micro-batch.
#pragma once

#include <optional>
#include <string_view>

#include "sim/work/step_record.h"
#include "traces/byte_source.h"

namespace sgdsim {

// By its beginning.
bool is_pipeline_timeline(std::string_view head);

// InputError if it holds no step. `steps`: the numbers that are kept; empty: all.
StepRecord read_pipeline_timeline(ByteSource& source, const std::vector<int64_t>& steps);

// ---- for readers of step records

inline constexpr std::size_t most_recorded_operations = 20'000'000;
inline constexpr int64_t most_recorded_number = 1'000'000;  // of a rank, chunk, micro-batch
inline constexpr int most_recorded_workers = 1 << 20;
// A day: longer steps are mistakes of clocks.
inline constexpr int64_t longest_step_ns = 86'400'000'000'000;

// Where "rank 3" stands behind "rank ": 3.
std::optional<int64_t> number_behind(std::string_view text, std::string_view words);

// Numbers steps, replicas, stages and chunks without gaps, says what is missing, and refuses steps
// that nobody could have waited for. `names`: what replicas and stages were called.
void close_record(StepRecord& record);

}  // namespace sgdsim
