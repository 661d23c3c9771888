// What messages in progress share on their way: the ports of workers, or the wires of their routes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/named.h"
#include "sim/net/roads.h"
#include "sim/net/wires.h"

namespace sgdsim {

enum class Cargo : uint8_t { any, gradients, parameters };

// What transports of packets may want to know: how far from the front of the model the message
// comes, of 1, and what it carries.
struct Freight {
  double depth = 0;
  Cargo cargo = Cargo::any;
  auto operator<=>(const Freight&) const = default;
};

// A message that is handed to the network.
struct Parcel {
  int from = 0;
  int to = 0;
  double size_B = 0;
  Leg leg = {};
  bool waits_for_receiver = false;  // rendezvous: flows when the receiver is there, too
  // What it agrees on (Leg) waits for want(), which knows that the first word has come.
  bool agrees_with_receiver = false;
  bool has_own_link = false;    // which it shares with nobody
  bool tells_when_free = true;  // or nobody asks when the sender is free
  bool is_overwritten = false;  // by what its sender gets in the same round
  float acknowledged = 0;       // of its bytes, what its receiver sends back (PairCost)
  uint64_t flow = 0;            // of several between the same two that may go other ways
  uint32_t connection = 0;      // of several between the same two, where transports have them
  bool is_of_others = false;    // traffic beside what was asked about
  Freight freight = {};
};

// What a message takes of a resource, for each byte per picosecond of its rate.
struct ResourceUse {
  uint32_t resource = 0;
  double share = 1;
};

struct ResourceName {
  std::string kind;  // of link
  std::string from;
  std::string to;
};

class Resources {
 public:
  // A message that fits into its sender's buffer leaves and enters as two flows.
  enum class Part : uint8_t { whole, leaves, enters };

  Resources() = default;
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;
  virtual ~Resources() = default;

  // How much of each there is, or infinity: the shares of all that flows, times their rates, are no
  // more.
  virtual std::vector<double> capacities() const = 0;
  // Adds what a message uses; false if there is no way at present.
  virtual bool find(const Parcel& parcel, Part part, std::vector<ResourceUse>& uses) = 0;
  // Whether these are wires. Then the time on the way is the network's, and alpha is no part of
  // what is shared; else they are the ports of both ends.
  virtual bool are_routes() const = 0;
  // For people.
  virtual ResourceName name_of(uint32_t resource) const = 0;
  // Whether routes that are found from now on may take these; false if that is nothing new.
  virtual bool open(std::span<const uint32_t> resources, bool is_open) = 0;
  // Where ways have closed: what the route of a message has more than the one that its costs are
  // of, in latency, and how many times as long a byte takes on it.
  struct Detour {
    Duration latency;
    double longer = 1;
  };
  virtual std::optional<Detour> detour(const Parcel& parcel) {
    (void)parcel;
    return std::nullopt;
  }
  // If workers take each other's places (`places`: who takes that of each), which resource takes
  // that of each; nothing if these are not all as before then.
  virtual std::optional<std::vector<uint32_t>> moved(std::span<const int> places) {
    (void)places;
    return std::nullopt;
  }
  // Whether then messages of workers also take the routes of those in whose places they are:
  // `ways` is what moved() said.
  virtual bool keeps_routes(std::span<const int> places, std::span<const uint32_t> ways) {
    (void)places;
    (void)ways;
    return false;
  }
  // Of such orders of the workers, the first in which messages do not keep their routes so, where
  // all that is sent are messages between these pairs, in whatever places; nothing: all keep them.
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;  // who sends to whom
  virtual std::optional<std::size_t> first_unkept(std::span<const std::vector<int>> orders,
                                                  const Pairs& pairs) {
    (void)pairs;
    return orders.empty() ? std::nullopt : std::optional<std::size_t>(0);
  }
  // As packets see them; null: they are no roads, or not the same for packets of all sizes.
  virtual Roads* roads() { return nullptr; }
};

// Which of several shortest routes a message takes.
enum class Routing : uint8_t {
  by_destination,  // the digits of the receiver's number choose, as in D-mod-k
  hashed,          // each flow by chance: equal-cost multipath
  split            // over all of them, evenly at each branch
};
inline constexpr Named<Routing, 3> routings{{{"by_destination", Routing::by_destination},
                                             {"hashed", Routing::hashed},
                                             {"split", Routing::split}}};
inline const auto& names_of(Routing) { return routings; }
std::string_view name_of(Routing routing);
Routing routing_named(const std::string& name, const std::string& where);
struct RouteChoice {
  Routing routing = Routing::by_destination;
  uint64_t seed = 1;
};

}  // namespace sgdsim
