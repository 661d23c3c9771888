// What is played, and what is asked of it.
#include "models/step/jobs_in_time.h"

#include <variant>

#include "models/step/jobs_player.h"
#include "sim/core/error.h"
#include "sim/net/flows.h"
#include "sim/net/packet_limit.h"
#include "sim/play/play.h"

namespace sgdsim {
namespace {

constexpr double most_times = 1 << 28;  // kept, of eight bytes

CollectiveOptions options_of(const TrainingJob& job) {
  const MessageCost& cost = job.question->cost;
  if (cost.servers() == nullptr) return cost.job().options;
  CollectiveOptions options;
  options.alpha = cost.servers()->alpha;
  return options;
}

}  // namespace

JobsInTime::Player::Player(const JobsQuestion& question)
    : question_(question),
      ports_(*question.network),
      carrier_(make_carrier()),
      clock_(agenda_, carrier_.get(), question.stopper),
      own_clock_(clock_, 1),
      calls_({clock_, 2}, clock_.alpha_of_legs(alpha_), {},
             [this](uint32_t call, int worker, Time now) {
               end_message(by_number_[call], worker, now);
             }),
      pushes_({clock_, 3}, *question.network,
              [this](uint32_t call, int worker, Time now) {
                end_message(by_push_[call], worker, now);
              }),
      traffic_({clock_, 4}, question.network, question.meanwhile),
      schedules_({clock_, 6}, {clock_, 7}, *question.network, question.schedules, question.records),
      clockwork_(clock_, *this, calls_, pushes_, traffic_, asynchronous_, schedules_.ranks(),
                 schedules_.calls()) {
  jobs_.reserve(question.jobs.size());
  for (const TrainingJob& job : question_.jobs) prepare(job);
  traffic_.begin();
  for (std::size_t worker = 0; worker < workers_.size(); ++worker)
    advance(worker, jobs_[workers_[worker].job].job->start);
  for (const std::size_t worker : std::exchange(unsettled_, {}))
    own_clock_.plan(part, worker, workers_[worker].way.due());
  asynchronous_.begin();
  if (!question_.schedules.empty())
    check_packets(schedules_.packets(payload()), "or shorter messages");
  schedules_.begin();
}

std::unique_ptr<Carrier> JobsInTime::Player::make_carrier() {
  if (question_.carrier) return question_.carrier(*question_.wires, agenda_, question_.watch);
  std::vector<const TrainingJob*> sending;
  for (const TrainingJob& job : question_.jobs)
    if (job.question->cost.plays()) sending.push_back(&job);
  CollectiveOptions options;
  options.alpha = question_.alpha;
  if (!sending.empty()) options = options_of(*sending.front());
  alpha_ = options.alpha;
  for (const TrainingJob* job : sending) {
    const CollectiveOptions its = options_of(*job);
    if (its.alpha != options.alpha || its.send_buffer != options.send_buffer)
      throw InputError(
          "",
          "jobs that share a network have the same values of the options alpha and "
          "send_buffer (parameter servers have none): say them in all jobs, or in none");
  }
  if (question_.wires == nullptr && !question_.shares_ports) return nullptr;
  return std::make_unique<Flows>(
      question_.wires != nullptr ? *question_.wires : ports_,
      Flows::Options{.alpha = options.alpha,
                     .send_buffer_B = static_cast<double>(options.send_buffer.count()),
                     .watch = question_.watch},
      agenda_);
}

void JobsInTime::Player::prepare(const TrainingJob& training) {
  const StepQuestion& question = *training.question;
  check_strategy(question);
  JobInPlay& job = jobs_.emplace_back();
  job.job = &training;
  job.places = places_of(training);
  played_.emplace_back();
  if (const AsynchronousRule* rule = asynchronous_rule(question))
    return prepare_asynchronous(job, *rule);
  StepSoFar so_far = training.so_far;
  if (so_far.iteration == 0) so_far = {0, {training.start}, training.start};
  StepInTime& step = job.step.emplace(question, so_far, training.goes_on);
  played_.back().asked_for = so_far.iteration;
  if (step.is_planned(so_far.iteration)) check_packets_from(job, so_far.iteration);
  if (step.goes_by_priority()) job.urgent.emplace(step.plan(0), question.channels);
  job.first_worker = workers_.size();
  for (int i = 0; i < job.workers(); ++i) {
    const Time start = at(so_far.starts, static_cast<std::size_t>(i));
    workers_.push_back({jobs_.size() - 1, i, WorkerInTime(step, i, start), {}});
  }
}

// Of this iteration, and of those behind it as if they were like it.
void JobsInTime::Player::check_packets_from(const JobInPlay& job, int iteration) const {
  const Payload payload = this->payload();
  if (!payload.any() || !job.job->question->cost.plays()) return;
  const ParameterServers* servers = job.job->question->cost.servers();
  const int workers = job.workers();
  double packets = 0;
  for (std::size_t i = 0; i < job.step->messages_in(iteration); ++i) {
    if (servers == nullptr) {
      const Traffic traffic = traffic_of(*job.step->sent(iteration, i).program, workers);
      packets += payload.packets(static_cast<double>(traffic.messages), traffic.wire_B);
    } else {
      const double pairs = 2.0 * (servers->dedicated ? workers : workers - 1);
      const Encoded& encoded = job.step->encoded(iteration, i);
      for (int transfer = 0; transfer < encoded.transfer_count; ++transfer) {
        const Bytes size = encoded.transfers[static_cast<std::size_t>(transfer)].size;
        packets += payload.packets(pairs, pairs * static_cast<double>(size.count()));
      }
    }
  }
  check_packets(packets * (job.step->iterations() - iteration), "iterations or workers");
}

void JobsInTime::Player::prepare_asynchronous(const JobInPlay& job, const AsynchronousRule& rule) {
  const StepQuestion& question = *job.job->question;
  auto workers = std::make_unique<AsynchronousWorkers>(
      question, rule.bound, asynchronous_cycle(question, question_.network, &job.places),
      AsynchronousWorkers::Setting{
          .clock = {clock_, 5}, .first_number = asynchronous_.workers(), .start = job.job->start});
  const AsynchronousCycle cycle = asynchronous_cycle(question, question_.network, &job.places);
  const double times = 2.0 * job.workers() * (question.warm_up + question.iterations);
  double size_B = 0;
  for (const AsynchronousCycle::Part& part : cycle.parts) size_B += part.size_B;
  check_packets(payload().packets(times * cycle.count(), times * size_B), "iterations or workers");
  asynchronous_.add(jobs_.size() - 1, std::move(workers), job.workers());
}

IterationTimes JobsInTime::Player::times_of(std::size_t job, int iteration) {
  Played& played = played_[job];
  const StepInTime& step = *jobs_[job].step;
  while (!step.is_planned(iteration) || kept(job, iteration).left > 0) go_on();
  IterationTimes times;
  for (; played.asked_for <= iteration; ++played.asked_for) {
    times = std::move(played.iterations.front().times);
    kept_ -= numbers_in(times, step);
    played.iterations.pop_front();
  }
  return times;
}

std::optional<std::vector<int64_t>> JobsInTime::Player::state_after(std::size_t number,
                                                                    int iteration) const {
  const JobInPlay& job = jobs_[number];
  const bool is_decided = !job.urgent || (job.urgent->is_empty() && job.urgent->is_network_free() &&
                                          undecided_.empty());
  if (!numbers_.empty() || !job.not_ready.empty() || !is_decided) return std::nullopt;
  // What blocks of trees share is rounded by the order of their numbers, which are others each
  // time: some picoseconds, which may decide which block is first.
  const bool are_sums = job.job->question->cost.is_algorithm();
  for (std::size_t i = 0; are_sums && i < job.step->messages_in(iteration); ++i)
    for (const Stage& stage : job.step->sent(iteration, i).program->stages)
      if (std::holds_alternative<TreePipeline>(stage)) return std::nullopt;
  std::vector<int64_t> state;
  for (const WorkerInJob& worker : workers_) {
    if (!worker.to_enter.empty()) return std::nullopt;
    worker.way.add_state(iteration, now(), state);
  }
  job.step->add_state(iteration, now(), state);
  return state;
}

const AsynchronousWorkers& JobsInTime::Player::asynchronous(std::size_t job) {
  const AsynchronousWorkers& workers = asynchronous_.of(job);
  while (!workers.is_done()) go_on();
  return workers;
}

Time JobsInTime::Player::end_of_schedule(std::size_t schedule) {
  while (!schedules_.has_ended(schedule)) {
    if (clockwork_.moment()) continue;
    if (carrier_ == nullptr || carrier_->stranded().empty()) schedules_.fail(schedule);
    clock_.fail();
  }
  return schedules_.end_of(schedule);
}

void JobsInTime::Player::go_on_until(Time end) {
  if (end <= now()) return;
  own_clock_.plan(nothing, 0, end);
  while (now() < end && clockwork_.moment()) continue;
}

JobsInTime::Player::Kept& JobsInTime::Player::kept(std::size_t job, int iteration) {
  Played& played = played_[job];
  const auto place = static_cast<std::size_t>(iteration - played.asked_for);
  while (played.iterations.size() <= place) {
    const auto workers = static_cast<std::size_t>(jobs_[job].workers());
    Kept& next = played.iterations.emplace_back();
    const int number = played.asked_for + static_cast<int>(played.iterations.size()) - 1;
    next.times.resize(jobs_[job].step->messages_in(number));
    for (ExchangeTimes& times : next.times) {
      times.starts.resize(workers);
      times.ends.resize(workers);
    }
    next.travels.resize(next.times.size());
    next.left = static_cast<int64_t>(workers * next.times.size());
    kept_ += numbers_in(next.times, *jobs_[job].step);
    if (kept_ > most_times)
      throw InputError("", "too many iterations, messages and workers of other jobs to keep");
  }
  return played.iterations[place];
}

JobsInTime::JobsInTime(const JobsQuestion& question)
    : player_(std::make_unique<Player>(question)) {}
JobsInTime::~JobsInTime() = default;
IterationTimes JobsInTime::times_of(std::size_t job, int iteration) {
  return player_->times_of(job, iteration);
}
std::optional<std::vector<int64_t>> JobsInTime::state_after(std::size_t job, int iteration) const {
  return player_->state_after(job, iteration);
}
const AsynchronousWorkers& JobsInTime::asynchronous(std::size_t job) {
  return player_->asynchronous(job);
}
Time JobsInTime::end_of_schedule(std::size_t schedule) {
  return player_->end_of_schedule(schedule);
}
std::vector<RankShare> JobsInTime::shares_of_schedule(std::size_t schedule) const {
  return player_->shares_of_schedule(schedule);
}
std::vector<EndedOperation> JobsInTime::ended_of_schedule(std::size_t schedule) const {
  return player_->ended_of_schedule(schedule);
}
void JobsInTime::go_on_until(Time end) { player_->go_on_until(end); }
double JobsInTime::least_delivered() const { return player_->least_delivered(); }
std::vector<double> JobsInTime::carried_B() const { return player_->carried_B(); }
Time JobsInTime::now() const { return player_->now(); }
Time JobsInTime::end() const { return player_->end(); }
std::shared_ptr<const PacketReport> JobsInTime::packets() const { return player_->packets(); }
std::optional<Time> JobsInTime::end_of_traffic() const { return player_->end_of_traffic(); }

}  // namespace sgdsim
