// What `sgdsim learn` is asked: an experiment, ways to play it, a task and a target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/learning/lesson.h"
#include "study/answer.h"
#include "study/question_fields.h"
#include "study/step/experiment.h"
#include "study/step/method.h"

namespace sgdsim {

struct LearnWords {
  std::string experiment;
  std::string cluster;
  std::vector<std::string> settings;
  std::vector<std::string> axes;
  std::vector<std::string> also;
  std::string task = "teacher_mlp";
  std::string target;
  std::string rate = "base";
  std::string optimizer = "sgd";
  std::string momentum = "0";
  std::string momentum_of = "sum";
  std::string seeds = "5";
  std::string first_seed = "1";
  std::string iterations;
  std::string samples;
  std::string batches;
  std::string batch_rate;
  bool noise_scale = false;
  std::string threads;
};

Fields learn_fields(LearnWords& words);

struct LearnTarget {
  bool is_accuracy = false;
  double value = 0;
  bool is_met(const learning::CurvePoint& point) const {
    return is_accuracy ? point.accuracy >= value : point.loss <= value;
  }
};

// One way to play the experiment: what it takes, and what its lessons follow.
struct LearnMethod {
  std::string label = {};
  std::vector<std::string> settings = {};
  double iteration_us = 0;           // in the mean of all iterations of a lesson
  std::vector<double> ends_us = {};  // of iteration i, counted from 0 at the start
  Quality quality = {};              // as simulated
  learning::UpdateLog log = {};
  std::string log_hash = {};
  learning::Compressing compressing = {};
  learning::PacketLosses losses = {};
  bool losses_are_stated = false;      // by the method; else they are what was simulated
  learning::Optimizer optimizer = {};  // its rate is that of each lesson
  std::vector<std::string> notes = {};
};

struct LearnQuestion {
  std::string name;  // of the experiment
  learning::Task task;
  Json task_json;
  std::optional<LearnTarget> target;  // none: what dense reaches after half of its iterations
  bool wants_best_rate = false;
  double rate = 0.1;
  learning::Optimizer optimizer;
  std::vector<uint64_t> seeds;
  int64_t iterations = 1000;
  int64_t evaluate = 20;
  int samples = 8;  // of a worker in an iteration
  int workers = 1;
  int threads = 1;
  bool measures_noise = false;
  std::vector<Method> also;          // as they were asked for
  std::vector<LearnMethod> methods;  // dense first
};

// Who adds which gradient to which weights in this experiment, and what becomes of it on the way;
// but for the order of pushes, which has to be simulated.
void take_rules(const Experiment& experiment, LearnMethod& method);
std::string hash_of(const learning::UpdateLog& log);
// Its times are iterations, and its rules the experiment's; dense if there is none.
LearnMethod unplayed_method(const Experiment* experiment, const LearnQuestion& question);

// "accuracy=0.6,0.66"; none of an empty text.
std::vector<LearnTarget> read_targets(const std::string& text, const learning::Task& task);
// What the words say of lessons, whatever the experiment is; `samples` is 0 where that decides.
LearnQuestion begin_learn_question(const LearnWords& words);
// With the methods of this experiment, which stands in `file`: read, not yet simulated.
LearnQuestion for_experiment(LearnQuestion question, const std::string& file,
                             const ResolvedExperiment& resolved);
// Simulates every method. InputError for what cannot be learned.
void play_methods(LearnQuestion& question, const ResolvedExperiment& resolved, Stopper* stopper);
// All of it.
LearnQuestion read_learn_question(const LearnWords& words, Stopper* stopper,
                                  std::vector<std::string>& inputs);

}  // namespace sgdsim
