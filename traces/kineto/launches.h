// Which call on the CPU launched which work on the device: both bear the same correlation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/kineto/events.h"

namespace sgdsim::profiler {

class Launches {
 public:
  // Sorts the calls of the records by correlation. Of calls with the same one, the first counts.
  explicit Launches(ProfileRecords& records);
  const LaunchCall* of(uint32_t correlation) const;
  std::size_t repeated() const { return repeated_; }

 private:
  const std::vector<LaunchCall>& calls_;
  std::size_t repeated_ = 0;
};

// Fills in what the facts do not say.
void fill_in(CommunicationFacts& facts, const CommunicationFacts& from);

// Whether kind or size are not known.
bool lacks_facts(const CommunicationFacts& facts, const std::string& kernel);

// Fills in what kernels do not say of their collective, from the call of the same external id, or
// from the one around their launch. The number of kernels that still lack something.
std::size_t complete_facts(ProfileRecords& records, const Launches& launches);

}  // namespace sgdsim::profiler
