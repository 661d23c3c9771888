// Messages that never arrive, and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/net/resources.h"

namespace sgdsim {

enum class Stranding : uint8_t {
  no_way,    // links are closed
  given_up,  // their senders heard nothing for too long
  lost,      // for good: their transport sends nothing again
  stopped    // by ports that wait for each other
};

struct Stranded {
  uint32_t message = 0;  // the carrier's number
  Parcel what;
  Stranding why = Stranding::no_way;
};

// Of several things, which `noun` calls by their name: "2 flows have no way, 1 flow was given up by
// its sender".
std::string summary_of(const std::vector<Stranding>& reasons, const std::string& noun);
// Of one of them: "has no way".
std::string what_one_does(Stranding why);
// On a line of its own.
std::string_view reason_of(Stranding why);

// The network cannot go on.
class NetworkStuck : public InputError {
 public:
  // `circle`: which ports wait for each other, as a sentence; empty if that is not the reason.
  explicit NetworkStuck(std::vector<Stranded> messages, std::string circle_of_ports = "");

  std::vector<Stranded> stranded;  // by sender and receiver
  std::string circle;
  std::string when;  // in what is played: ", with strategy p3"
};

}  // namespace sgdsim
