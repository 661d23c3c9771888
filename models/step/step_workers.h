// What the workers of a step compute, and where their time goes: one that stands for all (`Time`),
// or every one (`Clocks`).
#pragma once

#include <type_traits>
#include <vector>

#include "models/step/compute.h"
#include "models/step/replanner.h"
#include "models/step/step_now.h"
#include "sim/play/clocks.h"
#include "sim/play/ledger.h"

namespace sgdsim {

struct WorkerInStep {
  Time forward_end;
  Time backward_end;
  Duration left_decompress;  // to the next forward, where that goes layer by layer
  Duration left_update;
  Ledger ledger;      // of this iteration
  Duration encoding;  // of its compression
};

// One group of gradients, or the parameters of a layer, on its way.
struct Sending {
  Activity activity = Activity::message;
  int channel = 0;
  int index = 0;
  int first_layer = 0;
  int last_layer = 0;
  Bytes size = {};
};

template <class Clock>
class StepWorkers {
 public:
  static constexpr bool one_for_all = std::is_same_v<Clock, Time>;

  explicit StepWorkers(const StepNow& step);

  // Draws what the layers take, if that changes with the iteration.
  void draw_work();
  void start_iteration(const Clock& starts);
  // An action of the compute stream, or of the loader.
  void compute(const Action& action, Clock& now);
  // A message or a broadcast; there is an entry for each worker afterwards, if any ends differ.
  // `ready`: when each worker waits for nothing but others. `sent`: when it began on the last one.
  void record(const Sending& what, Clock ready, Time sent, Clock& ends);
  // Everybody is busy with a message whose time is known, or with messages that have been played.
  void slow_down(Time from, Time to);
  void slow_down(const std::vector<ExchangeTimes>& messages);
  // Messages in flight together are communication once.
  void count_once();
  // The backward pass and the messages go as in the iteration before, only later: by how much.
  Duration repeat_backward(const WorkerInStep& before);
  const WorkerInStep& state() const { return states_.front(); }  // where one stands for all
  void finish_iteration();

  // As many entries as there are workers played.
  void fit(Clock& clock) const;
  // Tells who plans when each of them begins.
  void begin(const Clock& starts, Replanner& replanner) const;
  // On the last worker; where messages take turns with computation.
  Time gradient_ready(int layer) const { return gradient_ready_[static_cast<std::size_t>(layer)]; }
  double slowest() const { return works_.front().factor; }  // where one stands for all
  const std::vector<Account>& sums() const { return sums_; }
  void clear_sums() { sums_.clear(); }

 private:
  const WorkerWork& work_of(std::size_t worker) const {
    return works_[works_.size() == 1 ? 0 : worker];
  }
  template <class End>
  void each(Clock& now, const End& end);
  void expand(std::size_t workers);
  Duration decompress_of(std::size_t worker) const;
  Time forward(const Action& action, std::size_t worker, Time now);
  Time backward(const Action& action, std::size_t worker, Time now);
  Time compress(std::size_t message, std::size_t worker, Time start);
  Time decompress(std::size_t layer, std::size_t worker, Time start);
  Time update(std::size_t layer, std::size_t worker, Time start);
  void draw(std::size_t worker, const Slice& slice) {
    if (step_.draws) draw_slice(worker, slice);
  }
  void draw_slice(std::size_t worker, Slice slice);
  struct Span {
    Time from;
    Time to;
  };
  void draw_message(const Sending& what, std::size_t worker, Span waits, Span goes);

  const StepNow& step_;
  const StepQuestion& question_;
  const Trace& trace_;
  std::vector<Duration> traced_;  // of the backward pass, as in the trace
  LayerParts parts_;              // of an update layer by layer
  std::vector<double> fixed_;     // factors of the workers that are played
  std::vector<WorkerWork> works_;
  std::vector<WorkerInStep> states_;  // one as long as all are at the same point
  std::vector<Time> gradient_ready_;
  std::vector<Account> sums_;
};

}  // namespace sgdsim
