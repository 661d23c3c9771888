// One agenda for all workers of all jobs.
#include "models/step/jobs_in_time.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include "models/step/priority.h"
#include "models/step/step_in_time.h"
#include "sim/core/error.h"
#include "sim/net/flows.h"
#include "sim/play/calls_in_time.h"

namespace sgdsim {
namespace {

constexpr double most_times = 1 << 28;  // kept, of eight bytes

// What is the same for all iterations of a job.
struct JobInPlay {
  const TrainingJob* job = nullptr;
  std::optional<StepInTime> step;        // unless it has no common iterations
  ServerPlaces places;                   // where there are parameter servers
  std::optional<UrgentMessages> urgent;  // if messages go by priority
  int urgent_iteration = 0;
  std::map<std::pair<int, std::size_t>, int> not_ready;  // workers, by iteration and message
  std::size_t first_worker = 0;                          // among those of all jobs
  int workers() const { return job->question->cluster->network.workers(); }
  std::size_t worker(int number) const { return first_worker + static_cast<std::size_t>(number); }
};

struct WorkerInJob {
  std::size_t job = 0;
  int number = 0;  // in its job
  WorkerInTime way;
  std::deque<MessagesToSend> to_enter;  // in order, one by one
  int under_way = 0;                    // of its messages
};

}  // namespace

class JobsInTime::Player {
 public:
  explicit Player(const JobsQuestion& question)
      : question_(question),
        carrier_(make_carrier()),
        calls_(agenda_, carrier_.get(), carrier_->alpha_of_legs(), {},
               [this](uint32_t call, int worker, Time now) {
                 end_message(by_number_[call], worker, now);
               }),
        pushes_(agenda_, *carrier_, *question.network,
                [this](uint32_t call, int worker, Time now) {
                  end_message(by_push_[call], worker, now);
                }),
        traffic_(agenda_, *carrier_, *question.network, question.traffic, question.changes) {
    jobs_.reserve(question.jobs.size());
    for (const TrainingJob& job : question_.jobs) prepare(job);
    traffic_.begin();
    for (std::size_t worker = 0; worker < workers_.size(); ++worker)
      advance(worker, jobs_[workers_[worker].job].job->start);
    for (const auto& [job, workers] : asynchronous_) workers->begin();
  }

  IterationTimes times_of(std::size_t job, int iteration) {
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

  const AsynchronousWorkers& asynchronous(std::size_t job) {
    const AsynchronousWorkers& workers = *asynchronous_.at(job);
    while (!workers.is_done()) go_on();
    return workers;
  }

  std::vector<double> carried_B() const { return carrier_->carried_B(); }
  Time end() const { return end_; }
  std::shared_ptr<const PacketReport> packets() const { return carrier_->report(end_); }

 private:
  enum Kind : uint8_t { ready = CallsInTime::kind_count };
  static_assert(ready < uint8_t{ServersInTime::on} &&
                uint8_t{ServersInTime::answers} < uint8_t{AsynchronousWorkers::goes_on} &&
                uint8_t{AsynchronousWorkers::answers} < uint8_t{TrafficInTime::starts});

  static CollectiveOptions options_of(const TrainingJob& job) {
    const MessageCost& cost = job.question->cost;
    if (cost.servers() == nullptr) return cost.job().options;
    CollectiveOptions options;
    options.alpha = cost.servers()->alpha;
    return options;
  }

  std::unique_ptr<Carrier> make_carrier() {
    if (question_.carrier) return question_.carrier(*question_.wires, agenda_, question_.watch);
    const CollectiveOptions options = options_of(question_.jobs.front());
    for (const TrainingJob& job : question_.jobs) {
      const CollectiveOptions its = options_of(job);
      if (its.alpha != options.alpha || its.send_buffer != options.send_buffer)
        throw InputError("",
                         "jobs that share a network have the same values of the options alpha and "
                         "send_buffer");
    }
    return std::make_unique<Flows>(
        *question_.wires,
        Flows::Options{.alpha = options.alpha,
                       .send_buffer_B = static_cast<double>(options.send_buffer.count()),
                       .watch = question_.watch},
        agenda_);
  }

  // What is kept of an iteration until it is asked for.
  struct Kept {
    IterationTimes times;
    int64_t left = 0;  // messages that workers have not ended
  };
  struct Played {
    int asked_for = 0;  // so many iterations
    std::deque<Kept> iterations;
  };

  void prepare(const TrainingJob& training);
  void prepare_asynchronous(const JobInPlay& job, const AsynchronousRule& rule);
  void go_on();
  Time next_event();
  static double numbers_in(const IterationTimes& times, const StepInTime& step) {
    return 2.0 * step.workers() * static_cast<double>(times.size());
  }
  Kept& kept(std::size_t job, int iteration);
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now);
  void advance(std::size_t number, Time now);
  void go_on_with(std::size_t number, Time now);
  void enter_messages(std::size_t number, Time now);
  void make_ready(WorkerInJob& worker, Time now);
  bool commit_urgent(Time now);

  JobsQuestion question_;
  Agenda agenda_;
  std::unique_ptr<Carrier> carrier_;
  CallsInTime calls_;
  ServersInTime pushes_;
  TrafficInTime traffic_;
  std::vector<JobInPlay> jobs_;
  std::vector<WorkerInJob> workers_;
  // The collectives that are under way, by what they are and by their number.
  struct CallOfJob {
    std::size_t job = 0;
    int iteration = 0;
    std::size_t message = 0;
    int left = 0;     // workers that have not ended it
    int missing = 0;  // workers that have not entered it
  };
  void enter(JobInPlay& job, std::size_t number, const MessagesToSend& next, Time now);
  void play_message(const CallOfJob& what, uint32_t number, int worker, Time now);
  uint32_t begin_message(const CallOfJob& what);
  void end_message(CallOfJob& call, int worker, Time now);
  void end_on(const CallOfJob& what, int worker, Time now);
  std::map<std::tuple<std::size_t, int, std::size_t>, uint32_t> numbers_;
  std::vector<CallOfJob> by_number_;
  std::vector<CallOfJob> by_push_;      // of parameter servers
  std::vector<std::size_t> undecided_;  // jobs where another message may go
  std::vector<Played> played_;          // of each job
  std::map<std::size_t, std::unique_ptr<AsynchronousWorkers>> asynchronous_;  // by their jobs
  std::vector<AsynchronousWorkers*> by_worker_;                               // of all of them
  double kept_ = 0;                                                           // times
  Time end_;
};

// One moment.
void JobsInTime::Player::go_on() {
  if (agenda_.empty()) {
    std::vector<Parcel> stranded;
    stranded = carrier_->stranded();
    if (stranded.empty()) throw InputError("", never_ends);
    std::sort(stranded.begin(), stranded.end(), [](const Parcel& a, const Parcel& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    throw NetworkStuck(std::move(stranded));
  }
  const Time now = next_event();
  do {
    while (agenda_.another_now()) next_event();
  } while (commit_urgent(now));
  carrier_->settle(now);
}

Time JobsInTime::Player::next_event() {
  const auto event = agenda_.pop();
  count(question_.stopper, event.time);
  happen(event.payload, event.time);
  return event.time;
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
    next.left = static_cast<int64_t>(workers * next.times.size());
    kept_ += numbers_in(next.times, *jobs_[job].step);
    if (kept_ > most_times)
      throw InputError("", "too many iterations, messages and workers of other jobs to keep");
  }
  return played.iterations[place];
}

void JobsInTime::Player::prepare(const TrainingJob& training) {
  const StepQuestion& question = *training.question;
  JobInPlay& job = jobs_.emplace_back();
  job.job = &training;
  job.places = places_of(training);
  played_.emplace_back();
  if (const AsynchronousRule* rule = asynchronous_rule(question))
    return prepare_asynchronous(job, *rule);
  StepSoFar so_far = training.so_far;
  if (so_far.iteration == 0) so_far = {0, {training.start}, training.start};
  StepInTime& step = job.step.emplace(question, so_far);
  played_.back().asked_for = so_far.iteration;
  if (step.goes_by_priority()) job.urgent.emplace(step.plan(0), question.channels);
  job.first_worker = workers_.size();
  for (int i = 0; i < job.workers(); ++i) {
    const Time start = at(so_far.starts, static_cast<std::size_t>(i));
    workers_.push_back({jobs_.size() - 1, i, WorkerInTime(step, i, start), {}});
  }
}

void JobsInTime::Player::prepare_asynchronous(const JobInPlay& job, const AsynchronousRule& rule) {
  const StepQuestion& question = *job.job->question;
  auto workers = std::make_unique<AsynchronousWorkers>(
      question, rule.bound, asynchronous_cycle(question, question_.network, &job.places),
      AsynchronousWorkers::Setting{.agenda = agenda_,
                                   .carrier = carrier_.get(),
                                   .first_number = static_cast<uint32_t>(by_worker_.size()),
                                   .start = job.job->start});
  by_worker_.resize(by_worker_.size() + static_cast<std::size_t>(job.workers()), workers.get());
  asynchronous_.emplace(jobs_.size() - 1, std::move(workers));
}

void JobsInTime::Player::happen(const Event& event, Time now) {
  if (event.kind() == ready) return enter_messages(event.subject(), now);
  if (event.kind() >= TrafficInTime::starts) return traffic_.happen(event, now);
  if (event.kind() >= AsynchronousWorkers::goes_on)
    return by_worker_[event.subject()]->happen(event, now);
  if (event.kind() >= ServersInTime::on) return pushes_.happen(event, now);
  if (event.kind() >= Carrier::kind_count) return calls_.happen(event, now);
  const Carrier::Report report = carrier_->happen(event, now);
  if (report.news != Carrier::News::nothing) hear(report, now);
}

// Whose message it is.
void JobsInTime::Player::hear(const Carrier::Report& report, Time now) {
  if (pushes_.hear(report, now)) return;
  for (const auto& [job, workers] : asynchronous_)
    if (workers->hear(report, now)) {
      end_ = now;
      return;
    }
  if (traffic_.flow_of(report.message) == TrafficInTime::none)
    calls_.hear(report, now);
  else if (report.news == Carrier::News::arrived)
    traffic_.forget(report.message);
}

// Where all workers of a job have waited for their plan, all of them go on.
void JobsInTime::Player::advance(std::size_t number, Time now) {
  go_on_with(number, now);
  const std::size_t of_job = workers_[number].job;
  JobInPlay& job = jobs_[of_job];
  while (job.step->plan_anew()) {
    kept(of_job, job.step->planned_iteration());  // while it is known how many messages it has
    for (int i = 0; i < job.workers(); ++i) go_on_with(job.worker(i), now);
  }
}

void JobsInTime::Player::go_on_with(std::size_t number, Time now) {
  WorkerInJob& worker = workers_[number];
  const std::deque<MessagesToSend>& sends = worker.way.to_send;
  for (std::size_t more = worker.way.go_on(); more > 0; --more)
    agenda_.push(std::max(now, sends[sends.size() - more].ready),
                 Event(ready, static_cast<uint32_t>(number)));
}

// In order; one that is not ready holds up those behind it.
void JobsInTime::Player::enter_messages(std::size_t number, Time now) {
  WorkerInJob& worker = workers_[number];
  JobInPlay& job = jobs_[worker.job];
  if (job.urgent) make_ready(worker, now);
  std::deque<MessagesToSend>& sends = job.urgent ? worker.to_enter : worker.way.to_send;
  while (!sends.empty() && worker.under_way < job.step->question().channels) {
    if (sends.front().ready > now) return;
    const Time not_before = job.step->not_before(sends.front().iteration, sends.front().first);
    if (not_before > now) {
      sends.front().ready = not_before;
      return agenda_.push(not_before, Event(ready, static_cast<uint32_t>(number)));
    }
    const MessagesToSend next = sends.front();
    sends.pop_front();
    ++worker.under_way;
    enter(job, number, next, now);
  }
}

// Who goes next is decided when the moment is over, of all that are ready everywhere by then.
void JobsInTime::Player::make_ready(WorkerInJob& worker, Time now) {
  JobInPlay& job = jobs_[worker.job];
  std::deque<MessagesToSend>& sends = worker.way.to_send;
  for (; !sends.empty() && sends.front().ready <= now; sends.pop_front()) {
    const MessagesToSend& pieces = sends.front();
    const std::pair<int, std::size_t> key{pieces.iteration, pieces.first};
    if (--job.not_ready.try_emplace(key, job.workers()).first->second > 0) continue;
    job.not_ready.erase(key);
    // All workers have ended all messages of the iterations before.
    assert(job.urgent_iteration == pieces.iteration ||
           (job.urgent->is_empty() && job.urgent->is_network_free()));
    if (std::exchange(job.urgent_iteration, pieces.iteration) != pieces.iteration)
      job.urgent.emplace(job.step->plan(pieces.iteration), job.step->question().channels);
    job.urgent->add({now, pieces.first, pieces.last}, 0);
    undecided_.push_back(worker.job);
  }
}

// One coordinator of each job decides for all its workers. False if nothing has changed.
bool JobsInTime::Player::commit_urgent(Time now) {
  if (undecided_.empty()) return false;
  bool has_changed = false;
  for (const std::size_t number : std::exchange(undecided_, {})) {
    JobInPlay& job = jobs_[number];
    while (job.urgent->may_send()) {
      has_changed = true;
      const std::size_t message = job.urgent->take().message;
      for (int i = 0; i < job.workers(); ++i) {
        workers_[job.worker(i)].to_enter.push_back({message, message, job.urgent_iteration, now});
        enter_messages(job.worker(i), now);
      }
    }
  }
  return has_changed;
}

void JobsInTime::Player::enter(JobInPlay& job, std::size_t number, const MessagesToSend& next,
                               Time now) {
  const WorkerInJob& worker = workers_[number];
  kept(worker.job, next.iteration)
      .times[next.first]
      .starts[static_cast<std::size_t>(worker.number)] = now - (job.job->start - Time());
  const auto [place, is_new] = numbers_.try_emplace({worker.job, next.iteration, next.first}, 0);
  if (is_new)
    place->second =
        begin_message({worker.job, next.iteration, next.first, job.workers(), job.workers()});
  const uint32_t call = place->second;
  CallOfJob& what = (job.job->question->cost.servers() != nullptr ? by_push_ : by_number_)[call];
  --what.missing;
  const CallOfJob it = what;
  if (!job.step->drains()) return play_message(it, call, worker.number, now);
  for (int i = 0; it.missing == 0 && i < job.workers(); ++i) play_message(it, call, i, now);
}

void JobsInTime::Player::play_message(const CallOfJob& what, uint32_t number, int worker,
                                      Time now) {
  const StepInTime& step = *jobs_[what.job].step;
  const Duration first = step.encoded(what.iteration, what.message).local;
  if (step.question().cost.servers() != nullptr)
    pushes_.enter(number, worker, first, now);
  else
    calls_.enter(number, worker, first, now);
}

// Returns its number, among those of collectives or of parameter servers.
uint32_t JobsInTime::Player::begin_message(const CallOfJob& what) {
  const JobInPlay& job = jobs_[what.job];
  const ParameterServers* servers = job.job->question->cost.servers();
  const Freight freight = job.step->freight_of(what.iteration, what.message);
  uint32_t number = 0;
  if (servers != nullptr) {
    const Transfer& transfer = job.step->encoded(what.iteration, what.message).transfers[0];
    number = pushes_.add(*servers, job.places, transfer.size, transfer.part, freight.depth);
  } else {
    const JoinedTransfers& sent = job.step->sent(what.iteration, what.message);
    number = calls_.add(*sent.program, *sent.network, &job.job->places, freight);
  }
  std::vector<CallOfJob>& list = servers != nullptr ? by_push_ : by_number_;
  if (number >= list.size()) list.resize(number + 1);
  list[number] = what;
  return number;
}

void JobsInTime::Player::end_message(CallOfJob& call, int in_job, Time now) {
  --call.left;
  const CallOfJob it = call;  // its number may be used again
  JobInPlay& job = jobs_[it.job];
  if (it.left == 0) {
    numbers_.erase({it.job, it.iteration, it.message});
    if (job.urgent) {
      job.urgent->landed(it.message);
      undecided_.push_back(it.job);
    }
  }
  end_ = now;
  if (!job.step->drains()) return end_on(it, in_job, now);
  for (int i = 0; it.left == 0 && i < job.workers(); ++i) end_on(it, i, now);
}

void JobsInTime::Player::end_on(const CallOfJob& what, int in_job, Time now) {
  const JobInPlay& job = jobs_[what.job];
  Kept& iteration = kept(what.job, what.iteration);
  iteration.times[what.message].ends[static_cast<std::size_t>(in_job)] =
      now - (job.job->start - Time());
  --iteration.left;
  const std::size_t number = job.worker(in_job);
  --workers_[number].under_way;
  workers_[number].way.end(what.message, what.iteration, now);
  enter_messages(number, now);
  advance(number, now);
}

JobsInTime::JobsInTime(const JobsQuestion& question)
    : player_(std::make_unique<Player>(question)) {}
JobsInTime::~JobsInTime() = default;
IterationTimes JobsInTime::times_of(std::size_t job, int iteration) {
  return player_->times_of(job, iteration);
}
const AsynchronousWorkers& JobsInTime::asynchronous(std::size_t job) {
  return player_->asynchronous(job);
}
std::vector<double> JobsInTime::carried_B() const { return player_->carried_B(); }
Time JobsInTime::end() const { return player_->end(); }
std::shared_ptr<const PacketReport> JobsInTime::packets() const { return player_->packets(); }

}  // namespace sgdsim
