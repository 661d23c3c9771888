// `batches`: dense lessons with several numbers of samples, and the law that they follow.
//
// Nothing is simulated: an experiment gives the number of workers, and what another number of
// samples does to the time of an iteration its trace does not say. Iterations to a target are
// interpolated between two evaluations, of which there are a hundred.
#pragma once

#include <ostream>

#include "sim/core/named.h"
#include "study/learn/batch_law.h"
#include "study/learn/lessons.h"

namespace sgdsim {

// How the learning rate grows with the samples; it is the base rate at the task's own number.
enum class BatchRate : unsigned char { fixed, sqrt, linear };
inline constexpr Named<BatchRate, 3> batch_rates{
    {{"fixed", BatchRate::fixed}, {"sqrt", BatchRate::sqrt}, {"linear", BatchRate::linear}}};

struct BatchLesson {
  int64_t samples = 0;  // of all workers in an iteration
  double rate = 0;
  bool is_at_edge = false;         // of the ladder of rates
  std::vector<double> iterations;  // by seed; infinite: not reached
  OverSeeds over_seeds;
  std::optional<double> noise_scale;  // until the target; infinite: noise only; none: one worker
  std::string ended;                  // why a lesson ended before its time
  bool is_reached() const;            // by the middle seed
};

struct BatchTarget {
  LearnTarget target;
  std::vector<BatchLesson> lessons;  // by samples
  BatchFit fit;                      // through the medians of seeds that reached the target
  // Fits of single seeds at the same numbers of samples; infinite: below the critical batch.
  std::vector<double> critical_by_seed;
  std::optional<double> noise_scale;  // in the middle of those that reached it
};

struct LearnedBatches {
  std::string name;
  Json task;
  std::string task_name;
  std::size_t weights = 0;
  int workers = 1;
  int task_samples = 64;  // at which the rate is the base rate
  double rate = 0;
  BatchRate batch_rate = BatchRate::sqrt;
  bool wants_best_rate = false;
  int64_t iterations = 0;
  std::vector<uint64_t> seeds;
  bool target_is_chosen = false;
  std::vector<BatchTarget> targets;
};

struct BatchQuestion {
  LearnedBatches about;  // without its targets
  std::vector<LearnQuestion> sizes;
  std::vector<LearnTarget> targets;  // none: what the fewest samples reach
};
BatchQuestion read_batch_question(const LearnWords& words, std::vector<std::string>& inputs);
LearnedBatches learn_batches(BatchQuestion question, const Watch& watch);

Fields fields_of(const LearnedBatches& learned);
void print_batches(std::ostream& out, const LearnedBatches& learned);
// sgdsim/learn-batches/1.
Json batches_json(const LearnedBatches& learned);
Json schema_of_learned_batches();

}  // namespace sgdsim
