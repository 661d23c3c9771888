// Plays gradient messages with a clock per worker. One program per size is kept: memory is per
// worker and per kind of message.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "models/strategy/cost.h"
#include "sim/play/clocks.h"
#include "sim/play/play_in_time.h"

namespace sgdsim {

// What a message sends, one transfer after the other, and on which network: on another one than
// the cluster's if folding costs something else. Of an Exchange, and valid as long as that is.
struct JoinedTransfers {
  const Program* program = nullptr;
  const Network* network = nullptr;
};

class Exchange {
 public:
  // `wires`: what messages share; null: they have the network to themselves, or share ports.
  explicit Exchange(const Network& network, Resources* wires = nullptr, Stopper* stopper = nullptr)
      : network_(&network), wires_(wires), stopper_(stopper) {}

  // When each worker has the result, given when each is ready. A single start stands for all
  // workers, and so does a single end. Where the cost is a constant or a curve, a message takes it
  // from the moment when the last worker is there.
  Clocks play(const MessageCost& cost, const Encoded& encoded, Clocks starts);

  // Several of them, of which each worker has so many under way at a time; they share the ports.
  // For costs of algorithms.
  std::vector<ExchangeTimes> play_together(const MessageCost& cost,
                                           const std::vector<Encoded>& encoded,
                                           const std::vector<Clocks>& ready, int at_once);

  // For somebody else to play. InputError if transfers fold differently.
  JoinedTransfers joined(const MessageCost& cost, const Encoded& encoded);
  // Messages that somebody else has played.
  void count(const MessageCost& cost, const std::vector<Encoded>& encoded);
  // Likewise, of which only the times are known.
  void count_sent(const MessageCost& cost, const std::vector<Encoded>& encoded);

  // Whether its messages take what each takes alone, and so do those of other such exchanges before
  // and after it. `in_step`: all workers start together.
  bool is_apart(const MessageCost& cost, const Encoded& encoded, bool in_step);
  // Whether each of its messages has its ports to itself: neither servers nor pipelines of blocks,
  // nor ports that are shared.
  bool is_in_rounds(const MessageCost& cost, const Encoded& encoded);
  // Adds the bytes that each wire carries.
  void add_carried(const MessageCost& cost, const Encoded& encoded, std::vector<double>& carried_B);

  Traffic traffic;
  PathTaken path = PathTaken::none;
  bool pads_chunks = false;  // to the largest of a collective

 private:
  struct Prepared {
    Program program;
    PlayOptions options;
    std::optional<Network> network;  // if folding costs something else than on the network
    std::optional<bool> is_apart;    // in step, and whenever
    std::optional<bool> is_apart_always;
  };
  using Key = std::tuple<const MessageCost*, int64_t, double, double>;  // size, folding
  using JoinedKey = std::tuple<const MessageCost*, int64_t, int64_t, double, double>;
  // Messages of an iteration, and when they went.
  struct Together {
    std::vector<Call> calls;
    int at_once = 0;
    std::vector<CallTimes> times;
  };
  bool repeat(const std::vector<Call>& calls, int at_once, std::vector<CallTimes>& times) const;
  void count_pushes(const ParameterServers& servers, const Transfer& transfer);
  Prepared& prepared(const MessageCost& cost, const Transfer& transfer);
  Played collective(const MessageCost& cost, const Transfer& transfer, Clocks starts);
  Played push_and_pull(const MessageCost& cost, const Transfer& transfer, Clocks starts);
  void play(const MessageCost& cost, const Transfer& transfer, Clocks& clocks);

  const Network* network_;
  Resources* wires_;
  Stopper* stopper_;
  std::map<Key, Prepared> programs_;
  std::map<JoinedKey, Program> joined_;  // of two transfers
  Together before_;                      // the last one that was played
};

}  // namespace sgdsim
