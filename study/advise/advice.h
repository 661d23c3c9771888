// What a training step would gain from each change, best first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/advise/change.h"
#include "study/advise/training.h"
#include "study/learn/learning_band.h"
#include "study/step/recorded.h"
#include "study/wire_words.h"

namespace sgdsim {

struct AdviceQuestion {
  std::string file;  // an experiment or a trace
  std::string cluster;
  std::vector<std::string> settings;
  WireWords wires;                        // whose settings stand among the others
  std::vector<Change> own;                // to be tried, too
  bool learns = false;                    // what alters learning is learned by small models
  std::optional<TrainingWords> training;  // whose step it is
  Stopper* stopper = nullptr;
  // Told, before it begins, how many changes will be played and how long the step took to play.
  std::function<void(std::size_t changes, double seconds)> tell;
};

// Of the training, with a line's change.
struct AdvisedEnd {
  TrainingEnd end;
  double saved_days = 0;
  // Where the line has an interval: if the change gained as much as these.
  std::optional<std::pair<double, double>> saved_interval = {};
  std::string command;
};

struct AdviceLine {
  Change change;
  int64_t iteration_ps = 0;
  double exposed_us = 0;
  double factor = 1;  // samples a second, of those of the step as it is
  // Factors between which nine of ten measured ones would be; none where nothing comparable was
  // ever measured.
  std::optional<std::pair<double, double>> interval;
  std::string measured;  // what the interval rests on, or why there is none
  std::vector<std::string> warnings;
  int workers = 1;
  double batch = 1;  // samples of a worker, over those now
  std::optional<AdvisedEnd> training = {};
  std::optional<LearningBand> learning;

  // Of a training to the same loss, over those of the step as it is; infinite: not reached.
  double least_time() const { return learning->least / factor; }
  double most_time() const { return learning->most / factor; }
};

struct Advice {
  ResolvedExperiment base;
  std::optional<RecordedTruth> truth;  // of a profile
  std::string why_no_gains;            // nothing is concluded, and there are no lines
  Experiment experiment;
  StepResult now;
  std::optional<AdvisedEnd> training;  // as it is
  std::string busiest;                 // link of the step as it is; empty: nobody looked
  std::vector<AdviceLine> lines;       // best first: the most samples a second, or the earliest end
  std::vector<std::pair<std::string, std::string>> left_out;  // what, and why
  int tried = 0;
};

// The step as it is. Of a trace alone, hundreds of steps are played at closed form if nothing else
// is said, and that becomes a setting of the question.
ResolvedExperiment base_of(AdviceQuestion& question);

Advice advice_on(const AdviceQuestion& question, ResolvedExperiment base);

}  // namespace sgdsim
