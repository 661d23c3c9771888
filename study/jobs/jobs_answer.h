// Several jobs on one cluster, each against being alone on it: question and answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/net/packet_report.h"
#include "study/answer.h"
#include "study/jobs/job_trials.h"
#include "study/jobs/jobs_file.h"
#include "study/jobs/played_jobs.h"
#include "study/limits.h"
#include "study/packet_use.h"
#include "study/question_fields.h"
#include "study/rank_slices.h"
#include "study/step/warnings.h"
#include "study/wire_use.h"
#include "study/wire_words.h"

namespace sgdsim {

struct JobsWords {
  std::string file;
  std::vector<std::string> settings;
  WireWords wires;
  std::string bins;
  bool matrix = false;
  int64_t placements = 0;
  LimitArguments limits;
  bool wants_timeline = false;
};

Fields jobs_fields(JobsWords& words);

struct JobTogether {
  JobResult together;
  JobResult alone;
  std::vector<std::string> warnings;
  double slowdown() const { return slowdown_of(together.total, alone.total); }
};

struct JobsAnswer {
  JobsFile file;
  std::vector<JobTogether> jobs;
  Time end;  // of the last job
  WireUse use;
  std::shared_ptr<const PacketReport> packets;  // fidelity packet
  NamedQueues queues;
  std::optional<UseOverTime> over_time;
  PairSlowdowns pairs;         // if they are wanted
  TriedPlacements placements;  // likewise; then all of this is at the best of them
  // Of each job, where they are wanted: of experiments, and of all others.
  std::vector<std::optional<Timeline>> timelines;
  std::vector<std::optional<RankSlices>> ranks = {};
};

// `for_people`: a table has no bins.
JobsAnswer answer_jobs(const JobsWords& words, const Watch& watch, bool for_people);
WarningTally warnings_of(const JobsAnswer& answer);
// sgdsim/jobs-result/1.
Json to_json(const JobsAnswer& answer);
Json schema_of_jobs_results();
void print(std::ostream& out, const JobsAnswer& answer);
// Of all jobs that have one, as a Chrome trace; InputError where none has.
std::string timeline_json(const JobsAnswer& answer);

Answer answer_jobs(const Value& question, const Watch& watch);

}  // namespace sgdsim
