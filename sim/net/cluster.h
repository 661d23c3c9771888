// A cluster as every engine sees it: workers, how they are grouped, what their messages cost.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/named.h"
#include "sim/net/nccl_constants.h"
#include "sim/net/resources.h"

namespace sgdsim {

// Sizes of messages for which costs were measured.
struct ValidSizes {
  Bytes from;
  Bytes to = Bytes(std::numeric_limits<int64_t>::max());
  bool holds(double least_B, double most_B) const {
    return least_B >= static_cast<double>(from.count()) &&
           most_B <= static_cast<double>(to.count());
  }
};

// What sends messages on a network, where its file says so: it decides what a start-up keeps busy
// and how messages share ports, unless an option says something else.
enum class NetworkKind : uint8_t { unsaid, tcp, mpi, gloo, nccl, paper };
inline constexpr Named<NetworkKind, 5> network_kinds{{{"tcp", NetworkKind::tcp},
                                                      {"mpi", NetworkKind::mpi},
                                                      {"gloo", NetworkKind::gloo},
                                                      {"nccl", NetworkKind::nccl},
                                                      {"paper", NetworkKind::paper}}};
inline const auto& names_of(NetworkKind) { return network_kinds; }
inline bool sends_over_tcp(NetworkKind kind) {
  return kind == NetworkKind::tcp || kind == NetworkKind::mpi || kind == NetworkKind::gloo;
}

// Who gets what of a wire that several messages want.
enum class Sharing : uint8_t {
  queues,  // who comes first is served first, as far as a connection's window lets it come
  max_min  // all at once, as evenly as their other wires allow
};
inline constexpr Named<Sharing, 2> sharings{
    {{"queues", Sharing::queues}, {"max_min", Sharing::max_min}}};
inline const auto& names_of(Sharing) { return sharings; }

// What a connection of TCP has in the system at most, and a sender hands over without waiting: as
// one broadcast over real TCP fits it (docs/validation.md).
inline constexpr Bytes usual_window(740'000);
inline constexpr uint32_t usual_tcp_packet_B = 9000;  // jumbo frames
// Of the bytes that come, what goes back as acknowledgements: the headers of one packet (IPv4, and
// TCP with time stamps) for every two packets of data, as Linux sends them.
inline constexpr uint32_t tcp_headers_B = 52;
inline constexpr double usual_acknowledged =
    static_cast<double>(tcp_headers_B) / (2 * (usual_tcp_packet_B - tcp_headers_B));

// Why something is refused on a cluster whose network gets crowded (Network::crowding).
inline std::string crowding_is_for(const std::string& what) {
  return "an efficiency over senders holds for collectives that are sent message by message; for " +
         what + " give one number";
}

struct Cluster {
  std::string name;
  Network network = Network::uniform(1, {});
  int workers_per_node = 1;        // consecutive workers share a node
  std::vector<int> grid;           // torus dimensions in workers, first fastest; empty if no grid
  std::vector<std::string> notes;  // what a result must repeat as a warning
  // Why more bandwidth of its network cards would make no difference; empty: it may make one.
  std::string cards_note = {};
  // Consecutive workers at a leaf switch, or in a pod of rails; 0: there are no leaves.
  int workers_per_leaf = 0;
  std::string gpu = {};   // what computes in it, by name; empty: its file does not say
  Bytes gpu_memory = {};  // where it has another one than others of that name; 0: it has not
  ValidSizes valid = {};
  NetworkKind kind = NetworkKind::unsaid;
  Sharing sharing = Sharing::max_min;  // at fidelity flow
  Bytes window = usual_window;
  double acknowledged = usual_acknowledged;        // of what comes by a connection of TCP
  std::shared_ptr<const NcclConstants> nccl = {};  // what its file says of NCCL on it, if anything
  // Its wires, for messages that share them. Built anew by each call; InputError if there are too
  // many.
  std::function<std::unique_ptr<Resources>(const RouteChoice&)> wires = {};
  // The same with so many nodes behind its own. Null where others would not leave these as they
  // are; InputError if there is no room for them.
  std::function<Cluster(int more_nodes)> with_more = {};

  int drawn_cards = 0;  // of a node, where links are drawn one by one; 0: they are not

  // Network cards of a node, as far as workers share them; otherwise each has its own.
  int cards_per_node() const {
    if (drawn_cards > 0) return drawn_cards;
    for (const SharedWays& shared : network.shared_ways())
      if (shared.group == workers_per_node) return shared.ways;
    return workers_per_node;
  }
};

}  // namespace sgdsim
