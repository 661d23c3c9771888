// One clock for all workers of all jobs: how JobsInTime plays them.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/step/jobs_in_time.h"
#include "models/step/priority.h"
#include "sim/net/port_resources.h"
#include "sim/play/calls_in_time.h"

namespace sgdsim {

// What is the same for all iterations of a job.
struct JobInPlay {
  const TrainingJob* job = nullptr;
  std::optional<StepInTime> step;        // unless it has no common iterations
  ServerPlaces places;                   // where there are parameter servers
  std::optional<UrgentMessages> urgent;  // if messages go by priority
  int urgent_iteration = 0;
  Time priced_until;  // exchanges that are only a time, one after the other
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
  int travelling = 0;                   // of those, which all workers of the job have entered
  Time planned = {};                    // when what it computes is looked at again
};

// Jobs without common iterations, as one actor of the clockwork.
class AsynchronousJobs {
 public:
  void add(std::size_t job, std::unique_ptr<AsynchronousWorkers> workers, int count) {
    by_worker_.resize(by_worker_.size() + static_cast<std::size_t>(count), workers.get());
    jobs_.emplace(job, std::move(workers));
  }
  uint32_t workers() const { return static_cast<uint32_t>(by_worker_.size()); }
  const AsynchronousWorkers& of(std::size_t job) const { return *jobs_.at(job); }
  Time end() const { return end_; }  // of the last message so far

  void begin() {
    for (const auto& [job, workers] : jobs_) workers->begin();
  }
  void happen(const Event& event, Time now) { by_worker_[event.subject()]->happen(event, now); }
  void hear(const Carrier::Report& report, Time now) {
    end_ = now;
    for (const auto& [job, workers] : jobs_)
      if (workers->hear(report, now)) return;
  }

 private:
  std::map<std::size_t, std::unique_ptr<AsynchronousWorkers>> jobs_;
  std::vector<AsynchronousWorkers*> by_worker_;  // of all of them
  Time end_;
};

// An actor of the clockwork, beside the calls and servers that it uses.
class JobsInTime::Player {
 public:
  explicit Player(const JobsQuestion& question);
  IterationTimes times_of(std::size_t job, int iteration);
  std::optional<std::vector<int64_t>> state_after(std::size_t job, int iteration) const;
  const AsynchronousWorkers& asynchronous(std::size_t job);
  Time end_of_schedule(std::size_t schedule);
  void go_on_until(Time end);
  std::vector<EndedOperation> ended_of_schedule(std::size_t schedule) const {
    return schedules_.ended_of(schedule);
  }
  std::vector<RankShare> shares_of_schedule(std::size_t schedule) const {
    return schedules_.shares_of(schedule);
  }
  double least_delivered() const { return schedules_.least_delivered(); }
  std::vector<double> carried_B() const {
    return carrier_ == nullptr ? std::vector<double>() : carrier_->carried_B(now());
  }
  Time now() const { return clock_.now(); }
  Time end() const { return std::max({end_, asynchronous_.end(), schedules_.end()}); }
  std::shared_ptr<const PacketReport> packets() const {
    return carrier_ == nullptr ? nullptr : carrier_->report(end());
  }

  std::optional<Time> end_of_traffic() const { return traffic_.end(); }

  void happen(const Event& event, Time now);
  bool moment_over(Time now) {
    const bool has_committed = commit_urgent(now);
    return settle_parts(now) || has_committed;
  }

 private:
  // A worker may have messages that are ready; an exchange that is only a time is over; a part of
  // what a worker computes may begin or be done.
  enum Kind : uint8_t { ready, priced, part, nothing };

  // What is kept of an iteration until it is asked for.
  struct Kept {
    IterationTimes times;
    std::vector<bool> travels;  // messages that all workers have entered
    int64_t left = 0;           // messages that workers have not ended
  };
  struct Played {
    int asked_for = 0;  // so many iterations
    std::deque<Kept> iterations;
  };
  // A message that is under way.
  struct CallOfJob {
    std::size_t job = 0;
    int iteration = 0;
    std::size_t message = 0;
    int transfer = 0;  // of those to servers, one after the other
    int left = 0;      // workers that have not ended it
    int missing = 0;   // workers that have not entered it
  };

  // jobs_in_time.cpp
  std::unique_ptr<Carrier> make_carrier();
  Payload payload() const { return carrier_ == nullptr ? Payload{} : carrier_->payload(); }
  void prepare(const TrainingJob& training);
  void prepare_asynchronous(const JobInPlay& job, const AsynchronousRule& rule);
  static double numbers_in(const IterationTimes& times, const StepInTime& step) {
    return 2.0 * step.workers() * static_cast<double>(times.size());
  }
  Kept& kept(std::size_t job, int iteration);
  void check_packets_from(const JobInPlay& job, int iteration) const;

  // jobs_player.cpp
  void go_on();
  void advance(std::size_t number, Time now);
  void go_on_with(std::size_t number, Time now);
  void enter_messages(std::size_t number, Time now);
  void make_ready(WorkerInJob& worker, Time now);
  bool commit_urgent(Time now);
  bool settle_parts(Time now);
  void look_at_part(std::size_t number, Time now);
  void travel(const CallOfJob& what);
  void enter(JobInPlay& job, std::size_t number, const MessagesToSend& next, Time now);
  uint32_t number_of(const CallOfJob& what);
  void play_message(const CallOfJob& what, uint32_t number, int worker, Time now);
  uint32_t begin_message(const CallOfJob& what);
  std::vector<CallOfJob>& calls_like(const MessageCost& cost);
  uint32_t new_priced();
  void play_priced(const CallOfJob& what, uint32_t number, Time now);
  void end_message(CallOfJob& call, int worker, Time now);
  void end_on(const CallOfJob& what, int worker, Time now);

  JobsQuestion question_;
  Agenda agenda_;
  AlphaRule alpha_ = AlphaRule::port;  // of jobs
  PortResources ports_;
  std::unique_ptr<Carrier> carrier_;
  Clock clock_;
  ActorClock own_clock_;
  CallsInTime calls_;
  ServersInTime pushes_;
  TrafficInTime traffic_;
  AsynchronousJobs asynchronous_;
  SchedulesInTime schedules_;
  Clockwork<Player, CallsInTime, ServersInTime, TrafficInTime, AsynchronousJobs, RanksInTime,
            SchedulesInTime::Calls>
      clockwork_;
  std::vector<JobInPlay> jobs_;
  std::vector<WorkerInJob> workers_;
  // Messages that are under way, by what they are and by their number.
  std::map<std::tuple<std::size_t, int, std::size_t, int>, uint32_t> numbers_;
  std::vector<CallOfJob> by_number_;  // collectives
  std::vector<CallOfJob> by_push_;    // to parameter servers
  std::vector<CallOfJob> by_price_;   // without messages
  std::vector<uint32_t> unused_prices_;
  std::vector<std::size_t> undecided_;  // jobs where another message may go
  std::vector<std::size_t> unsettled_;  // workers that compute while messages come and go
  std::vector<Played> played_;          // of each job
  double kept_ = 0;                     // times
  Time end_;
};

}  // namespace sgdsim
