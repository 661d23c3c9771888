// One account per worker, and means of them.
#include "sim/play/result.h"

#include <algorithm>

namespace sgdsim {

void CriticalPart::add(const CriticalPart& other) {
  messages += other.messages;
  first_layer = std::min(first_layer, other.first_layer);
  last_layer = std::max(last_layer, other.last_layer);
  length += other.length;
}

Duration StepResult::total() const {
  Duration sum;
  for (const Duration one : iterations) sum += one;
  return sum;
}

void StepResult::settle(const std::vector<Account>& accounts) {
  const auto count = static_cast<int64_t>(iterations.size());
  Breakdown sum;
  for (const Account& account : accounts) {
    workers.push_back(account.settled(count, total()));
    sum += workers.back();
  }
  mean = sum / static_cast<int64_t>(accounts.size());
  // Parts are cut to whole picoseconds, and exposed is what they leave.
  const Duration rest = Duration::ps(total().ps() / count) - mean.computed() - mean.exposed;
  mean.exposed += rest;
  mean.idle += rest;
}

}  // namespace sgdsim
