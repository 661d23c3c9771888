// The messages of a plan: in order, by priority, on several channels, or in turn with the
// computation; at the prices of closed forms (`Time`), or played (`Clocks`).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "models/step/channels.h"
#include "models/step/exchange.h"
#include "models/step/priority.h"
#include "models/step/step_workers.h"
#include "sim/play/dataflow.h"

namespace sgdsim {

template <class Clock>
class StepMessages {
 public:
  StepMessages(const StepNow& step, StepWorkers<Clock>& workers)
      : step_(step),
        workers_(workers),
        player_(step.question.cluster->network, step.question.wires.get(), step.question.stopper) {}

  // There is another plan; an iteration that sends something starts.
  void take_plan();
  void start_iteration();
  // A message that goes when the one before it has gone, or parameters of a layer.
  Clock exchange(const Action& action, Clock ready, const Clock& free);
  // One of those that go together.
  void enter(const Action& action, Clock ready);
  using Ended = std::function<void(std::size_t number, const Clock& end, HandedOverCause cause)>;
  void hand_over(const Ended& ended);

  // Whether messages take what each takes alone: none shares a wire with another one.
  bool are_apart();
  // Whether no message of the plan waits for another one at a port.
  bool are_in_rounds();
  bool are_apart(const MessageCost& cost, const std::vector<Encoded>& sums);
  // In an iteration that goes by the plan.
  std::vector<double> carried_by_plan();  // by each wire

  // From the first message to the last one's end, of the iterations that count; where those send
  // nothing, of the last one that does.
  Duration sent_for() const { return sent_until_ - std::min(sent_from_, sent_until_); }

  // The records of an iteration that went as this one, only later after its start.
  void shift(Duration later);

  std::vector<MessageRecord>& records() { return records_; }
  const Exchange& player() const { return player_; }
  const Sparsity& sparsity() const { return sparsity_; }  // of messages that were played

 private:
  static constexpr bool one_for_all = StepWorkers<Clock>::one_for_all;

  Clock broadcast(int layer, Clock starts);
  // `waits`: when workers wait for nothing but others.
  Clock send(std::size_t message, const Clock& waits, Clock starts, Time ready, Duration spread);
  Clocks play(const MessageCost& cost, const Encoded& encoded, Clocks starts, std::size_t number);
  void keep(std::size_t message, int channel, const Clock& waits, const Clock& starts, Clock& ends,
            Time ready);
  Clock waits_of(std::size_t place, const Clock& starts) const;
  bool meets_at_ports() const;
  void send_by_priority(const Ended& ended);
  void send_on_channels(const Ended& ended);
  void keep_played(std::vector<ExchangeTimes> played, const Ended& ended);
  template <class Do>
  void for_each_sent(const Do& act);
  const MessageCost& cost_of_sums() const {
    return step_.plan.bsp_broadcasts ? step_.question.reduce : *step_.cost;
  }
  Encoded parameters_of(int layer) const;
  Duration time_alone(std::size_t message) const;
  Duration without_network(std::size_t message, Duration alone) const;

  const StepNow& step_;
  StepWorkers<Clock>& workers_;
  Exchange player_;
  std::vector<MessageRecord> records_;  // of the last iteration that sent something
  Sparsity sparsity_;
  ChannelNumbers numbers_;    // exchanges may overlap with those of the iteration before
  bool has_counted_ = false;  // an iteration that sends something has
  Time sent_from_ = Time::last();
  Time sent_until_;
  bool is_first_ = true;               // no message of this iteration has gone yet
  Duration first_spread_;              // of workers, by the last exchange of the iteration before
  Duration last_spread_;               // by the last exchange
  std::vector<ExchangeTimes> played_;  // of this iteration, where messages go in turn
  std::vector<Clock> entered_;         // when messages that go together may start,
  std::vector<Clock> waiting_;         // and when workers begin to wait for them
  std::vector<ReadyPieces> pieces_;    // and are ready everywhere
  std::vector<Time> begun_;            // when they start, if they only have a time
  std::optional<Channels> channels_;
  MessageCost without_folds_;
  std::vector<Encoded> to_servers_;  // messages of this plan, where several are in flight
  double fullest_server_ = 0;        // its part of all of them
};

}  // namespace sgdsim
