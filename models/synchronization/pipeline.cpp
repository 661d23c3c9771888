// The recurrence, per worker. At closed form one worker, the slowest, stands for all.
#include "models/synchronization/pipeline.h"

#include <deque>

#include "models/step/clocks.h"
#include "models/step/compute.h"
#include "models/step/exchange.h"
#include "models/step/sparsity.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

struct WorkerWork {
  std::vector<Duration> forward;
  std::vector<Duration> backward;
  double factor = 1;
};

class PipelinePlayer {
 public:
  PipelinePlayer(const StepQuestion& question, const PipelineRule& rule)
      : question_(question),
        rule_(rule),
        trace_(*question.trace),
        cost_(question.cost),
        player_(question.cluster->network),
        work_(backward_work(trace_)),
        fixed_(fixed_factors(question.workers, question.cluster->network.workers())) {
    // One entry stands for all workers as long as all are at the same point.
    if (closed()) fixed_ = {*std::max_element(fixed_.begin(), fixed_.end())};
    works_.resize(closed() || question.workers.all_alike() ? 1 : fixed_.size());
    computed_.resize(works_.size());
    started_.resize(works_.size());
    sums_.resize(works_.size());
    channel_.resize(1);
  }

  StepResult run();

 private:
  bool closed() const { return question_.fidelity == Fidelity::closed_form; }
  void expand(std::size_t count);
  void plan(int measured);
  void compute(int iteration, const Clocks& begin, bool exchanges);
  void exchange(bool measured);
  Clocks play(const Encoded& encoded, Clocks starts);
  void finish(int iteration, Time end);

  const StepQuestion& question_;
  const PipelineRule& rule_;
  const Trace& trace_;
  MessageCost cost_;
  Exchange player_;
  std::vector<Duration> work_;
  std::vector<double> fixed_;
  GradientPlan plan_;
  std::vector<Encoded> encoded_;   // of each message of the plan
  Duration decompress_;            // of all of them
  std::vector<WorkerWork> works_;  // of this iteration
  Clocks computed_;                // Ce
  Clocks started_;                 // Cs
  std::vector<Clocks> ready_;      // of each message
  Clocks channel_;                 // Ae
  std::deque<Clocks> exchanged_;   // Ae of the last iterations, the latest first
  Time last_end_;
  std::vector<Account> sums_;
  Sparsity sparsity_;
  double staleness_ = 0;
  double staleness_max_ = 0;
  StepResult result_;
};

void PipelinePlayer::expand(std::size_t count) {
  if (works_.size() == count || closed()) return;
  works_.resize(count, works_.front());
  computed_.resize(count, computed_.front());
  started_.resize(count, started_.front());
  sums_.resize(count, sums_.front());
}

// A plan holds for one density.
void PipelinePlayer::plan(int measured) {
  const Compression* compression = cost_.compression();
  const bool other = changes_density(compression, measured);
  if (!encoded_.empty() && !other) return;
  if (other) cost_ = question_.cost.at_density(density_at(compression->densities, measured));
  if (rule_.layerwise) {
    std::vector<Duration> ready(work_.size());
    Duration now = trace_.forward();
    for (std::size_t l = work_.size(); l-- > 0;) ready[l] = now += work_[l];
    plan_ = question_.strategy->plan({trace_, cost_, ready});
    if (plan_.bsp != BspForm::none || plan_.order == Order::priority)
      throw InputError("",
                       "this synchronization sends messages in order: no strategy by priority, "
                       "and no bsp_lp");
  } else {
    plan_ = {};
    plan_.messages = all_in_one(trace_);
    plan_.after_backward = true;
  }
  encoded_.clear();
  decompress_ = Duration();
  for (const PlannedMessage& message : plan_.messages) {
    encoded_.push_back(cost_.encoded(message.group()));
    decompress_ += encoded_.back().decompress;
  }
  ready_.resize(encoded_.size());
}

// Update, forward and backward of one iteration on every worker; when messages are ready.
void PipelinePlayer::compute(int iteration, const Clocks& begin, bool exchanges) {
  if (begin.size() > 1) expand(begin.size());
  for (Clocks& ready : ready_) ready.resize(works_.size());
  for (std::size_t i = 0; i < works_.size(); ++i) {
    WorkerWork& work = works_[i];
    if (iteration == 0 || question_.workers.is_random())
      work.factor =
          draw_work(trace_, work_, question_.workers, fixed_[i],
                    {question_.seed, static_cast<int>(i), iteration}, work.forward, work.backward);
    Time now = started_[i] = at(begin, i);
    const Duration update = scaled(trace_.update, work.factor);
    Breakdown one;
    one.update = update;
    if (exchanges) one.compression = scaled(decompress_, work.factor);
    now += update + one.compression;
    for (const Duration forward : work.forward) one.forward += forward;
    now += one.forward;
    int next = static_cast<int>(work_.size()) - 1;
    auto backward_to = [&](int layer) {
      for (; next >= layer; --next) {
        now += work.backward[static_cast<std::size_t>(next)];
        one.backward += work.backward[static_cast<std::size_t>(next)];
      }
    };
    if (plan_.after_backward) backward_to(0);
    for (std::size_t m = 0; exchanges && m < encoded_.size(); ++m) {
      backward_to(plan_.messages[m].first_layer);
      const Duration compress = scaled(encoded_[m].compress, work.factor);
      now += compress;
      one.compression += compress;
      ready_[m][i] = std::max(now, started_[i] + plan_.messages[m].not_before);
    }
    backward_to(0);
    computed_[i] = now;
    if (iteration >= question_.warm_up) sums_[i].parts += one;
  }
}

Clocks PipelinePlayer::play(const Encoded& encoded, Clocks starts) {
  if (!closed()) return player_.play(cost_, encoded, std::move(starts));
  return {starts.front() + cost_.of(encoded)};
}

// The messages of an iteration, one after the other.
void PipelinePlayer::exchange(bool measured) {
  const Time origin = *std::min_element(started_.begin(), started_.end());
  result_.messages.clear();
  for (std::size_t m = 0; m < encoded_.size(); ++m) {
    const PlannedMessage& message = plan_.messages[m];
    Clocks starts = latest(ready_[m], channel_);
    const Time everybody = last_of(starts);
    channel_ = play(encoded_[m], starts);
    if (channel_.size() > 1) expand(channel_.size());
    for (std::size_t i = 0; measured && i < sums_.size(); ++i) {
      const Time begin = std::min(everybody, at(channel_, i));
      sums_[i].parts.waiting += begin - at(starts, i);
      sums_[i].parts.communication += at(channel_, i) - begin;
    }
    if (measured) sparsity_.add(encoded_[m]);
    result_.messages.push_back({message.first_layer, message.last_layer, message.size,
                                last_of(ready_[m]) - origin, everybody - origin,
                                last_of(channel_) - origin});
  }
}

void PipelinePlayer::finish(int iteration, Time end) {
  const bool measured = iteration >= question_.warm_up;
  if (measured) result_.iterations.push_back(end - last_end_);
  last_end_ = end;
}

StepResult PipelinePlayer::run() {
  const int count = question_.warm_up + question_.iterations;
  for (int iteration = 0; iteration < count; ++iteration) {
    if (question_.pause) question_.pause();
    const bool measured = iteration >= question_.warm_up;
    const int width = iteration < rule_.synchronous ? 1 : rule_.width;
    const bool exchanges = (iteration + 1) % rule_.every == 0;
    plan(iteration - question_.warm_up);
    player_.traffic = {};
    Clocks begin = computed_;
    if (static_cast<std::size_t>(width) <= exchanged_.size())
      begin = latest(begin, exchanged_[static_cast<std::size_t>(width) - 1]);
    if (iteration > 0)
      for (std::size_t i = 0; i < begin.size(); ++i)
        begin[i] = std::max(begin[i], at(started_, i) + trace_.load);
    compute(iteration, begin, exchanges);
    if (exchanges) {
      exchange(measured);
      result_.message_count = player_.traffic.messages;
      result_.wire_B = player_.traffic.wire_B / rule_.every;
    }
    exchanged_.push_front(channel_);
    if (exchanged_.size() > static_cast<std::size_t>(rule_.width)) exchanged_.pop_back();
    const Time computed = last_of(computed_);
    finish(iteration, rule_.ends_with_computation || !exchanges
                          ? computed
                          : std::max(computed, last_of(channel_)));
    const int stale = rule_.every > 1 ? iteration % rule_.every : std::min(width - 1, iteration);
    if (measured) staleness_ += stale;
    if (measured) staleness_max_ = std::max(staleness_max_, static_cast<double>(stale));
  }
  // Iterations overlap: whatever exchanges add is carried as far as they were busy, then waited.
  for (Account& sum : sums_) sum.carried = sum.parts.overlapped = sum.parts.communication;
  result_.settle(sums_);
  result_.quality = sparsity_.quality();
  result_.quality.staleness_mean = staleness_ / question_.iterations;
  result_.quality.staleness_max = staleness_max_;
  result_.path = closed() ? "formula" : name_of(player_.path);
  return std::move(result_);
}

}  // namespace

StepResult play_pipeline(const StepQuestion& question, const PipelineRule& rule) {
  if (question.timeline != nullptr)
    throw InputError("--timeline", "is not recorded where iterations overlap");
  if (question.interference != 1 || question.channels != 1)
    throw InputError("",
                     "interference and several channels are not defined where iterations "
                     "overlap");
  return PipelinePlayer(question, rule).run();
}

}  // namespace sgdsim
