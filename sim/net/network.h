// What a message between any two workers costs: alpha, beta and gamma of the pair.
//
// A network is not a graph here (graphs live in topologies/) but the answer that the graph gives
// for every pair: the latencies of the route summed, its smallest bandwidth. A million workers
// cannot store a million squared answers, so pairs fall into classes (same node, same pod, three
// hops apart, ...) by a rule, and a worker may add a port of its own (a slower card, a longer
// cable). Memory is per worker and per class, never per pair, except for PairTable, which serves
// graphs without structure.
//
// Real links change their protocol with the size of a message. A network that was calibrated so has
// bands: from some size on, all its costs are those of another network of the same workers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

// A message of s bytes takes latency + s * per_byte; folding it into the receiver's data takes
// s * reduce more.
struct PairCost {
  Duration latency;
  PerByte per_byte;
  PerByte reduce;
  // Sender and receiver first agree: a word there and one back, before bytes leave (MPI's
  // rendezvous).
  bool rendezvous = false;
  // TCP: of the bytes that a sender gets meanwhile, so many leave with its own as acknowledgements.
  double acknowledged = 0;

  // Per byte, where senders get as much as they send at the same time.
  PerByte both_ways() const { return per_byte * (1 + acknowledged); }
  Duration agreement() const { return rendezvous ? latency * 2 : Duration(); }
  // Where a start-up keeps ports busy.
  Duration start_up() const { return latency + agreement(); }
  bool operator==(const PairCost&) const = default;
};

// Where messages are encoded, folding a byte of them costs something else: the byte stands for
// `scale` bytes of values, and may have to be decoded and encoded again.
struct Folding {
  double scale = 1;
  PerByte extra;
  PerByte of(PerByte reduce) const { return reduce * scale + extra; }
  bool operator==(const Folding&) const = default;
};

// One route after the other: latencies add up, the slowest rate decides.
inline PairCost in_series(const PairCost& first, const PairCost& second) {
  return {first.latency + second.latency, std::max(first.per_byte, second.per_byte),
          std::max(first.reduce, second.reduce), first.rendezvous || second.rendezvous,
          std::max(first.acknowledged, second.acknowledged)};
}
// Of several pairs the worst of each.
inline PairCost worst_of(const PairCost& a, const PairCost& b) {
  return {std::max(a.latency, b.latency), std::max(a.per_byte, b.per_byte),
          std::max(a.reduce, b.reduce), a.rendezvous || b.rendezvous,
          std::max(a.acknowledged, b.acknowledged)};
}

// Every pair is class 0.
struct OneClass {};

// Nested groups of consecutive workers, smallest first: the class is the number of group sizes at
// which the two are apart. {8, 32}: 0 in one node of 8, 1 in one pod of 32, 2 beyond.
struct NestedGroups {
  std::vector<int> group_sizes;
};

// A grid of routers, first dimension fastest, each with `per_router` workers: the class is the
// number of hops between the routers along the shortest way. A chain is a grid of one dimension
// without wrap-around, a ring is one with it.
struct GridHops {
  std::vector<int> dimensions;
  bool wraps = true;
  int per_router = 1;
};

// Any graph: the class of each ordered pair of attachment points, `per_point` workers on each.
struct PairTable {
  int per_point = 1;
  int points = 0;
  std::vector<uint32_t> classes;  // points * points, row = sender
};

// Nodes of `gpus` workers in pods of `pod` workers, where worker i of a node is on rail i: the
// class of two in one node, in one pod on one rail and not, and in two pods on one rail and not.
struct Rails {
  int gpus = 1;
  int pod = 1;
  std::array<uint32_t, 5> classes = {};
};

using PairRule = std::variant<OneClass, NestedGroups, GridHops, PairTable, Rails>;

// The port by which a worker meets the network, when it differs from the others'.
struct Port {
  PairCost out;
  PairCost in;
};

// Ways into and out of groups of consecutive workers that the members share: the cards of a node,
// the uplinks of a rack. The cost of a pair has the rate of a way in it; `rates` say what part of
// that cost is the way's, for one message or for several.
struct SharedWays {
  // Which way member m of a group of g uses.
  enum class Lanes : uint8_t {
    blocks,    // m * ways / g
    own,       // m % ways; what goes to another lane leaves the group, too, but for `ways` in a row
    receivers  // m % ways, and what leaves takes the way that its receiver's number has
  };
  int group = 1;
  int ways = 1;
  std::vector<PerByte> rates;  // of one way: one for all groups, or one per group
  Lanes lanes = Lanes::blocks;
  // Of a part of a network: where its workers are among so many of all; empty: it is all.
  std::vector<int> places = {};
  int of_all = 0;

  bool any_shared() const { return group > ways || (lanes == Lanes::receivers && ways > 1); }
  bool carries(int member, int other) const {
    const int from = at(member);
    const int to = at(other);
    if (lanes != Lanes::own) return from / group != to / group;
    return from / group != to / group || (from / ways != to / ways && lane_of(from) != lane_of(to));
  }
  std::size_t way_out(int from, int to) const {
    return way(at(from) / group, lane_of(at(lanes == Lanes::receivers ? to : from)));
  }
  std::size_t way_in(int to) const { return way(at(to) / group, lane_of(at(to))); }
  // Of so many workers.
  std::size_t count(int workers) const {
    return way(((places.empty() ? workers : of_all) - 1) / group + 1, 0);
  }
  PerByte rate_of(int worker) const {
    return rates.size() == 1 ? rates.front() : rates[static_cast<std::size_t>(at(worker) / group)];
  }
  // Whether any of so many workers can leave its group.
  bool may_leave(int workers) const {
    if (lanes == Lanes::own || places.empty()) return lanes == Lanes::own || group < workers;
    return std::any_of(places.begin(), places.end(),
                       [&](int place) { return place / group != places.front() / group; });
  }

 private:
  int at(int worker) const {
    return places.empty() ? worker : places[static_cast<std::size_t>(worker)];
  }
  int lane_of(int worker) const {
    if (lanes != Lanes::blocks) return worker % group % ways;
    return static_cast<int>(int64_t{worker % group} * ways / group);
  }
  std::size_t way(int of_group, int lane) const {
    return static_cast<std::size_t>(of_group) * static_cast<std::size_t>(ways) +
           static_cast<std::size_t>(lane);
  }
};

// A network that serves every message worse, the more it carries at once: switches drop packets,
// and senders wait for their timeouts. A curve that was fitted, for messages that begin together.
struct Crowding {
  struct Point {
    int senders = 1;
    double efficiency = 1;  // the part of the bandwidth that is left
    bool operator==(const Point&) const = default;
  };
  int group = 1;              // messages among so many consecutive workers do not count
  std::vector<Point> points;  // by growing number of senders; empty: never crowded

  bool any() const { return !points.empty(); }
  // Straight between points in logarithms of both; a single sender has everything unless a point
  // says otherwise, and beyond the last point its value holds.
  double efficiency(int senders) const;
  bool operator==(const Crowding&) const = default;
};

struct SizeBand;

class Network {
 public:
  // `classes[c]` is the cost of a pair of class c.
  Network(int workers, PairRule rule, std::vector<PairCost> classes);
  static Network uniform(int workers, const PairCost& cost) {
    return {workers, OneClass{}, {cost}};
  }

  int workers() const { return workers_; }
  // Asked once per message, hence inline.
  PairCost between(int from, int to) const {
    const PairCost& core = classes_.size() == 1 ? classes_[0] : classes_[class_of(from, to)];
    if (ports_.empty()) return core;
    return in_series(in_series(ports_[static_cast<std::size_t>(from)].out, core),
                     ports_[static_cast<std::size_t>(to)].in);
  }
  uint32_t class_of(int from, int to) const;
  // Groups of consecutive workers by which alone pairs differ; null: there is more to it.
  const NestedGroups* nested() const {
    return ports_.empty() ? std::get_if<NestedGroups>(&rule_) : nullptr;
  }
  const std::vector<PairCost>& classes() const { return classes_; }

  // In series with the class cost, at the sender and at the receiver. Empty: no such ports.
  void set_ports(std::vector<Port> ports);
  const std::vector<Port>& ports() const { return ports_; }

  // Only ways that several workers share; empty where nobody shares a way.
  void set_shared_ways(std::vector<SharedWays> ways);
  const std::vector<SharedWays>& shared_ways() const { return shared_ways_; }
  void set_crowding(Crowding crowding) { crowding_ = std::move(crowding); }
  const Crowding& crowding() const { return crowding_; }
  // Whether rates depend on what else is sent: loads are then counted, one for each of the shared
  // ways and, behind them, one for a crowded network.
  bool has_loads() const { return !shared_ways_.empty() || crowding_.any(); }
  // The rate of a pair when so many messages take the busiest of each of the shared ways.
  PerByte through_ways(PerByte alone, int from, int to, const std::vector<double>& loads) const;
  // The same for the slowest of all ways.
  PerByte through_slowest_ways(PerByte alone, const std::vector<double>& loads) const;

  // Over TCP (PairCost::acknowledged), but for workers of one node, of so many.
  void acknowledge(double share, int workers_per_node);

  // What a byte takes at least between two workers of a node, of so many consecutive ones, and
  // between two of other nodes: their own links have that rate, and pairs that are slower have
  // slower ways between them. Nothing where pairs differ by more than groups, as on graphs: then it
  // is not known what is slow.
  struct LeastRates {
    PerByte inside;
    PerByte outside;
  };
  std::optional<LeastRates> least_rates(int node) const;
  // The links by which workers of a node, so many consecutive ones, reach each other. `lead_out`:
  // messages to other nodes take them, too.
  struct InnerLinks {
    int node = 1;  // there are none
    bool lead_out = false;
  };
  void set_inner_links(const InnerLinks& links) { inner_links_ = links; }
  const InnerLinks& inner_links() const { return inner_links_; }

  // What a collective costs every worker once, before its first message.
  void set_start(Duration start) { start_ = start; }
  Duration start() const { return start_; }

  // The same network with another price of folding.
  Network with(const Folding& folding) const;

  // Costs that replace these for messages of at least so many bytes, ascending. Without any, one
  // cost holds for every size.
  void set_bands(std::vector<SizeBand> bands);
  const std::vector<SizeBand>& bands() const;
  bool has_bands() const { return bands_ != nullptr; }
  // The network that a message of this size sees; asked once per message, hence inline.
  const Network& at_size(double size_B) const { return bands_ ? band_at(size_B) : *this; }

  // The same network as its first workers see it.
  Network first(int workers) const;

  // Every pair costs the same, at every size.
  bool is_uniform() const;
  // The costs of the worst pair at its worst size, each term by itself.
  PairCost worst() const;
  // The same for the sizes below the first band.
  PairCost worst_of_band() const;

 private:
  const Network& band_at(double size_B) const;
  void drop_unused_classes();

  int workers_ = 0;
  PairRule rule_;
  std::vector<PairCost> classes_;
  std::vector<Port> ports_;
  std::vector<SharedWays> shared_ways_;
  Crowding crowding_;
  std::shared_ptr<const std::vector<SizeBand>> bands_;
  Duration start_;
  InnerLinks inner_links_;
};

struct SizeBand {
  double from_B = 0;
  Network network = Network::uniform(1, {});
};

}  // namespace sgdsim
