// A folder with a file for each process of a job.
#pragma once

#include <string>
#include <vector>

#include "study/diagnose/record_source.h"
#include "traces/recorded/exchange_log.h"

namespace sgdsim {

// How the words say that the processes of logs are divided.
LogLayout log_layout(const RecordWords& words);

// Profiles of PyTorch, logs of NCCL's Inspector or traces of Chakra, whichever are there. A file
// that cannot be read costs its rank, not the answer.
StepRecord read_record_folder(const std::string& folder, const RecordWords& words,
                              const std::vector<int64_t>& steps, const Watch& watch);

}  // namespace sgdsim
