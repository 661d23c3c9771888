// From iteration to iteration.
#include "models/step/step_player.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

// Values that are all the same have exactly that mean.
void add_to_mean(double& mean, double value, double weight) { mean += (value - mean) * weight; }

std::string in_four_digits(Duration length) {
  int64_t unit_ps = 1;
  while (length.ps() / unit_ps >= 10'000) unit_ps *= 10;
  return to_text(Duration::ps(length.ps() / unit_ps * unit_ps));
}

}  // namespace

template <class Clock>
StepPlayer<Clock>::StepPlayer(const StepQuestion& question, const PipelineRule* pipeline)
    : question_(question),
      step_{.question = question, .pipeline = pipeline, .cost = &question.cost},
      workers_(step_),
      messages_(step_, workers_),
      replanner_(question, Time()) {
  step_.played = question.played;
  workers_.fit(starts_);
  if (!question.wants_reason) return;
  // Where layers wait for the iteration before, it takes two more to see what repeats.
  int kept = 3;
  constexpr int most_kept = 50'000;
  if (pipeline != nullptr) kept = std::min(most_kept, 2 * (pipeline->width + pipeline->every) + 1);
  flow_.watch(&causes_.emplace(static_cast<std::size_t>(kept)));
}

template <class Clock>
StepResult StepPlayer<Clock>::run() {
  try {
    if (step_.is_steady(one_for_all))
      run_steady();
    else
      run_each();
  } catch (const LimitReached& limit) {
    const int warm_up = step_.is_steady(one_for_all) ? 0 : question_.warm_up;
    throw limit.with(", in iteration " + std::to_string(playing_) + " of " +
                     std::to_string(warm_up + question_.iterations));
  }
  if (step_.is_late() && question_.warm_up == 0 && !step_.is_steady(one_for_all) &&
      question_.cluster->network.workers() > 1)
    result_.warnings.push_back(
        "`warm_up` 0 takes in the first iteration, which waits for no message "
        "of one before it: the mean is not its time in the long run");
  warn_of_past_traffic();
  if (causes_) find_reason();
  const Exchange& played = messages_.player();
  if (played.pads_chunks) result_.warnings.emplace_back(Played::padding_said);
  result_.messages = std::move(messages_.records());
  if (sent_.iterations == 0 && played.traffic.messages > 0) note_sent();  // by the warm-up
  result_.message_count = played.traffic.messages;
  result_.wire_B = sent_.wire_B / (step_.pipeline == nullptr ? 1 : step_.pipeline->every);
  result_.quality = (one_for_all ? sparsity_ : messages_.sparsity()).quality();
  result_.quality.staleness_mean = staleness_ / question_.iterations;
  result_.quality.staleness_max = staleness_max_;
  if (is_on_wires(question_.fidelity) && question_.wires != nullptr) result_.wires = use_of_wires();
  if (in_time_) result_.packets = in_time_->packets();
  result_.packet_wires = question_.wires;
  if (result_.packets) result_.quality.delivered *= result_.packets->of(Cargo::gradients).part();
  result_.end = last_end_;
  result_.path = one_for_all ? "formula" : name_of(played.path);
  return std::move(result_);
}

template <class Clock>
void StepPlayer<Clock>::warn_of_past_traffic() {
  const std::optional<Time> end = in_time_ ? in_time_->end_of_traffic() : std::nullopt;
  if (!end) return;
  const Time measured_from = in_time_->end() - result_.total();
  if (*end < measured_from)
    result_.warnings.push_back("the traffic was over at " + to_text(end->since_start()) +
                               ", before the measured iterations, which begin at " +
                               to_text(measured_from.since_start()));
}

template <class Clock>
void StepPlayer<Clock>::note_sent() {
  add_to_mean(sent_.wire_B, messages_.player().traffic.wire_B, 1.0 / ++sent_.iterations);
  ++sent_.without_carried;
}

template <class Clock>
void StepPlayer<Clock>::note_carried() {
  const int iterations = std::exchange(sent_.without_carried, 0);
  if (iterations == 0 || !is_carried_known()) return;
  const std::vector<double> by_plan = messages_.carried_by_plan();
  sent_.carried_B.resize(std::max(sent_.carried_B.size(), by_plan.size()));
  for (std::size_t wire = 0; wire < sent_.carried_B.size(); ++wire)
    add_to_mean(sent_.carried_B[wire], wire < by_plan.size() ? by_plan[wire] : 0,
                static_cast<double>(iterations) / sent_.iterations);
}

// Iterations may send different messages.
template <class Clock>
bool StepPlayer<Clock>::plans_differ() const {
  const Compression* compression = question_.cost.compression();
  return plans_anew(question_) || (compression != nullptr && compression->densities.size() > 1);
}

// What wires carry follows from plans; but packets have headers and are sent again, and servers are
// known to the network only, as others' traffic is.
template <class Clock>
bool StepPlayer<Clock>::is_carried_known() const {
  return question_.wires != nullptr && !question_.carrier && !question_.meanwhile.any() &&
         question_.cost.servers() == nullptr;
}

// Where what has carried the bytes took longer than the iterations, because messages go on behind
// them or the warm-up was slower, that time counts.
template <class Clock>
WireUse StepPlayer<Clock>::use_of_wires() {
  constexpr std::size_t shown = 10;
  const int every = step_.pipeline == nullptr ? 1 : step_.pipeline->every;
  int exchanges = std::max(1, sent_.iterations);
  double iterations = every;  // that have carried what is counted
  std::vector<double> carried_B;
  Duration took;
  if (in_time_ && !is_carried_known()) {
    // Of densities, those that follow would count as if they were asked for.
    const int more = plans_differ() ? 0 : in_time_->finish();
    carried_B = in_time_->carried_B();
    for (std::size_t wire = 0; wire < sent_.by_warm_up_B.size(); ++wire)
      carried_B[wire] -= sent_.by_warm_up_B[wire];
    // What follows may be the first exchange.
    if (sent_.iterations == 0 && !question_.meanwhile.any())
      carried_B.assign(carried_B.size(), 0.0);
    if (!plans_differ())
      exchanges = std::max(1, (question_.warm_up + question_.iterations + more) / every);
    iterations = every * static_cast<double>(exchanges);
    took = in_time_->now() - sent_.warmed_up;
  } else {
    note_carried();
    carried_B = std::move(sent_.carried_B);
    took = messages_.sent_for();
  }
  for (double& bytes : carried_B) bytes /= iterations;
  const Duration step = std::max(Duration::ps(result_.total().ps() / question_.iterations),
                                 Duration::ps(took.ps() / (int64_t{every} * exchanges)));
  const Time now = in_time_ ? in_time_->now() : Time();
  return use_of(*question_.wires, carried_B, step, shown,
                changed_by(question_.meanwhile.changes, now));
}

// Where workers are alike, iterations differ only where the density does: one is played for all. If
// the next forward starts before all messages have ended, that of the steady state is longer, and
// all after it is the same, only later: every message has ended when the forward has. Where batches
// are waited for, that is so one iteration later.
template <class Clock>
void StepPlayer<Clock>::run_steady() {
  Time end;
  for (int done = 0; done < question_.iterations;) {
    begin_iteration(done, done);
    if (step_.is_late()) play_iteration(false);
    if (step_.is_late() && question_.trace->load > Duration()) play_iteration(false);
    workers_.clear_sums();
    const bool looked_at = question_.timeline != nullptr || causes_;
    const Duration iteration =
        step_.is_late() && !looked_at ? repeat_iteration() : play_iteration(true);
    const Breakdown parts = workers_.sums().front().settled(1, iteration);
    const int alike =
        iterations_alike(question_.cost.compression(), done, question_.iterations - done);
    for (int one = 0; one < alike; ++one) {
      playing_ = done + one + 1;
      result_.iterations.push_back(iteration);
      count(question_.stopper, end += iteration);
    }
    result_.mean += alike == question_.iterations ? parts : parts * alike;
    sparsity_.add(step_.prices.sparsity(), alike);
    done += alike;
    if (alike < done && done == question_.iterations) result_.mean = result_.mean / done;
  }
  result_.workers = {result_.mean};
}

template <class Clock>
void StepPlayer<Clock>::run_each() {
  const int count = question_.warm_up + question_.iterations;
  Duration before;  // of the last iteration that is not measured
  for (int iteration = 0; iteration < count; ++iteration) {
    begin_iteration(iteration, iteration - question_.warm_up);
    const bool counts = iteration >= question_.warm_up;
    if (iteration == question_.warm_up && in_time_ && plans_differ()) {
      sent_.by_warm_up_B = in_time_->carried_B();
      sent_.warmed_up = in_time_->now();
    }
    const Duration length = play_iteration(counts);
    if (!counts) before = length;
    if (!counts) continue;
    result_.iterations.push_back(length);
    sparsity_.add(step_.prices.sparsity(), exchanges_ ? 1 : 0);
    note_staleness();
  }
  result_.settle(workers_.sums());
  if (question_.iterations == 1) warn_of_unlike(before);
}

// What is asked for once stands for the long run.
template <class Clock>
void StepPlayer<Clock>::warn_of_unlike(Duration before) {
  const Duration length = result_.iterations.front();
  constexpr int settled = 2;  // iterations of the warm-up that may be unlike
  constexpr double alike = 0.01;
  const Synchronization* synchronization = question_.synchronization;
  const bool is_too_short =  // which is said already
      synchronization != nullptr &&
      !synchronization->problems_of(question_.warm_up, question_.iterations).empty();
  const bool are_unlike = question_.warm_up >= settled && !question_.workers.is_random() &&
                          !question_.carrier && !question_.meanwhile.any() && !plans_differ() &&
                          !is_too_short;
  const auto difference = static_cast<double>(std::abs((length - before).ps()));
  if (!are_unlike || difference <= alike * static_cast<double>(length.ps())) return;
  result_.warnings.push_back("iterations are not alike: this one takes " + in_four_digits(length) +
                             ", the one before it " + in_four_digits(before) +
                             "; `iterations` 20 gives their mean");
}

// Draws what layers take, and plans.
template <class Clock>
void StepPlayer<Clock>::begin_iteration(int iteration, int measured) {
  look(question_.stopper);
  const PipelineRule* pipeline = step_.pipeline;
  step_.iteration = iteration;
  playing_ = iteration + 1;
  exchanges_ = pipeline == nullptr || (iteration + 1) % pipeline->every == 0;
  workers_.draw_work();
  const bool other_density = choose_density(measured);
  if (!is_planned_ || other_density || plans_anew(question_)) {
    take(plan());
    make_graph();
  } else if (pipeline != nullptr && (pipeline->every > 1 || iteration <= pipeline->synchronous)) {
    make_graph();
  }
}

// A plan holds for one density.
template <class Clock>
bool StepPlayer<Clock>::choose_density(int measured) {
  const Compression* compression = question_.cost.compression();
  if (!changes_density(compression, measured)) return false;
  note_carried();  // at the density before
  step_.cost = &other_density_.emplace(
      question_.cost.at_density(density_at(compression->densities, measured)));
  return true;
}

template <class Clock>
GradientPlan StepPlayer<Clock>::plan() {
  if (plans_anew(question_) || step_.is_steady(one_for_all)) {
    wakes_ = replanner_.wakes();
    workers_.begin(starts_, replanner_);
    return replanner_.plan(*step_.cost);
  }
  GradientPlan plan = profiled_plan(question_, *step_.cost);
  check_plan(question_, plan);
  return plan;
}

// What its messages are made into, and what they cost.
template <class Clock>
void StepPlayer<Clock>::take(GradientPlan plan) {
  note_carried();
  const bool is_first = !std::exchange(is_planned_, true);
  step_.plan = std::move(plan);
  if (causes_) causes_->forget();
  step_.is_plain = !step_.is_late() && step_.plan.bsp == BspForm::none && step_.pipeline == nullptr;
  const std::vector<PlannedMessage>& messages = step_.plan.messages;
  if (one_for_all) {
    step_.prices.set(step_.plan.bsp_broadcasts ? question_.reduce : *step_.cost, messages,
                     workers_.slowest());
  } else {
    step_.encoded = encoded_messages(step_.plan, *step_.cost);
  }
  const bool in_turn = step_.plan.bsp != BspForm::none;
  // Who has pulled the only message of a step first pushes the next one first.
  const bool is_only =
      messages.size() == 1 && step_.pipeline == nullptr && step_.cost->servers() != nullptr;
  step_.together = !in_turn && (step_.plan.order == Order::priority ||
                                (question_.channels > 1 && !is_only) || step_.played);
  messages_.take_plan();
  if (step_.played || (!is_first && !plans_anew(question_))) return;
  const bool decides_in_time = is_decided_in_time();
  if (question_.wires == nullptr) return decides_in_time ? meet_in_time() : void();
  if (!question_.cost.plays() && !decides_in_time) return;  // only times, which share nothing
  // A collective that drains is alone.
  const bool is_known = is_carried_known() && !decides_in_time;
  if (is_known && ((in_turn && step_.plan.bsp_drains) || are_apart())) return;
  meet_in_time();
}

// Whether who goes next, or how fast a worker computes, depends on messages that are in flight:
// where they are not sent one after the other as they get ready, within their iteration.
template <class Clock>
bool StepPlayer<Clock>::is_decided_in_time() const {
  if (one_for_all || (question_.channels == 1 && question_.interference == 1)) return false;
  const bool in_order = step_.plan.order == Order::first_ready && step_.plan.bsp == BspForm::none &&
                        step_.pipeline == nullptr;
  return !in_order || (question_.channels > 1 && question_.interference != 1 &&
                       (question_.wires != nullptr || step_.cost->is_algorithm()));
}

// Whether messages take what each takes alone, whatever the density.
template <class Clock>
bool StepPlayer<Clock>::are_apart() {
  if (!messages_.are_apart()) return false;
  const Compression* compression = question_.cost.compression();
  if (compression == nullptr || plans_anew(question_)) return true;
  for (std::size_t i = 1; i < compression->densities.size(); ++i) {
    const MessageCost cost = question_.cost.at_density(compression->densities[i].density);
    if (!messages_.are_apart(cost, encoded_messages(profiled_plan(question_, cost), cost)))
      return false;
  }
  return true;
}

// From now on messages are played as they meet on wires, or at ports.
template <class Clock>
void StepPlayer<Clock>::meet_in_time() {
  if constexpr (!one_for_all) {
    const bool shares_ports =
        question_.channels > 1 || plans_differ() || !messages_.are_in_rounds();
    if (shares_ports && question_.channels == 1 && question_.interference != 1 &&
        question_.wires == nullptr && question_.cost.is_algorithm())
      result_.warnings.emplace_back(
          "messages that slow computing down share ports here, as with ports=shared, where without "
          "interference they take turns: the two do not compare");
    in_time_ = std::make_unique<StepAlone>(question_, StepSoFar{step_.iteration, starts_, wakes_},
                                           shares_ports);
    step_.played = [this](int iteration) { return in_time_->times_of(iteration); };
    step_.together = step_.plan.bsp == BspForm::none;
  }
}

template <class Clock>
void StepPlayer<Clock>::make_graph() {
  make_step_graph({.trace = question_.trace,
                   .plan = &step_.plan,
                   .pipeline = step_.pipeline,
                   .iteration = step_.iteration,
                   .exchanges = exchanges_,
                   .compressed = step_.cost->compression() != nullptr,
                   .together = step_.together},
                  graph_);
}

// Returns how long it took, on the last worker.
template <class Clock>
Duration StepPlayer<Clock>::play_iteration(bool counts) {
  step_.counts = counts;
  step_.draws = question_.timeline != nullptr &&
                (step_.is_steady(one_for_all) ? counts && result_.iterations.empty()
                                              : question_.timeline->wants(step_.iteration));
  workers_.start_iteration(starts_);
  if (exchanges_) messages_.start_iteration();
  flow_.play(graph_.graph, *this);
  workers_.finish_iteration();
  if (counts && exchanges_) note_sent();
  // Where messages go on, an iteration reaches from one backward end to the next.
  return finish_iteration(step_.is_late() ? flow_.free(compute_stream)
                                          : flow_.next(graph_.graph, graph_.begin));
}

// Plays the forward pass, which all messages of the iteration before have let begin when it ends:
// so what comes behind it is as it was there, only later.
template <class Clock>
Duration StepPlayer<Clock>::repeat_iteration() {
  if constexpr (one_for_all) {
    const WorkerInStep before = workers_.state();
    step_.counts = true;
    workers_.start_iteration(starts_);
    flow_.play(graph_.graph, *this, graph_.backward);
    const Duration later = workers_.repeat_backward(before);
    messages_.shift(later - (starts_ - before.ledger.start()));
    workers_.finish_iteration();
    return finish_iteration(workers_.state().backward_end);
  } else {
    return play_iteration(true);
  }
}

// Returns how long the iteration took, if the next one starts then.
template <class Clock>
Duration StepPlayer<Clock>::finish_iteration(Clock next) {
  const PipelineRule* pipeline = step_.pipeline;
  starts_ = std::move(next);
  workers_.fit(starts_);
  step_.origin = first_of(starts_);
  Time end = last_of(starts_);
  if (pipeline != nullptr) {
    end = last_of(flow_.free(compute_stream));
    if (exchanges_ && !pipeline->ends_with_computation)
      end = std::max(end, last_of(flow_.free(network_stream)));
  }
  const Duration length = end - last_end_;
  last_end_ = end;
  return length;
}

// How old the sums are that are used.
template <class Clock>
void StepPlayer<Clock>::note_staleness() {
  const PipelineRule* pipeline = step_.pipeline;
  if (pipeline == nullptr) return;
  const int lead = step_.iteration < pipeline->synchronous ? 1 : pipeline->width;
  const int stale =
      pipeline->every > 1 ? step_.iteration % pipeline->every : std::min(lead - 1, step_.iteration);
  staleness_ += stale;
  staleness_max_ = std::max<double>(staleness_max_, stale);
}

template class StepPlayer<Time>;
template class StepPlayer<Clocks>;

}  // namespace sgdsim
