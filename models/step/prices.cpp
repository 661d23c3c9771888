// Layers repeat, and so do their pieces: the costs of some sizes are kept. What a compression or a
// server makes of a message may depend on its layers, too.
#include "models/step/prices.h"

#include "models/step/compute.h"
#include "sim/core/scaled.h"

namespace sgdsim {

void Prices::set(const MessageCost& cost, const std::vector<PlannedMessage>& messages,
                 double slowest) {
  which_.clear();
  which_.reserve(messages.size());
  prices_.clear();
  decompress_ = Duration();
  sparsity_ = {};
  job_ = cost.job();
  const bool by_group = cost.compression() != nullptr || cost.servers() != nullptr;
  std::array<uint32_t, 64> kept{};  // by a hash of the size
  for (const PlannedMessage& message : messages) {
    if (by_group) {
      const Encoded encoded = cost.encoded(message.group());
      if (cost.compression() != nullptr) sparsity_.add(encoded);
      prices_.push_back({message.size, cost.exchange(encoded, job_),
                         scaled(encoded.compress, slowest), scaled(encoded.decompress, slowest)});
      decompress_ += prices_.back().decompress;
      which_.push_back(static_cast<uint32_t>(prices_.size() - 1));
      continue;
    }
    const auto size_B = static_cast<uint64_t>(message.size.count());
    uint32_t& place = kept[(size_B * 0x9e3779b97f4a7c15) >> 58U];
    if (place >= prices_.size() || prices_[place].size != message.size) {
      place = static_cast<uint32_t>(prices_.size());
      prices_.push_back({message.size, {cost.of(message.size, job_), {}, {}}, {}, {}});
    }
    which_.push_back(place);
  }
}

}  // namespace sgdsim
