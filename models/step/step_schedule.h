// A training step as a schedule of what every rank computes, sends and receives, for programs that
// play such schedules.
#pragma once

#include <vector>

#include "models/collective/rank_writer.h"
#include "models/step/step.h"

namespace sgdsim {

// A part of the step on one rank, where messages are not sends and receives yet.
struct StepNode {
  enum class Kind : uint8_t { forward, backward, compress, exchange, update };
  Kind kind = Kind::forward;
  int number = 0;  // of the layer, or of the message
  Duration length;
  Operation operation = Operation::allreduce;  // exchange
  Bytes size;
  std::vector<uint32_t> waits;  // for the ends of those (places in the list)
};

class StepSchedule {
 public:
  // One iteration of the experiment, from its start. InputError where a schedule cannot say what
  // the experiment does: order by priority, blocks of pipelines, servers, costs without messages.
  // What its file can say: every message, or collectives by their names alone.
  enum class Says : uint8_t { messages, collectives };
  explicit StepSchedule(const StepQuestion& question, Says says = Says::messages);

  int ranks() const { return question_.cluster->network.workers(); }
  RankWork of_rank(int rank) const;
  // The same before messages become sends and receives, in an order in which it can be played.
  // InputError where an exchange is more than its operation and its size.
  std::vector<StepNode> nodes_of(int rank) const;

  struct Message {
    const PlannedMessage* planned = nullptr;
    Encoded encoded;
    std::vector<std::size_t> programs;  // of its transfers
    uint32_t first_tag = 0;
  };
  void play(const Message& message, RankWriter& writer, const RankWriter::Member& member,
            std::vector<uint32_t>& last) const;
  std::vector<Transfer> transfers_of(const Message& message) const;
  const GradientPlan& plan() const { return plan_; }
  // What the experiment has and a schedule of one iteration has not, for people.
  std::vector<std::string> notes() const;

 private:
  struct Prepared {
    Transfer transfer;
    Program program;
    std::optional<Network> network;  // if folding costs something else than on the cluster
  };
  void prepare(const PlannedMessage& planned);
  template <class Sink>
  void tell(int rank, Sink& sink) const;

  const StepQuestion& question_;
  std::vector<Duration> backward_;  // of each layer, as traced
  std::vector<double> fixed_;       // factors of the workers
  Says says_;
  GradientPlan plan_;
  std::vector<Message> messages_;
  std::vector<Prepared> programs_;
  uint32_t tags_ = 0;
};

}  // namespace sgdsim
