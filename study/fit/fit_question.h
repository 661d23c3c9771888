// `sgdsim fit`: what it is asked, the series that count, and what comes out of fitting them.
//
// Without --from-collective every series is a curve a + b M by itself. With it, all series together
// give alpha, beta and gamma of the link under them: a collective counts as its algorithm's cost,
// and beside it as one start.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "models/link/fit.h"
#include "study/question_fields.h"
#include "traces/measurement/measurement.h"

namespace sgdsim {

// As text; empty where an option was not given.
struct FitArguments {
  std::vector<std::string> files;
  std::string input;  // a format; empty: the content tells
  std::string operation;
  std::string ranks;
  std::string algorithm;
  std::string type;
  std::string group;
  std::string placement;
  std::string note;
  bool in_place = false;
  std::string from_collective;
  std::vector<std::string> options;
  std::string gamma;
  std::string start;
  std::string network;     // what sends; empty: not said
  std::string rendezvous;  // from which size on messages wait: auto, off or a size
  std::string pieces = "auto";
  std::string least_size = "4 B";
  std::string most_size;  // empty: no limit
  std::string holdout = "sizes";
  std::string name;
  std::string into;                 // a cluster file of which one link is replaced
  std::string into_text;            // what stands for its content, if not empty
  std::vector<std::string> inside;  // files of collectives inside a node, for gpu_link
  bool on_cluster = false;          // rows are read off the cluster, of whatever algorithm
  std::string link;
  int crossings = 1;
  std::string units;  // of a log of failures: how many there are, what, from when, until when
  std::string unit;
  std::string since;
  std::string until;
  std::string cluster;  // that was measured, for NCCL's model, and what differs from its file
  std::vector<std::string> settings;
  std::string gpu;  // a GPU whose figures are replaced by measured ones
  std::string out;
  std::string case_file;
  std::string report;
};

Fields fit_fields(FitArguments& arguments);

// What only one kind of fit has, as far as it was given. A series is chosen for links and GPUs.
enum class FitKind : uint8_t { link, series, nccl, gpu, failures };
struct GivenOption {
  std::string option;
  FitKind of = FitKind::link;
};
std::vector<GivenOption> given_options(const FitArguments& arguments);
// InputError where one of these was given, which have no effect on such a fit.
void refuse_given(const FitArguments& arguments, const std::set<std::string>& refused);
// InputError where the arguments contradict each other.
void check(const FitArguments& arguments);
// How many segments; 0: as many as are worth it.
int pieces_of(const FitArguments& arguments);
std::optional<int> ranks_of(const std::string& text, const std::string& where);
// Of --option, for an algorithm.
CollectiveOptions options_of(const FitArguments& arguments, const Algorithm& algorithm);

// A series and its rows; for a link, the algorithm whose cost the rows are.
struct FitInput {
  Series series;
  std::string algorithm;  // of the link; empty: a curve, or one message
  std::vector<FitRow> rows;
  std::vector<bool> is_held;  // row by row, in the assessment
  bool has_slopes = false;    // rows that depend on the constants which they were taken about
};

std::vector<FitRow> all_rows(const std::vector<FitInput>& inputs);

struct Assessment {
  std::string by;              // "sizes" or "ranks"
  std::vector<double> errors;  // of the rows that were
  Fit fit;                     // of the rows that were not held out
  std::string sentence = {};   // what was learned about more ranks, where ranks were held out
};

// A row that lies far from what all others say.
struct FarRow {
  std::size_t input = 0;
  std::size_t row = 0;
  double ratio = 1;  // measured over fitted, without rows such as this
};

struct Fitted {
  std::vector<FitInput> inputs;    // one for a curve
  std::vector<FitRow> empty_runs;  // of a link: runs without a message, which tell the start
  Fit fit;
  std::optional<Assessment> assessment;
  double given_gamma_ps = 0;
  double given_start_ps = 0;
  std::optional<double> rendezvous_B = {};  // messages of so many bytes pay alpha three times

  bool is_link = false;
  std::vector<FarRow> far_rows;
};

struct FitAnswer {
  std::string name;
  std::vector<std::string> sources;
  std::vector<std::string> notes;
  std::string device;
  std::string network;       // what sent, if it was said
  std::vector<Fitted> fits;  // one for a link
  PredictionError played;    // of a link, on the file that is written; no rows if none is
};

// What was held out of all fits together; no rows if nothing was.
PredictionError held_out_error(const FitAnswer& answer);

FitAnswer answer_fit(const FitArguments& arguments);

}  // namespace sgdsim
