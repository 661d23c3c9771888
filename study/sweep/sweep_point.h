// One point of a sweep: resolved, read, simulated, and written as a line.
//
// A hundred thousand points share most of their inputs. A reader keeps the experiment of the point
// before and reads again only what the axes have changed: a trace of 161 layers takes 300 us to
// read, a new strategy a few. Readers are not shared between threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/core/stopper.h"
#include "study/figures.h"
#include "study/step/experiment.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {

class PointReader {
 public:
  explicit PointReader(const Sweep& sweep);

  // Throws InputError if this point is none.
  const Experiment& read(const Choice& choice);
  // Of the point that was read last, valid or not: the same as that of `sgdsim run` on its inputs.
  std::string id();

 private:
  // The axes that change one field of the experiment: "cluster" for all of cluster.nodes,
  // cluster.nic.bandwidth and cluster. Those that set more come first.
  struct Part {
    std::string field;
    std::vector<std::size_t> axes;
  };
  // An experiment as it stands, for one value of the trace.
  struct State {
    ResolvedExperiment resolved;
    std::map<std::string, std::string> texts;  // of fields, made when an id is asked for
    std::map<std::string, Choice> choices;     // that are in place, by part
    Experiment experiment;
    Unchanged unchanged;  // since the experiment was read
  };

  State& state_of(const Choice& choice);
  std::vector<std::string> fields_at(const Choice& choice) const;
  void put_in_place(State& state, const Part& part, const Choice& choice);
  void set(State& state, const Axis& axis, const Json& value);
  void set_method(State& state, const std::string& label, const std::string& part);
  void blame(const InputError& error, const ResolvedExperiment& resolved) const;

  const Sweep* sweep_;
  std::vector<Part> parts_;
  bool may_change_cluster_ = false;
  std::map<std::string, std::string> base_texts_;
  std::map<Choice, State> states_;
  State* last_ = nullptr;
};

// The warnings of a line; empty if it has none.
std::vector<std::string> warnings_in(const Json& line);

struct PlayedPoint {
  int64_t number = 0;
  std::string id = {};
  Choice choice = {};
  Figures figures = {};                    // none if it has no result
  std::vector<std::string> warnings = {};  // of the result
  std::string error = {};                  // why there is none
};
// The identity of its inputs takes as long as many points: only if it is wanted.
PlayedPoint play_point(const Sweep& sweep, const Point& point, PointReader& reader, bool wants_id,
                       Stopper* stopper = nullptr);
// What its line (sgdsim/point/1) says. A point that is none has the field `error`.
struct PointLine {
  std::string sweep = {};
  Json point = 0;
  Json of = 1;
  Json id = {};
  Json axes = Json::object();
  Json error = {};
  Json warnings = {};
};
// `result`: its figures.
Json to_json(const PointLine& line, const Figures& result);
Json schema_of_sweep_points();
Json line_of(const Sweep& sweep, PlayedPoint point);
// Its row: point, id if it has one, axes.FIELD, the figures, warnings (a JSON list) and error. The
// sweep must outlive it.
Figures row_of(const Sweep& sweep, PlayedPoint point);
Json simulate_point(const Sweep& sweep, const Point& point, PointReader& reader);

// Reads points before the first one runs. An axis that names an unknown field, or none of whose
// values can be used, is an InputError; values that cannot be used are returned as warnings.
std::vector<std::string> check_axes(const Sweep& sweep);

}  // namespace sgdsim
