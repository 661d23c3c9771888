// A number or a quantity as files write it, as a number that can be computed with and back.
#pragma once

#include <optional>
#include <string>

#include "sim/core/json.h"

namespace sgdsim {

struct Amount {
  enum class Kind : uint8_t { whole, number, time, size, bandwidth, per_byte };
  Kind kind = Kind::number;
  double value = 0;  // in base units: ps, B, B/s, ps/B
  std::string unit;  // as it was written; empty for plain numbers

  bool is_plain() const { return kind == Kind::whole || kind == Kind::number; }
  // Plain numbers compare with each other, quantities with their own kind.
  bool comparable(const Amount& other) const {
    return kind == other.kind || (is_plain() && other.is_plain());
  }
  // Another value of this kind as files write it, with so many digits in this unit; whole numbers
  // and sizes are rounded to whole ones.
  Json json(double other, int digits) const;
};

// Nothing if it is neither a number nor a quantity.
std::optional<Amount> amount_of(const Json& json);
std::string_view name_of(Amount::Kind kind);

}  // namespace sgdsim
