// Several training jobs, and traffic of others, on the same wires or ports: when each message of
// each iteration starts and ends on every worker of its job.
//
// Every worker plays the graphs of its iterations by itself (models/step/step_in_time.h):
// computation as it is drawn, messages as they meet on the network, in order, or as one coordinator
// of its job says where they go by priority. What that makes of its time, StepPlayer accounts for
// afterwards, job by job, from the times of the messages. Jobs without a common iteration account
// for themselves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/step/asynchronous_workers.h"
#include "models/step/step_in_time.h"
#include "sim/play/schedules_in_time.h"
#include "sim/play/traffic_in_time.h"

namespace sgdsim {

// The question's cluster has as many workers as the job; `places`: where each is on the wires.
struct TrainingJob {
  const StepQuestion* question = nullptr;
  std::vector<int> places;
  Time start;
  std::vector<int> server_places = {};  // of dedicated parameter servers
  StepSoFar so_far = {};                // if that is something, the job starts at 0
  bool goes_on = false;                 // with iterations that nobody asks for
};

struct JobsQuestion {
  std::vector<TrainingJob> jobs = {};
  std::vector<Scheduled> schedules = {};             // beside them
  const Network* network = nullptr;                  // of all workers, for traffic and schedules
  std::shared_ptr<const Cluster> with_servers = {};  // whose network it is, if not kept elsewhere
  Resources* wires = nullptr;  // null: messages share the ports of the network
  bool shares_ports = true;    // or each has them to itself, as where steps are played in rounds
  MakeCarrier carrier = {};    // of messages on them; none: flows
  AlphaRule alpha = AlphaRule::port;  // of flows, unless a training says another one
  bool records = false;               // what ranks of schedules did
  LinkWatch* watch = nullptr;         // hears how much of its wires is in use
  Meanwhile meanwhile = {};
  Stopper* stopper = nullptr;
};

// Message by message; times count from the start of the job.
using IterationTimes = std::vector<ExchangeTimes>;

class JobsInTime {
 public:
  // InputError for what cannot be played together.
  explicit JobsInTime(const JobsQuestion& question);
  JobsInTime(const JobsInTime&) = delete;
  JobsInTime& operator=(const JobsInTime&) = delete;
  ~JobsInTime();

  // Plays until an iteration of a job has ended, warm-up included; asked once for each, in order.
  // What other jobs have done by then is kept until it is asked for. NetworkStuck if it never ends.
  IterationTimes times_of(std::size_t job, int iteration);
  // What says all that is to come of a job that is alone, counted from now, once an iteration has
  // ended: that is the same where this is. Nothing if messages of later ones are under way.
  std::optional<std::vector<int64_t>> state_after(std::size_t job, int iteration) const;
  // For a job that is asynchronous: plays until it has nothing more to do.
  const AsynchronousWorkers& asynchronous(std::size_t job);
  // Plays until a schedule has ended, and says when that was. ScheduleStuck if it waits for ever.
  Time end_of_schedule(std::size_t schedule);
  std::vector<EndedOperation> ended_of_schedule(std::size_t schedule) const;  // with records
  std::vector<RankShare> shares_of_schedule(std::size_t schedule) const;      // once it has ended
  double least_delivered() const;  // of a message of schedules

  // What others send meanwhile, where jobs compute behind their last message.
  void go_on_until(Time end);
  std::vector<double> carried_B() const;                // by each resource, until now()
  Time now() const;                                     // of what was played last
  Time end() const;                                     // of the last message so far
  std::shared_ptr<const PacketReport> packets() const;  // so far; null if there are none
  std::optional<Time> end_of_traffic() const;           // once all of it was there

 private:
  class Player;
  std::unique_ptr<Player> player_;
};

// InputError if dedicated servers have no places, or not as many.
ServerPlaces places_of(const TrainingJob& job);

// The step has the wires of its question to itself, or its ports if there are none.
JobsQuestion alone_in_time(const StepQuestion& question, const StepSoFar& so_far = {});

}  // namespace sgdsim
