// Several jobs on one cluster, each against being alone on it: question and answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/step/jobs_in_time.h"
#include "sim/net/packet_report.h"
#include "study/answer.h"
#include "study/jobs/jobs_file.h"
#include "study/limits.h"
#include "study/packet_use.h"
#include "study/question_fields.h"
#include "study/step/warnings.h"
#include "study/wire_use.h"
#include "study/wire_words.h"

namespace sgdsim {

struct JobsWords {
  std::string file;
  std::vector<std::string> settings;
  WireWords wires;
  std::string bins;
  LimitArguments limits;
  bool wants_timeline = false;
};

Fields jobs_fields(JobsWords& words);

// What became of a job, together with others or alone.
struct JobResult {
  Duration total;
  Duration mean;  // of an iteration
  std::size_t iterations = 1;
  Duration end;                    // from its start
  std::optional<StepResult> step;  // of an experiment
};

struct JobTogether {
  JobResult together;
  JobResult alone;
  std::vector<std::string> warnings;
  // What takes no time is not slowed down.
  double slowdown() const { return alone.total > Duration() ? together.total / alone.total : 1; }
};

struct JobsAnswer {
  JobsFile file;
  std::vector<JobTogether> jobs;
  Time end;  // of the last job
  WireUse use;
  std::shared_ptr<const PacketReport> packets;  // fidelity packet
  NamedQueues queues;
  std::optional<UseOverTime> over_time;
  std::vector<std::optional<Timeline>> timelines;  // of each job, where they are wanted
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
