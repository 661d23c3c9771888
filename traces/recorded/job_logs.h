// Readers of what lies in a folder with a file for each process of a job.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/byte_source.h"
#include "traces/recorded/exchange_log.h"

namespace sgdsim {

// Later stamps are mistakes.
inline constexpr int64_t latest_log_us = std::numeric_limits<int64_t>::max() / 2000;

// What NCCL's Inspector writes with NCCL_INSPECTOR_DUMP_VERBOSE=1: an object for each collective of
// a process, with the times at which its kernels began and ended. InputError if it holds none.
ExchangeLog inspector_log(ByteSource& source);

// An execution trace of Chakra with times. A collective is ready when what it waits for has ended.
// Its groups have no ranks yet. InputError if it holds no collective with times.
ExchangeLog chakra_log(const std::string& file);
// Which ranks the groups of these logs have, and who is who: by the order of the logs.
void number_members(std::vector<ExchangeLog>& logs);

}  // namespace sgdsim
