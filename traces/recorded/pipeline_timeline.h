// Timelines of Megatron's training steps as the StragglerAnalysis artefact writes them (ByteDance
// Seed, Apache-2.0): Chrome events, of which `name` is the operation, `pid` the data-parallel rank,
// the name of the thread the pipeline stage, and `args` the step, model chunk and micro-batch.
#pragma once

#include <optional>
#include <string_view>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/work/step_record.h"

namespace sgdsim {

// By its beginning.
bool is_pipeline_timeline(std::string_view head);

// Of a timeline of training steps, by its beginning: what it is and what reads it; else nothing.
std::string recorded_timeline_text(std::string_view head);

// InputError if it holds no step. `steps`: the numbers that are kept; empty: all.
StepRecord read_pipeline_timeline(ByteSource& source, const std::vector<int64_t>& steps);

// ---- for readers of step records

inline constexpr std::size_t most_recorded_operations = 20'000'000;
inline constexpr int64_t most_recorded_number = 1'000'000;  // of a rank, chunk, micro-batch
inline constexpr int most_recorded_workers = 1 << 20;
// A day: longer steps are mistakes of clocks.
inline constexpr int64_t longest_step_ns = 86'400'000'000'000;

// "3, 4, 5", the first eight.
std::string short_list(const std::vector<int64_t>& numbers);
// "step 4 is", "steps 3, 4 are"; `is_one` and `are_many`: what stands behind the numbers.
std::string steps_that(const std::vector<int64_t>& steps, const std::string& is_one,
                       const std::string& are_many);
// None of the steps that somebody chose is there.
InputError no_such_step(const std::string& file, const std::vector<int64_t>& wanted,
                        const std::vector<int64_t>& present);

// Where "rank 3" stands behind "rank ": 3.
std::optional<int64_t> number_behind(std::string_view text, std::string_view words);

// Numbers steps, replicas, stages and chunks without gaps, says what is missing, and refuses steps
// that nobody could have waited for. `names`: what replicas and stages were called.
void close_record(StepRecord& record);

}  // namespace sgdsim
