// Measured cases: files of schema sgdsim/case/1, what ran in reality and how long it took.
//
// A case of kind "collective" is one machine and a list of measured collectives; one of kind
// "experiment" is an experiment and a list of measured training steps, each with the settings that
// make the experiment its own; one of kind "training" is a GPU, a cluster and layouts of models;
// one of kind "schedule" is a cluster, a transport and schedules of ranks. Each row has the label
// that the source gives it. Rows are used in one of four ways, and the file says which: a *held*
// row must be predicted within the tolerance; a *fitted* row served to find the parameters, so that
// its error proves nothing; a *reported* row is shown but not held, with the reason; a row *below
// range* has a size that the parameters do not claim to cover.
//
// Cases of one suite are judged together, because a median over two rows is no median.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/fields.h"

namespace sgdsim {

inline constexpr char case_schema[] = "sgdsim/case/1";

enum class RowUse : uint8_t { held, fitted, reported, below_range };
std::string_view name_of(RowUse use);

// What the program says of a row. Where sizes of gradient messages were measured too, `wrong` says
// in a sentence how the planned ones differ; no tolerance forgives that.
struct Prediction {
  Duration time;
  std::string wrong;
  std::optional<Duration> one_worker = {};  // what perfect scaling would say, of a whole step
};

// What a row asks, as far as its kind says: a collective, a step, a layout or a schedule.
struct RowInputs {
  std::string algorithm = {}, operation = {};
  std::optional<int> ranks = {};
  std::optional<int64_t> size_B = {}, block_B = {};
  std::optional<std::vector<std::string>> set = {};
  std::string of = {};
  std::string model = {}, layout = {};
  std::optional<int64_t> sequence = {};
  std::string schedule = {};
  std::optional<int64_t> line = {};
};

struct CaseRow {
  std::string label;         // what the source calls it
  std::string point;         // for people: "4 ranks, 64 KiB, blocks of 4 KiB"
  RowInputs inputs;          // for scripts
  Bytes size;                // of the message; of a training step: of all gradients
  bool has_experts = false;  // of a training step: its model
  RowUse use = RowUse::held;
  std::string reason;  // why a reported row is not held
  Duration measured;
  std::optional<std::pair<Duration, Duration>> quartiles;
  std::function<Prediction()> predict;  // an InputError names the row
};

struct Tolerance {
  double median_percent = 0;
  double p90_percent = 0;
  double per_label_median_percent = 0;
  Bytes from_size;  // smaller rows are below range
  std::optional<double> max_percent;

  bool operator==(const Tolerance&) const = default;
};

struct CaseFile {
  std::string file;
  std::string name;
  std::string suite;  // the name, if the file gives none
  std::string grade;  // A: inputs and outcome complete; B: one input assumed; C: a ratio or a text
  std::string description;
  Tolerance tolerance;
  std::vector<CaseRow> rows;
};

Json schema_of_cases();
CaseFile read_case(const Value& value);
CaseFile read_case_file(const std::string& file);

}  // namespace sgdsim
