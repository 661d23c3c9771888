// When nothing can go on.
#include "sim/play/clockwork.h"

namespace sgdsim {

void Clock::fail() const {
  std::vector<Stranded> stranded;
  if (carrier_ != nullptr) stranded = carrier_->stranded();
  if (stranded.empty()) throw InputError("", never_ends);
  throw NetworkStuck(std::move(stranded));
}

}  // namespace sgdsim
