// "What if?" for many points, and the best of them: words, and answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/advise/apart.h"
#include "study/answer.h"
#include "study/question_fields.h"
#include "study/sweep/best.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/tune.h"
#include "study/sweep/tuned_notes.h"
#include "study/wire_words.h"

namespace sgdsim {

struct SweepQuestionWords {
  std::string sweep;
  std::string cluster;
  std::vector<std::string> methods;
  std::vector<std::string> axes;
  std::vector<std::string> settings;
  WireWords wires;
  std::string threads;
  std::string minimize;
  std::string maximize;
  std::string over;
  bool as_columns = false;
};
Fields sweep_fields(SweepQuestionWords& words);
// And those of programs that ask.
Fields sweep_question_fields(SweepQuestionWords& words);
Sweep sweep_of(const SweepQuestionWords& words);
// The column whose best values are asked; none: all points.
Objective objective_of(const SweepQuestionWords& words);
// The points {"points": [sgdsim/point/1]}, with `minimize` sgdsim/best/1, or as columns, of which
// the JSON says how many there are. An interrupted sweep has the points that were done.
Answer answer_sweep(const Value& question, const Watch& watch);
Json schema_of_columns();

// ---- tune

inline constexpr char usual_objective[] = "metrics.iteration_us";

struct TuneWords {
  std::string file;
  std::string cluster;
  std::vector<std::string> methods;
  std::vector<std::string> axes;
  std::vector<std::string> settings;
  WireWords wires;
  std::string minimize;  // both empty: the usual one
  std::string maximize;
  int64_t most = 2000;
  std::string threads;
};
Fields tune_fields(TuneWords& words);

struct TuneAnswer {
  Sweep sweep;
  Tuned tuned;
  std::optional<double> before;  // as the experiment stands
  Apart apart;
  std::string objective = usual_objective;
  bool is_by_samples = false;  // the usual objective, where steps have different numbers of them
  TunedNotes notes = {};
};
// Where nothing is said of axes: what the experiment has to tune.
Sweep sweep_of(const TuneWords& words);
TuneAnswer answer_tune(const TuneWords& words, Sweep sweep,
                       const std::function<bool()>& is_interrupted);
// sgdsim/tune/1.
Json to_json(const TuneAnswer& answer);
Json schema_of_tuned();
void print(std::ostream& out, const TuneAnswer& answer);
Answer answer_tune(const Value& question, const Watch& watch);

}  // namespace sgdsim
