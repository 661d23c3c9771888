// What the exchange of one gradient message costs: by an algorithm on a cluster, by parameter
// servers, by two constants, or by a measured curve; as it is, or compressed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/collective/collective.h"
#include "models/compression/compression.h"
#include "models/link/curve.h"
#include "models/server/parameter_server.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// a + b M, in picoseconds and bytes.
struct Line {
  double start_up_ps = 0;
  double per_byte_ps = 0;
  double at(double size_B) const { return start_up_ps + per_byte_ps * size_B; }
};

class MessageCost {
 public:
  // The closed form of an algorithm; InputError if it has none for this job.
  static MessageCost of_algorithm(const Algorithm& algorithm, const CollectiveJob& job);
  // The least of several lines: one, or one per protocol.
  static MessageCost of_lines(std::vector<Line> lines);
  // Interpolated between measured sizes.
  static MessageCost of_curve(Curve curve);
  // By parameter servers.
  static MessageCost of_servers(const ParameterServers& servers);
  // By any function of the size. It has no messages: those of the stand-ins are played in its place
  // where there must be some, for each size the one that is chosen.
  struct StandIn {
    std::size_t number = 0;       // among the algorithms
    std::string_view stands_for;  // for people
  };
  struct StandIns {
    std::vector<MessageCost> algorithms = {};
    std::function<StandIn(Bytes)> choose = {};
    std::function<Duration(Bytes)> latency = {};  // what a message takes at least
  };
  static MessageCost of_formula(std::function<Duration(Bytes)> formula, StandIns stand_ins);
  // The cheapest of several algorithms, chosen for each message by their closed forms.
  static MessageCost cheapest(std::vector<MessageCost> algorithms);
  // What the compression makes of a message, exchanged at the cost of `exchange`, which is that of
  // the compression's operation.
  static MessageCost compressed(const MessageCost& exchange, Compression compression);

  // Nothing for no bytes. Only the exchange: the compute stream's part is in `encoded`.
  Duration of(Bytes size) const;
  // What travels, and what is computed for it; without compression the group itself, all-reduced.
  Encoded encoded(const Group& group) const;
  // The exchange of what travels: its transfers and its local part.
  Duration of(const Encoded& encoded) const;
  // The same for many messages: `scratch` is a copy of job(), which is not made anew for each.
  Duration of(Bytes size, CollectiveJob& scratch) const;
  Duration of(const Encoded& encoded, CollectiveJob& scratch) const;
  // The same where it matters what was exchanged before, which is only so for servers: `of` is
  // between messages of one size.
  ExchangeTime exchange(const Encoded& encoded, CollectiveJob& scratch) const;

  // Lines whose minimum is the cost, up to the rounding of chunks and entries; empty where the cost
  // is no line, as on links with segments, or with blocks chosen by size.
  const std::vector<Line>& lines() const { return is_line_ ? lines_ : no_lines(); }
  // The cost as the line has it, where it is one, without rounding.
  double planned_ps(Bytes size) const;
  // What one message of both saves over two, one after the other: a, if the cost is a + b M.
  double saved_ps(Bytes first, Bytes second) const;
  // What of the time of a message leaves the network free: the a of the line, or what the smallest
  // measured message took; of an algorithm its folds, and its start-ups where they are in flight.
  // `without`: without_folds() of this cost.
  Duration network_free(Bytes size, const MessageCost& without) const;
  MessageCost without_folds() const;
  // The line that rules based on a and b use: for curves, the least squares fit.
  Line line() const;
  bool is_known() const { return !std::holds_alternative<Unknown>(exchange_); }
  // Curves: was it measured, or between two that were?
  bool covers(Bytes size) const { return curve() == nullptr || curve()->covers(size); }
  bool is_algorithm() const {
    return std::holds_alternative<const Algorithm*>(exchange_) ||
           std::holds_alternative<Candidates>(exchange_) || plays_stand_ins_;
  }
  // The same at the same price, but with the messages of its stand-ins, if it has some.
  MessageCost with_messages() const;
  // Which algorithm plays a transfer in place of what, for people; empty: it plays itself.
  std::string stand_in_of(const Transfer& transfer) const;
  // Whether there are messages to play, or only a time.
  bool plays() const { return is_algorithm() || servers() != nullptr; }
  const CollectiveJob& job() const { return job_; }
  const ParameterServers* servers() const {
    const Servers* servers = std::get_if<Servers>(&exchange_);
    return servers == nullptr ? nullptr : servers->get();
  }
  const Compression* compression() const { return compression_.get(); }
  // The same at another density, where the compression has a choice.
  MessageCost at_density(double density) const;
  // The same on the same network, which has moved.
  MessageCost on(const Network& network) const;
  // The same, played as the cluster's network sends where messages may share ports.
  MessageCost on_ports(const Cluster& cluster) const;
  // The same where its messages meet those of others at ports. InputError if it says turns.
  MessageCost among_others() const;
  // What plays a transfer: itself, the cheapest, or a stand-in.
  const MessageCost& played_for(const Transfer& transfer) const;
  // The algorithm's schedule for a transfer; `network` is where a changed network is kept.
  Program program_of(const Transfer& transfer, std::optional<Network>& network) const;

 private:
  using Unknown = std::monostate;
  using Candidates = std::vector<MessageCost>;
  struct Formula {
    std::function<Duration(Bytes)> price;
    StandIns stand_ins;
  };
  using Lines = std::vector<Line>;
  using Servers = std::shared_ptr<const ParameterServers>;
  using Way = std::variant<Unknown, const Algorithm*, Candidates, Formula, Lines, Curve, Servers>;

  const Curve* curve() const { return std::get_if<Curve>(&exchange_); }
  template <class Change>
  void for_each_job(const Change& change);
  ExchangeTime exchange(const Transfer& transfer, CollectiveJob& scratch) const;
  std::optional<Duration> known(const Transfer& transfer, CollectiveJob& scratch) const;
  void prepare(CollectiveJob& job, const Transfer& transfer, std::optional<Network>& network) const;
  void fit_line();
  void check_line();
  static const std::vector<Line>& no_lines();
  const MessageCost& cheapest_for(const Transfer& transfer) const;
  std::vector<MessageCost>* algorithms();

  Way exchange_;       // of what travels
  CollectiveJob job_;  // of algorithms
  std::shared_ptr<const Compression> compression_;
  double density_ = 1;
  std::vector<Line> lines_;                      // that are planned by; empty for curves
  bool is_line_ = false;                         // and they are the cost
  bool plays_stand_ins_ = false;                 // of a formula
  std::shared_ptr<const Network> kept_network_;  // what the jobs point to, if it was changed
};

}  // namespace sgdsim
