// What happens, moment by moment.
#include "models/step/jobs_player.h"

#include <algorithm>
#include <cassert>

#include "sim/core/error.h"

namespace sgdsim {

void JobsInTime::Player::go_on() {
  if (!clockwork_.moment()) clock_.fail();
}

void JobsInTime::Player::happen(const Event& event, Time now) {
  const uint32_t subject = event.subject();
  if (event.kind_of_actor() == ready) return enter_messages(subject, now);
  if (event.kind_of_actor() == part) return look_at_part(subject, now);
  if (event.kind_of_actor() == nothing) return;
  const int workers = jobs_[by_price_[subject].job].workers();
  for (int i = 0; i < workers; ++i) end_message(by_price_[subject], i, now);
  unused_prices_.push_back(subject);
}

// Where all workers of a job have waited for their plan, all of them go on.
void JobsInTime::Player::advance(std::size_t number, Time now) {
  go_on_with(number, now);
  const std::size_t of_job = workers_[number].job;
  JobInPlay& job = jobs_[of_job];
  while (job.step->plan_anew()) {
    const int planned = job.step->planned_iteration();
    kept(of_job, planned);  // while it is known how many messages it has
    check_packets_from(job, planned);
    for (int i = 0; i < job.workers(); ++i) go_on_with(job.worker(i), now);
  }
}

void JobsInTime::Player::go_on_with(std::size_t number, Time now) {
  WorkerInJob& worker = workers_[number];
  const std::deque<MessagesToSend>& sends = worker.way.to_send;
  for (std::size_t more = worker.way.go_on(); more > 0; --more)
    own_clock_.plan(ready, number, std::max(now, sends[sends.size() - more].ready));
  if (worker.way.has_part()) unsettled_.push_back(number);
}

// How fast workers compute is known when the moment is over: messages may end and begin at once.
// False if nothing more happens now.
bool JobsInTime::Player::settle_parts(Time now) {
  bool has_changed = false;
  for (const std::size_t number : std::exchange(unsettled_, {})) {
    WorkerInJob& worker = workers_[number];
    if (!worker.way.has_part()) continue;
    worker.way.turn(now, worker.travelling > 0);
    const Time due = worker.way.due();
    if (worker.planned == due && due > now) continue;
    own_clock_.plan(part, number, worker.planned = due);
    has_changed = has_changed || due == now;
  }
  return has_changed;
}

void JobsInTime::Player::look_at_part(std::size_t number, Time now) {
  WorkerInTime& way = workers_[number].way;
  if (!way.has_part() || way.due() != now) return;  // messages have come or gone since
  if (!way.has_begun_part()) return unsettled_.push_back(number);
  way.end_part(now);
  if (way.has_part()) return unsettled_.push_back(number);
  advance(number, now);
}

// All workers have entered it.
void JobsInTime::Player::travel(const CallOfJob& what) {
  const JobInPlay& job = jobs_[what.job];
  if (job.step->question().interference == 1) return;
  Kept& iteration = kept(what.job, what.iteration);
  iteration.travels[what.message] = true;
  const ExchangeTimes& times = iteration.times[what.message];
  for (int i = 0; i < job.workers(); ++i) {
    if (times.ends[static_cast<std::size_t>(i)] != Time()) continue;  // it has ended there
    ++workers_[job.worker(i)].travelling;
    unsettled_.push_back(job.worker(i));
  }
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
      return own_clock_.plan(ready, number, not_before);
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
  const uint32_t call =
      number_of({worker.job, next.iteration, next.first, 0, job.workers(), job.workers()});
  const MessageCost& cost = job.job->question->cost;
  CallOfJob& what = calls_like(cost)[call];
  --what.missing;
  const CallOfJob it = what;
  if (it.missing == 0) travel(it);
  if (!cost.plays()) return it.missing == 0 ? play_priced(it, call, now) : void();
  if (!job.step->drains()) return play_message(it, call, worker.number, now);
  for (int i = 0; it.missing == 0 && i < job.workers(); ++i) play_message(it, call, i, now);
}

uint32_t JobsInTime::Player::number_of(const CallOfJob& what) {
  const auto [place, is_new] =
      numbers_.try_emplace({what.job, what.iteration, what.message, what.transfer}, 0);
  if (is_new) place->second = begin_message(what);
  return place->second;
}

void JobsInTime::Player::play_message(const CallOfJob& what, uint32_t number, int worker,
                                      Time now) {
  const StepInTime& step = *jobs_[what.job].step;
  Duration first;
  if (what.transfer == 0) first = step.encoded(what.iteration, what.message).local;
  if (step.question().cost.servers() != nullptr)
    pushes_.enter(number, worker, first, now);
  else
    calls_.enter(number, worker, first, now);
}

std::vector<JobsInTime::Player::CallOfJob>& JobsInTime::Player::calls_like(
    const MessageCost& cost) {
  if (cost.servers() != nullptr) return by_push_;
  return cost.plays() ? by_number_ : by_price_;
}

uint32_t JobsInTime::Player::new_priced() {
  if (unused_prices_.empty()) return static_cast<uint32_t>(by_price_.size());
  const uint32_t number = unused_prices_.back();
  unused_prices_.pop_back();
  return number;
}

// All workers are there. It shares nothing with others, and nothing shares it: the job's exchanges
// go one by one, however many may be in flight.
void JobsInTime::Player::play_priced(const CallOfJob& what, uint32_t number, Time now) {
  JobInPlay& job = jobs_[what.job];
  const Duration price =
      job.step->cost(what.iteration).of(job.step->encoded(what.iteration, what.message));
  job.priced_until = std::max(job.priced_until, now) + price;
  own_clock_.plan(priced, number, job.priced_until);
}

// Returns its number, among those of its kind.
uint32_t JobsInTime::Player::begin_message(const CallOfJob& what) {
  const JobInPlay& job = jobs_[what.job];
  const ParameterServers* servers = job.job->question->cost.servers();
  const Freight freight = job.step->freight_of(what.iteration, what.message);
  uint32_t number = 0;
  if (servers != nullptr) {
    const Transfer& pushed = job.step->encoded(what.iteration, what.message)
                                 .transfers[static_cast<std::size_t>(what.transfer)];
    number = pushes_.add(
        *servers, job.places,
        {pushed.size, pushed.part, pushed.folding, freight.depth, static_cast<uint32_t>(what.job)});
  } else if (!job.job->question->cost.plays()) {
    number = new_priced();
  } else {
    const JoinedTransfers& sent = job.step->sent(what.iteration, what.message);
    number = calls_.add(*sent.program, *sent.network, &job.job->places, freight,
                        static_cast<uint32_t>(what.job));
  }
  std::vector<CallOfJob>& list = calls_like(job.job->question->cost);
  if (number >= list.size()) list.resize(number + 1);
  list[number] = what;
  return number;
}

void JobsInTime::Player::end_message(CallOfJob& call, int in_job, Time now) {
  --call.left;
  const CallOfJob it = call;  // its number may be used again
  JobInPlay& job = jobs_[it.job];
  if (it.left == 0) numbers_.erase({it.job, it.iteration, it.message, it.transfer});
  if (job.job->question->cost.servers() != nullptr &&
      it.transfer + 1 < job.step->encoded(it.iteration, it.message).transfer_count) {
    const CallOfJob next{it.job, it.iteration, it.message, it.transfer + 1, job.workers()};
    return play_message(next, number_of(next), in_job, now);
  }
  if (it.left == 0 && job.urgent) {
    job.urgent->landed(it.message);
    undecided_.push_back(it.job);
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
  if (iteration.travels[what.message]) {
    --workers_[number].travelling;
    unsettled_.push_back(number);
  }
  --workers_[number].under_way;
  workers_[number].way.end(what.message, what.iteration, now);
  enter_messages(number, now);
  advance(number, now);
}

}  // namespace sgdsim
