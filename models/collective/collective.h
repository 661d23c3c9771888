// What a collective is asked to do, and what every algorithm offers in answer.
//
// An algorithm is one file and one line in registry.h. It gives its schedule (a Program, played at
// message fidelity) and, where one is published or derived, its closed form. Both are in terms of a
// Team, so that algorithms nest: hierarchical plays one inside the nodes and one across them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/option_values.h"
#include "sim/play/play.h"
#include "sim/work/schedule.h"

namespace sgdsim {

enum class Operation : uint8_t {
  broadcast,
  reduce,
  allreduce,
  reduce_scatter,
  allgather,
  alltoall
};
std::string_view name_of(Operation operation);
Operation operation_named(const std::string& name, const std::string& where);
const std::vector<std::string>& operation_names();
// Whether data goes to a root or comes from one; in an all-reduce it may do both.
bool has_root(Operation operation);

// Every choice of the machine model and of an algorithm that changes results. The defaults are the
// papers'; docs/models.md says what each means.
struct CollectiveOptions {
  AlphaRule alpha = AlphaRule::port;          // alpha=port|wire
  bool shares_ports = false;                  // ports=turns|shared
  Bytes send_buffer;                          // send_buffer=SIZE, where ports are shared
  Routing routing = Routing::by_destination;  // routing=by_destination|hashed|split
  bool fractional_chunks = false;             // chunks=whole|fractional
  OptionValues own;                           // of algorithms, which declare them
  std::vector<std::string> given = {};        // the keys that were set

  template <class T>
  T of(const OptionOf<T>& option) const {
    return own.of(option);
  }
};

// What the options say about playing.
inline PlayOptions to_play(const CollectiveOptions& options) {
  return {.alpha = options.alpha,
          .jitter = {},
          .path = PathChoice::fastest,
          .shares_ports = options.shares_ports,
          .send_buffer_B = static_cast<double>(options.send_buffer.count())};
}

// alpha, beta and gamma of a team's worst pair, which closed forms charge and block sizes are
// chosen by; where a network has bands, one for the messages of each.
struct TeamCost {
  TeamCost() = default;
  TeamCost(const PairCost& everywhere) : smallest(everywhere) {}

  PairCost smallest;
  std::vector<std::pair<double, PairCost>> from;  // from so many bytes on, ascending

  const PairCost& at(double size_B) const {
    const PairCost* found = &smallest;
    for (const auto& [from_B, cost] : from)
      if (size_B >= from_B) found = &cost;
    return *found;
  }
  // From which size on messages wait for an answer, if any do.
  std::optional<double> waits_from_B() const {
    if (smallest.rendezvous) return 0;
    for (const auto& [from_B, cost] : from)
      if (cost.rendezvous) return from_B;
    return std::nullopt;
  }
  // The same with another price of folding.
  TeamCost with(const Folding& folding) const {
    TeamCost changed = *this;
    changed.smallest.reduce = folding.of(smallest.reduce);
    for (auto& [from_B, cost] : changed.from) cost.reduce = folding.of(cost.reduce);
    return changed;
  }
};

// One collective of one team.
struct CollectiveJob {
  Operation operation = Operation::allreduce;
  Team team;
  Share share;
  std::vector<Bytes> following;  // further messages, each after the one before (layers)
  std::optional<Bytes> block;    // of a pipeline; empty: the best one
  std::optional<int> root;       // a member; empty: the algorithm's own
  TeamCost cost;
  CollectiveOptions options;
  // The rest serves algorithms that play inside and across groups.
  int workers_per_node = 1;
  std::vector<int> grid;
  bool is_part = false;              // of another collective, which has started it
  bool on_wires = false;             // messages share the wires of their routes
  Duration launch;                   // what every worker pays once, besides the network's own start
  const Network* network = nullptr;  // to find the worst pair of a sub-team; may be null

  int size() const { return team.size; }
  double bytes() const { return share.bytes(0); }
  // One message of s bytes, and the fold of s bytes, on the worst pair.
  Duration message(double size_B) const { return latency(size_B) + transfer(size_B); }
  // The same where its sender gets as much meanwhile.
  Duration exchange(double size_B) const { return latency(size_B) + exchanged(size_B); }
  // Its start-up, with the wait for an answer where there is one.
  Duration latency(double size_B) const { return cost.at(size_B).start_up(); }
  // Whether this message, or one that follows, waits for an answer.
  bool waits_for_answers() const {
    const auto waits = [&](double size_B) { return cost.at(size_B).rendezvous; };
    return waits(bytes()) || std::any_of(following.begin(), following.end(), [&](Bytes size) {
             return waits(static_cast<double>(size.count()));
           });
  }
  // The largest message that waits for no answer; the whole one if none does.
  double largest_eager_B() const {
    const std::optional<double> waits_B = cost.waits_from_B();
    return waits_B ? std::clamp(std::ceil(*waits_B) - 1, 0., bytes()) : bytes();
  }
  Duration transfer(double size_B) const { return cost.at(size_B).per_byte.of(size_B); }
  Duration exchanged(double size_B) const { return cost.at(size_B).both_ways().of(size_B); }
  Duration fold(double size_B) const { return cost.at(size_B).reduce.of(size_B); }
  // The bytes of the first `count` of `parts` chunks, the largest ones.
  double first_chunks(int count, int parts) const {
    return ChunkRange{0, count, parts}.bytes(bytes(), share.fractional);
  }
  bool wire() const { return options.alpha == AlphaRule::wire; }
  // Whether messages of such a size cost ports nothing but their bytes.
  bool starts_free(double size_B) const {
    return wire() ? !cost.at(size_B).rendezvous : latency(size_B) == Duration();
  }
  static constexpr double least_packet_B = 4096;
  // The least block worth choosing where that is so: smaller ones shorten the filling of `stages`
  // links, which is a 64th of the whole already, and packets are no smaller. Short messages are one
  // block.
  double least_free_block_B(double size_B, double stages) const {
    return std::min(size_B, std::max(least_packet_B, std::ceil(size_B / (64 * stages))));
  }
  // What it costs every worker once, before its first message.
  Duration start() const {
    if (is_part) return {};
    return network == nullptr ? launch : launch + network->start();
  }
  // The team with the wanted root as relative member 0.
  Team rooted(int otherwise = 0) const {
    Team rooted_team = team;
    rooted_team.root = root.value_or(otherwise);
    return rooted_team;
  }
  // A phase of this job's team and share; the caller says who talks to whom about what.
  Phase phase(Talk talk, Load load, int rounds) const {
    Phase phase;
    phase.team = rooted();
    phase.share = share;
    phase.talk = talk;
    phase.load = load;
    phase.rounds = rounds;
    return phase;
  }
};

struct Algorithm {
  std::string_view name;
  std::string_view summary;
  std::vector<Operation> operations;
  std::vector<AlgorithmOption> options;  // those that it reads, besides the general ones
  // Called with two members or more and at least one byte. InputError if the job does not fit.
  Program (*schedule)(const CollectiveJob& job);
  // Empty where no closed form is known for these options.
  std::optional<Duration> (*closed_form)(const CollectiveJob& job);
  std::string_view closed_form_note = {};  // if it is more than a matter of rounding
  bool takes_block = false;
  // Whether an all-reduce is the same whichever member is its root; null: never.
  bool (*needs_no_root)(const CollectiveOptions& options) = nullptr;
  // InputError if the options do not fit the job; null: there is nothing to check.
  void (*check)(const CollectiveJob& job) = nullptr;
  // The algorithms that it plays, whose options it takes as well; null: none.
  std::vector<std::string> (*parts)(const CollectiveOptions& options) = nullptr;
  // Whether messages that follow one another are one schedule; null: never.
  bool (*streams)(const CollectiveOptions& options) = nullptr;
  // Every message is waited for before the next one is sent, so that a wait for an answer adds to
  // its start-up; or its parts say so.
  bool waits_each_round = false;
  // Whether its formula takes each link for what it is; null: every message costs what it does
  // between the worst pair.
  bool (*knows_links)(const CollectiveJob& job) = nullptr;
  // All members send in every round: in which order their distances are, and whether halves,
  // quarters and so on go over them. Others send to few members at once.
  enum class Rounds : uint8_t { few, whole, far_halves, near_halves };
  Rounds rounds = Rounds::few;

  bool offers(Operation operation) const;
  // closed_form, where it holds: no other formula has what receivers wait for while senders go on.
  std::optional<Duration> formula(const CollectiveJob& job) const;
};

inline bool always(const CollectiveOptions&) { return true; }

// By name; the error lists the known ones.
const Algorithm& algorithm_named(const std::string& name, const std::string& where);

// Checks that the job fits the algorithm (operation, root, block, options that need a power of two)
// and gives its schedule; empty for one member or no bytes, which cost nothing.
Program schedule_of(const Algorithm& algorithm, const CollectiveJob& job);
std::optional<Duration> closed_form_of(const Algorithm& algorithm, const CollectiveJob& job);

// The worst alpha, beta and gamma among pairs of the same team, each by itself.
TeamCost worst_in_team(const Network& network, const Team& team);
// The same for a job on its network, where messages of the algorithm's busiest round share cards
// and uplinks.
TeamCost worst_of_job(const Algorithm& algorithm, const CollectiveJob& job);

}  // namespace sgdsim
