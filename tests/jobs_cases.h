// Jobs on two racks, to be played in tests by hand.
#pragma once

#include "models/step/jobs_in_time.h"
#include "study/jobs/jobs_file.h"
#include "tests/run_program.h"

namespace sgdsim {

// Two racks of two workers with one spine; a byte takes 1 ns everywhere, a route between racks 4
// us.
inline const Json racks = {{"shape", "leaf_spine"},
                           {"nodes", 4},
                           {"nodes_per_leaf", 2},
                           {"spines", 1},
                           {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}},
                           {"uplink", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};
// 100 us forward, 200 us backward, then 1 MB: two rounds of half of it.
inline const Json one_layer = {
    {"trace",
     {{"layers",
       {{{"name", "l"}, {"parameters", 250'000}, {"forward", "100 us"}, {"backward", "200 us"}}}}}},
    {"collective", {{"algorithm", "ring"}}},
    {"strategy", "wfbp"},
    {"iterations", 3},
    {"warm_up", 0}};

inline Json job(const Json& placement, const std::string& start = "0 us") {
  return {{"experiment", one_layer}, {"placement", placement}, {"start", start}};
}

// Iterations of all jobs.
inline std::vector<std::vector<Duration>> iterations_of(const Json& json) {
  const Temporary file(Temporary::Kind::file, json.dump());
  const JobsFile jobs = read_jobs(file.name(), {});
  const auto wires = jobs.cluster.wires(jobs.routes);
  std::vector<StepQuestion> questions;
  for (const JobOfFile& one : jobs.jobs) questions.push_back(one.experiment.question());
  JobsQuestion question;
  question.network = &jobs.cluster.network;
  question.wires = wires.get();
  question.meanwhile = {jobs.traffic, jobs.changes};
  for (std::size_t i = 0; i < questions.size(); ++i)
    question.jobs.push_back(
        {&questions[i], jobs.jobs[i].places, jobs.jobs[i].start, jobs.jobs[i].server_places});
  JobsInTime together(question);
  std::vector<std::vector<Duration>> iterations;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    StepQuestion accounted = questions[i];
    accounted.played = [&](int iteration) { return together.times_of(i, iteration); };
    iterations.push_back(simulate_step(accounted).iterations);
  }
  return iterations;
}
using Lengths = std::vector<std::vector<Duration>>;
inline std::vector<Duration> us(const std::vector<int64_t>& list) {
  std::vector<Duration> lengths;
  for (const int64_t one : list) lengths.push_back(Duration::us(one));
  return lengths;
}

}  // namespace sgdsim
