// What the messages of a plan are made into, and, where one worker stands for all, what they take.
#pragma once

#include <array>
#include <vector>

#include "models/step/sparsity.h"
#include "models/strategy/strategy.h"

namespace sgdsim {

class Prices {
 public:
  // Of all messages of a plan. `slowest`: how much slower than the trace the worker computes.
  void set(const MessageCost& cost, const std::vector<PlannedMessage>& messages, double slowest);

  const ExchangeTime& of(std::size_t message) const { return price(message).exchange; }
  Duration compress(std::size_t message) const { return price(message).compress; }
  Duration decompress() const { return decompress_; }  // of all messages
  const Sparsity& sparsity() const { return sparsity_; }

 private:
  struct Price {
    Bytes size;
    ExchangeTime exchange;
    Duration compress;
    Duration decompress;
  };
  const Price& price(std::size_t message) const { return prices_[which_[message]]; }

  std::vector<uint32_t> which_;  // of the prices is that of a message
  std::vector<Price> prices_;
  Duration decompress_;
  Sparsity sparsity_;
  CollectiveJob job_;  // with everything but the size
};

}  // namespace sgdsim
