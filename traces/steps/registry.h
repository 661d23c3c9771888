// Logs that say how long steps took: one file and one line each. The name is what `sgdsim import`
// calls it; with _ for - it is the file name and the function name.
#pragma once

#include <array>
#include <string_view>

#include "traces/log_text.h"
#include "traces/steps/step_run.h"

namespace sgdsim {

StepRun mllog(const LogText& log);
StepRun horovod(const LogText& log);
StepRun training_log(const LogText& log);

bool is_mllog(std::string_view text);
bool is_horovod(std::string_view text);
bool is_training_log(std::string_view text);

// Whether training_log() would find times, whatever else is in the text.
bool has_step_times(std::string_view text);

struct StepsFormat {
  std::string_view name;
  std::string_view description;
  std::string_view example;                       // a file to try it on
  bool (*fits)(std::string_view text) = nullptr;  // whether the content looks like it
  StepRun (*read)(const LogText& log) = nullptr;
  bool takes_batch = false;  // of LogText, with the tokens
};

inline constexpr std::array<StepsFormat, 3> steps_formats{{
    {"mllog", "Lines :::MLLOG of MLPerf training, one run a file", "tests/data/mllog.txt", is_mllog,
     mllog},
    {"horovod", "A timeline of Horovod (HOROVOD_TIMELINE)", "tests/data/horovod_timeline.json",
     is_horovod, horovod},
    {"training-log",
     "Lines of Megatron-LM, NeMo, DeepSpeed, torchtitan and others with times of steps",
     "tests/data/nemo_log.txt", is_training_log, training_log, true},
}};

}  // namespace sgdsim
