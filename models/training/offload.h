// What a rank keeps in the memory of its host in place of its own: activations between a forward
// pass and its backward pass, and the states of the optimizer, which the host then updates.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/named.h"

namespace sgdsim {

enum class OffloadOf : uint8_t { none, activations, optimizer, both };
inline constexpr Named<OffloadOf, 4> offload_names{{{"none", OffloadOf::none},
                                                    {"activations", OffloadOf::activations},
                                                    {"optimizer", OffloadOf::optimizer},
                                                    {"both", OffloadOf::both}}};

struct Offload {
  OffloadOf of = OffloadOf::none;
  int64_t percent = 100;  // of the activations
  bool operator==(const Offload&) const = default;
  bool is_used() const { return of != OffloadOf::none; }
  bool moves_activations() const { return of == OffloadOf::activations || of == OffloadOf::both; }
  bool moves_optimizer() const { return of == OffloadOf::optimizer || of == OffloadOf::both; }
  double part() const {  // of the activations
    return moves_activations() ? static_cast<double>(percent) / 100 : 0;
  }
};

// "activations", "activations:40" (percent), "optimizer", "both".
void set_offload(Offload& offload, const std::string& value, const std::string& where);
std::string offload_text(const Offload& offload);

}  // namespace sgdsim
