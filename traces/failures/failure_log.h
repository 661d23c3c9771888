// Logs of failures: a table of one's own (time, unit, cause, down until), the jobs of Acme's
// clusters, the attempts of Philly's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/work/failure_record.h"

namespace sgdsim {

// What a table of events cannot know.
struct FailureScope {
  double units = 0;   // 0: not said
  std::string unit;   // what they are; empty: node
  std::string since;  // moments; empty: of the first and last row
  std::string until;
};

// By its beginning.
bool is_failure_log(std::string_view text);

// InputError where it is none, where rows make no sense, and where something of the scope is
// missing or contradicts it.
FailureRecord read_failure_log(const std::string& text, const std::string& file,
                               const FailureScope& scope);

}  // namespace sgdsim
