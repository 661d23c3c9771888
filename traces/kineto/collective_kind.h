// What a collective is called for people, from its call or else from its kernel.
#pragma once

#include <string>

#include "traces/kineto/events.h"

namespace sgdsim::profiler {

inline constexpr char all_reduce[] = "all-reduce";
inline constexpr char unknown_kind[] = "unknown collective";

// "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send/receive", "broadcast", ...
std::string kind_of(const CommunicationFacts& facts, const std::string& kernel);

}  // namespace sgdsim::profiler
