// Reading jobs: a file of schema sgdsim/jobs/1.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sim/play/traffic_in_time.h"
#include "study/jobs/scheduled_work.h"
#include "study/step/experiment.h"

namespace sgdsim {

struct JobOfFile {
  std::string name;
  Experiment experiment;  // on the part of the cluster that it has; unless there is
  std::optional<ScheduledWork> work;
  std::vector<int> server_places;  // of dedicated parameter servers
  std::vector<int> places;
  std::string placement;  // the word, or workers as text; empty: a list
  Time start;
  std::vector<std::string> notes;  // what its result must repeat as warnings
};

struct JobsFile {
  std::string name;
  Cluster cluster;
  RouteChoice routes;
  std::deque<JobOfFile> jobs;  // which questions point into
  std::vector<PlainFlow> traffic;
  std::vector<WireChange> changes;
  Fidelity fidelity = Fidelity::flow;  // or message, or packet
  std::string transport;               // empty: messages share wires evenly
  MakeCarrier carrier;
  UsualReach reach = {};  // that was written into the cluster
  // What their messages meet, built anew by each call.
  std::unique_ptr<Resources> shared() const { return shared_at(fidelity, cluster, routes); }
};

// A file that was opened once, to be read several times; `settings` change fields of it, as in
// jobs.0.workers=4.
struct JobsSource {
  Json json;
  std::string file;
  std::vector<std::string> settings;
};
JobsSource jobs_source(const std::string& file, const std::vector<std::string>& settings);
JobsFile read_jobs(const JobsSource& source);
inline JobsFile read_jobs(const std::string& file, const std::vector<std::string>& settings) {
  return read_jobs(jobs_source(file, settings));
}

Json schema_of_jobs();

}  // namespace sgdsim
