// One agenda for all workers of all jobs.
#include "models/step/jobs_in_time.h"

#include <algorithm>
#include <deque>
#include <map>

#include "models/step/compute.h"
#include "models/step/step_graph.h"
#include "sim/core/error.h"
#include "sim/core/scaled.h"
#include "sim/net/flows.h"
#include "sim/play/calls_in_time.h"

namespace sgdsim {
namespace {

constexpr double most_times = 1 << 28;  // kept, of eight bytes

// What is the same for all iterations of a job.
struct JobInPlay {
  const TrainingJob* job = nullptr;
  std::vector<Duration> traced;  // of the backward pass
  std::vector<double> fixed;     // factors of its workers
  GradientPlan plan;
  std::vector<Encoded> encoded;
  std::optional<Exchange> exchange;       // keeps what is sent
  std::vector<JoinedTransfers> messages;  // of the plan
  std::vector<Freight> freight;           // of each of them
  ServerPlaces places;                    // where there are parameter servers
  StepGraph step;
  int iterations = 0;
  std::size_t first_worker = 0;  // among those of all jobs
  int workers() const { return job->question->cluster->network.workers(); }
};

struct WorkerInJob {
  std::size_t job = 0;
  int number = 0;  // in its job
  int iteration = 0;
  std::size_t next = 0;  // action
  Time computed;         // until then
  Time sent;             // until then
  Time loaded;           // the next batch
  int messages = 0;      // that it waits for
  int under_way = 0;     // of those
  WorkerWork work;
  struct Waiting {
    std::size_t message = 0;
    int iteration = 0;
    Time ready;
  };
  std::deque<Waiting> waiting;  // messages to enter, in order
};

}  // namespace

class JobsInTime::Player {
 public:
  explicit Player(const JobsQuestion& question)
      : question_(question),
        carrier_(make_carrier()),
        calls_(agenda_, *carrier_, {},
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
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      start_iteration(workers_[worker]);
      advance(worker, jobs_[workers_[worker].job].job->start);
    }
    for (const auto& [job, workers] : asynchronous_) workers->begin();
  }

  IterationTimes times_of(std::size_t job, int iteration) {
    Played& played = played_[job];
    while (kept(job, iteration).left > 0) go_on();
    IterationTimes times = std::move(kept(job, iteration).times);
    for (; played.asked_for <= iteration; ++played.asked_for) {
      kept_ -= times_in(jobs_[job]);
      played.iterations.pop_front();
    }
    return times;
  }

  const AsynchronousWorkers& asynchronous(std::size_t job) {
    const AsynchronousWorkers& workers = *asynchronous_.at(job);
    while (!workers.is_done()) go_on();
    return workers;
  }

  const std::vector<double>& carried_B() const { return carrier_->carried_B(); }
  Time end() const { return end_; }

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
  static double times_in(const JobInPlay& job) {
    return 2.0 * job.workers() * static_cast<double>(job.plan.messages.size());
  }
  Kept& kept(std::size_t job, int iteration);
  void happen(const Event& event, Time now);
  void hear(const Carrier::Report& report, Time now);
  void start_iteration(WorkerInJob& worker);
  void advance(std::size_t number, Time now);
  Duration work_of(const JobInPlay& job, const WorkerInJob& worker, const Action& action) const;
  void enter_messages(std::size_t number, Time now);

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
    int left = 0;  // workers that have not ended it
  };
  uint32_t begin_message(const CallOfJob& what);
  void end_message(CallOfJob& call, int worker, Time now);
  std::map<std::tuple<std::size_t, int, std::size_t>, uint32_t> numbers_;
  std::vector<CallOfJob> by_number_;
  std::vector<CallOfJob> by_push_;  // of parameter servers
  std::vector<Played> played_;      // of each job
  std::map<std::size_t, std::unique_ptr<AsynchronousWorkers>> asynchronous_;  // by their jobs
  std::vector<AsynchronousWorkers*> by_worker_;                               // of all of them
  double kept_ = 0;                                                           // times
  uint64_t moment_ = 0;
  Time end_;
};

// One moment.
void JobsInTime::Player::go_on() {
  if (moment_++ % 4096 == 0 && question_.pause) question_.pause();
  if (agenda_.empty()) {
    std::vector<Parcel> stranded;
    stranded = carrier_->stranded();
    if (stranded.empty()) throw InputError("", never_ends);
    std::sort(stranded.begin(), stranded.end(), [](const Parcel& a, const Parcel& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    throw NetworkStuck(std::move(stranded));
  }
  const auto first = agenda_.pop();
  happen(first.payload, first.time);
  while (agenda_.another_now()) happen(agenda_.pop().payload, first.time);
  carrier_->settle(first.time);
}

JobsInTime::Player::Kept& JobsInTime::Player::kept(std::size_t job, int iteration) {
  Played& played = played_[job];
  const auto place = static_cast<std::size_t>(iteration - played.asked_for);
  while (played.iterations.size() <= place) {
    const auto workers = static_cast<std::size_t>(jobs_[job].workers());
    Kept& next = played.iterations.emplace_back();
    next.times.resize(jobs_[job].plan.messages.size());
    for (ExchangeTimes& times : next.times) {
      times.starts.resize(workers);
      times.ends.resize(workers);
    }
    next.left = static_cast<int64_t>(workers * next.times.size());
    kept_ += times_in(jobs_[job]);
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
  job.traced = backward_work(*question.trace);
  job.fixed = fixed_factors(question.workers, job.workers());
  job.iterations = question.warm_up + question.iterations;
  job.plan =
      question.strategy->plan({*question.trace, question.cost, ready_as_profiled(*question.trace)});
  if (const std::string why = why_not(question, job.plan); !why.empty())
    throw InputError("", "jobs that share a network are played without " + why);
  job.exchange.emplace(question.cluster->network);
  for (const PlannedMessage& message : job.plan.messages) {
    job.encoded.push_back(question.cost.encoded(message.group()));
    if (question.cost.servers() == nullptr)
      job.messages.push_back(job.exchange->joined(question.cost, job.encoded.back()));
    job.freight.push_back({.depth = static_cast<double>(message.first_layer) /
                                    static_cast<double>(question.trace->layers.size()),
                           .cargo = Cargo::gradients});
  }
  make_step_graph({.trace = question.trace,
                   .plan = &job.plan,
                   .compressed = question.cost.compression() != nullptr,
                   .together = true},
                  job.step);
  job.first_worker = workers_.size();
  for (int i = 0; i < job.workers(); ++i) {
    WorkerInJob& worker = workers_.emplace_back();
    worker.job = jobs_.size() - 1;
    worker.number = i;
    worker.computed = worker.sent = worker.loaded = training.start;
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

void JobsInTime::Player::start_iteration(WorkerInJob& worker) {
  const JobInPlay& job = jobs_[worker.job];
  const StepQuestion& question = *job.job->question;
  worker.next = 0;
  if (!worker.work.forward.empty() && !question.workers.is_random()) return;
  worker.work = draw_work(*question.trace, job.traced, question.workers,
                          job.fixed[static_cast<std::size_t>(worker.number)],
                          {question.seed, worker.number, worker.iteration});
}

// Plays actions until one waits for messages that have not ended. What is computed is known ahead
// of time.
void JobsInTime::Player::advance(std::size_t number, Time now) {
  WorkerInJob& worker = workers_[number];
  const JobInPlay& job = jobs_[worker.job];
  const std::span<const Action> actions = job.step.graph.actions();
  while (worker.iteration < job.iterations) {
    if (worker.next == actions.size()) {
      ++worker.iteration;
      start_iteration(worker);
      continue;
    }
    const Action& action = actions[worker.next];
    if (action.activity == Activity::message) {
      worker.waiting.push_back(
          {static_cast<std::size_t>(action.first), worker.iteration, worker.computed});
      ++worker.messages;
      agenda_.push(std::max(now, worker.computed), Event(ready, static_cast<uint32_t>(number)));
    } else if (action.activity == Activity::load) {
      worker.loaded = std::max(worker.loaded, worker.computed) + job.job->question->trace->load;
    } else {
      if (action.follows == network_stream) {
        if (worker.messages > 0) return;
        worker.computed = std::max(worker.computed, worker.sent);
      }
      // The batch was loaded while the iteration before was worked on.
      if (action.activity == Activity::begin && worker.iteration > 0)
        worker.computed = std::max(worker.computed, worker.loaded);
      worker.computed += work_of(job, worker, action);
    }
    ++worker.next;
  }
}

Duration JobsInTime::Player::work_of(const JobInPlay& job, const WorkerInJob& worker,
                                     const Action& action) const {
  const WorkerWork& work = worker.work;
  Duration length;
  switch (action.activity) {
    case Activity::forward:
      for (int l = action.first; l <= action.last; ++l)
        length += work.forward[static_cast<std::size_t>(l)];
      return length;
    case Activity::backward:
      for (int l = action.first; l <= action.last; ++l)
        length += work.backward[static_cast<std::size_t>(l)];
      return length;
    case Activity::compress:
      return scaled(job.encoded[static_cast<std::size_t>(action.first)].compress, work.factor);
    case Activity::decompress:
      for (const Encoded& encoded : job.encoded) length += scaled(encoded.decompress, work.factor);
      return length;
    case Activity::update:
      return scaled(job.job->question->trace->update, work.factor);
    default:
      return length;
  }
}

// In order; one that is not ready holds up those behind it.
void JobsInTime::Player::enter_messages(std::size_t number, Time now) {
  WorkerInJob& worker = workers_[number];
  JobInPlay& job = jobs_[worker.job];
  const StepQuestion& question = *job.job->question;
  while (!worker.waiting.empty() && worker.under_way < question.channels) {
    const WorkerInJob::Waiting next = worker.waiting.front();
    if (next.ready > now) return;
    worker.waiting.pop_front();
    ++worker.under_way;
    kept(worker.job, next.iteration)
        .times[next.message]
        .starts[static_cast<std::size_t>(worker.number)] = now - (job.job->start - Time());
    const auto [place, is_new] =
        numbers_.try_emplace({worker.job, next.iteration, next.message}, 0);
    if (is_new)
      place->second = begin_message({worker.job, next.iteration, next.message, job.workers()});
    const Duration first = job.encoded[next.message].local;
    if (question.cost.servers() != nullptr)
      pushes_.enter(place->second, worker.number, first, now);
    else
      calls_.enter(place->second, worker.number, first, now);
  }
}

// Returns its number, among those of collectives or of parameter servers.
uint32_t JobsInTime::Player::begin_message(const CallOfJob& what) {
  const JobInPlay& job = jobs_[what.job];
  const ParameterServers* servers = job.job->question->cost.servers();
  uint32_t number = 0;
  if (servers != nullptr) {
    const Transfer& transfer = job.encoded[what.message].transfers[0];
    number = pushes_.add(*servers, job.places, transfer.size, transfer.part,
                         job.freight[what.message].depth);
  } else {
    const JoinedTransfers& sent = job.messages[what.message];
    number = calls_.add(*sent.program, *sent.network, &job.job->places, job.freight[what.message]);
  }
  std::vector<CallOfJob>& list = servers != nullptr ? by_push_ : by_number_;
  if (number >= list.size()) list.resize(number + 1);
  list[number] = what;
  return number;
}

void JobsInTime::Player::end_message(CallOfJob& it, int in_job, Time now) {
  const std::size_t number = jobs_[it.job].first_worker + static_cast<std::size_t>(in_job);
  Kept& iteration = kept(it.job, it.iteration);
  iteration.times[it.message].ends[static_cast<std::size_t>(in_job)] =
      now - (jobs_[it.job].job->start - Time());
  --iteration.left;
  if (--it.left == 0) numbers_.erase({it.job, it.iteration, it.message});
  WorkerInJob& worker = workers_[number];
  worker.sent = now;
  --worker.messages;
  --worker.under_way;
  end_ = now;
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
const std::vector<double>& JobsInTime::carried_B() const { return player_->carried_B(); }
Time JobsInTime::end() const { return player_->end(); }

}  // namespace sgdsim
