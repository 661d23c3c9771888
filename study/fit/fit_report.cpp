// Printing fits, as tables and as JSON.
#include "study/fit/fit_report.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/fit/fit_checks.h"
#include "study/table.h"

namespace sgdsim {
namespace {

// ---- JSON

// An estimate, and the ends of its interval.
struct EstimateNames {
  const char* value;
  const char* low;
  const char* high;
};

Fields estimate_fields(const EstimateNames& names, const Estimate* estimate, double scale,
                       const char* says) {
  const auto scaled = [&](const std::optional<double>& value) {
    return value ? std::optional(*value / scale) : std::nullopt;
  };
  const Estimate none;
  const Estimate& is = estimate != nullptr ? *estimate : none;
  return {
      Field(names.value, scaled(estimate != nullptr ? std::optional(is.value) : std::nullopt), says)
          .at_least(0),
      Field(names.low, scaled(is.low),
            "lower end of its 95 % confidence interval; left out where rows do not tell")
          .at_least(0),
      Field(names.high, scaled(is.low ? is.high : std::nullopt), "upper end of that interval")
          .at_least(0)};
}

}  // namespace

Fields fields_of(const FitPiece& piece) {
  return Fields{
             Field("from_B", whole_B(piece.rules_from_B), "it rules from this size on").at_least(0),
             Field("fitted_from_B", whole_B(piece.from_B), "the first size that it was fitted on")
                 .at_least(0),
             Field("fitted_to_B", whole_B(piece.to_B), "the last size that it was fitted on")
                 .at_least(0),
             Field("rows", piece.rows, "measured points of this segment").at_least(2)} +
         estimate_fields({"alpha_us", "alpha_low_us", "alpha_high_us"}, &piece.alpha_ps, 1e6,
                         "start-up, in us; for a curve the a of a + b M") +
         estimate_fields({"beta_ps_per_B", "beta_low_ps_per_B", "beta_high_ps_per_B"},
                         &piece.beta_ps, 1, "time per byte, in ps; for a curve the b of a + b M") +
         estimate_fields({"gamma_ps_per_B", "gamma_low_ps_per_B", "gamma_high_ps_per_B"},
                         piece.gamma_is_told ? &piece.gamma_ps : nullptr, 1,
                         "time to fold a byte, in ps; left out where the rows cannot tell it from "
                         "beta") +
         Fields{
             Field("rms_percent", in_percent(piece.rms),
                   "root of the mean square of predicted / measured - 1")
                 .at_least(0),
             Field("max_percent", in_percent(piece.max), "the largest |predicted / measured - 1|")
                 .at_least(0)};
}

namespace {

Fields error_fields(const PredictionError& error, const char* rows) {
  return {Field("rows", error.rows, rows).at_least(1),
          Field("median_percent", in_percent(error.median), "median of |predicted / measured - 1|")
              .at_least(0),
          Field("max_percent", in_percent(error.max), "the largest |predicted / measured - 1|")
              .at_least(0)};
}

struct ToldInput {
  const FitInput* input = nullptr;
  PredictionError error = {};
};
Fields fields_of(const ToldInput& told) {
  static const FitInput no_input;
  const FitInput& input = told.input != nullptr ? *told.input : no_input;
  const Series& series = input.series;
  return Fields{
             {"operation", series.operation, "as in the measurement"},
             Field("algorithm", input.algorithm.empty() ? series.algorithm : input.algorithm,
                   "as in the measurement, or the one that was assumed")
                 .if_any(),
             Field("type", series.type, "type of the elements").if_any(),
             Field("block_B", series.block ? std::optional(series.block->count()) : std::nullopt,
                   "block size of a pipeline, in bytes")
                 .at_least(1),
             Field("group", series.group,
                   "which communicator or process group, where the measurement says so")
                 .if_any(),
             Field("placement", series.placement,
                   "where the ranks were, where the measurement says so")
                 .if_any(),
             Field("note", series.note, "how it was done, where there are several ways").if_any(),
             {"in_place", series.in_place, "as in the measurement"},
             Field("ranks", series.ranks, "how many took part; 0 if not stated").at_least(0)} +
         error_fields(told.error, "measured points");
}

struct ToldFarRow {
  FarRow row = {};
  int64_t size_B = 0;
};
Fields fields_of(const ToldFarRow& told) {
  return {
      {"series", told.row.input, "which of the series, from 0"},
      Field("size_B", told.size_B, "bytes of the message").at_least(0),
      Field("times_fitted", told.row.ratio, "measured time over that of a fit without such rows")
          .at_least(0)};
}

struct ToldHeldOut {
  std::string by = {};
  PredictionError error = {};
  std::string learned = {};
};
Fields fields_of(const ToldHeldOut& told) {
  return Fields{Field("by", told.by,
                      "what was held out: every other size of each series, or whole counts of "
                      "ranks")
                    .one_of({"sizes", "ranks"})} +
         error_fields(told.error, "points that were predicted") +
         Fields{Field("learned", told.learned,
                      "what was learned about more ranks, in a sentence, where counts of ranks "
                      "were held out")
                    .if_any()};
}

struct ToldPlayed {
  PredictionError error = {};
};
Fields fields_of(const ToldPlayed& told) {
  return error_fields(told.error, "points that were simulated");
}

std::vector<ToldInput> told_inputs(const Fitted& one) {
  std::vector<ToldInput> told;
  for (const FitInput& input : one.inputs) told.push_back({&input, error_of(one.fit, input.rows)});
  return told;
}

std::vector<ToldFarRow> told_far_rows(const Fitted& one) {
  std::vector<ToldFarRow> told;
  for (const FarRow& far : one.far_rows)
    told.push_back({far, one.inputs[far.input].series.points[far.row].size.count()});
  return told;
}

std::optional<ToldHeldOut> told_held_out(const Fitted& one) {
  if (!one.assessment) return {};
  return ToldHeldOut{one.assessment->by, summary_of(one.assessment->errors),
                     one.assessment->sentence};
}

std::optional<double> if_given(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Fields fields_of(const Fitted& one) {
  const Fit& fit = one.fit;
  const bool is_there = !fit.pieces.empty();
  return Fields{
             Field("kind", std::string(one.is_link ? "link" : "curve"),
                   "curve: a + b M of one series. link: alpha, beta and gamma of one message, "
                   "from collectives")
                 .one_of({"curve", "link"}),
             Field("rows", fit.rows, "measured points").at_least(2),
             Field("valid_from_B", is_there ? whole_B(fit.first_B()) : 0,
                   "the smallest size that was fitted; of a link, of its messages")
                 .at_least(0),
             Field("valid_to_B", is_there ? whole_B(fit.last_B()) : 0,
                   "the largest size that was fitted")
                 .at_least(0),
             Field("rms_percent", in_percent(fit.rms),
                   "root of the mean square of predicted / measured - 1")
                 .at_least(0),
             Field("max_percent", in_percent(fit.max), "the largest |predicted / measured - 1|")
                 .at_least(0),
             {"criterion", fit.criterion, "Bayesian information criterion; less is better"},
             Field("pieces", fit.pieces, "segments, by size").entries(1, most_pieces, "pieces"),
             Field("series", told_inputs(one), "what was fitted, and how well the fit meets each")
                 .filled("series"),
             Field("given_gamma_ps_per_B", if_given(one.given_gamma_ps),
                   "time to fold a byte, if it was given and not fitted")
                 .at_least(0),
             Field("rendezvous_B", one.rendezvous_B,
                   "messages of this many bytes or more wait for an answer: they pay alpha three "
                   "times")
                 .at_least(0),
             Field("given_start_us", if_given(one.given_start_ps / 1e6),
                   "what a run costs once, if it was given and not fitted")
                 .at_least(0)} +
         estimate_fields({"start_us", "start_low_us", "start_high_us"},
                         fit.start_is_told ? &fit.start_ps : nullptr, 1e6,
                         "what a run costs once, beside its messages, in us; left out where the "
                         "rows do not tell it from alpha, which then holds it") +
         Fields{Field("outliers", told_far_rows(one),
                      "rows whose time is unlike what the others say; they count in the fit")
                    .filled("row")
                    .if_any(),
                {"held_out", told_held_out(one),
                 "how well a second fit, which did not see some of the points, predicts them"}};
}

namespace {

// ---- tables

std::string interval_text(const Estimate& estimate, double scale) {
  std::string text = rounded(estimate.value / scale);
  if (estimate.low)
    text += " (" + rounded(*estimate.low / scale, 3) + " to " + rounded(*estimate.high / scale, 3) +
            ")";
  return text;
}

void print_pieces(std::ostream& out, const Fitted& one) {
  const bool folds = std::any_of(one.fit.pieces.begin(), one.fit.pieces.end(),
                                 [](const FitPiece& piece) { return piece.gamma_is_told; });
  std::vector<std::string> head{"from", "rows", "alpha us (95 %)", "beta ps/B (95 %)"};
  if (folds) head.emplace_back("gamma ps/B (95 %)");
  head.insert(head.end(), {"rms %", "max %"});
  Table table(head);
  for (const FitPiece& piece : one.fit.pieces) {
    const double from_B = &piece == &one.fit.pieces.front() ? piece.from_B : piece.rules_from_B;
    std::vector<std::string> row{short_size(from_B), std::to_string(piece.rows),
                                 interval_text(piece.alpha_ps, 1e6),
                                 interval_text(piece.beta_ps, 1)};
    if (folds) row.push_back(interval_text(piece.gamma_ps, 1));
    row.push_back(rounded(in_percent(piece.rms), 3));
    row.push_back(rounded(in_percent(piece.max), 3));
    table.add(row);
  }
  table.print(out);
}

std::string errors_text(const PredictionError& error) {
  return std::to_string(error.rows) + " rows, median " + rounded(in_percent(error.median), 3) +
         " %, max " + rounded(in_percent(error.max), 3) + " %";
}

void print_errors(std::ostream& out, const Fitted& one) {
  out << "  " << one.fit.rows << " rows, " << short_size(one.fit.first_B()) << " to "
      << short_size(one.fit.last_B()) << ": rms " << rounded(in_percent(one.fit.rms), 3)
      << " %, max " << rounded(in_percent(one.fit.max), 3) << " %\n";
  if (one.fit.start_is_told)
    out << "  start of a run: " << interval_text(one.fit.start_ps, 1e6) << " us, paid once\n";
  if (one.rendezvous_B)
    out << "  messages of " << short_size(*one.rendezvous_B)
        << " or more wait for an answer: alpha three times\n";
  if (!one.assessment) return;
  const PredictionError error = summary_of(one.assessment->errors);
  out << "  held out by " << one.assessment->by << ": " << errors_text(error) << '\n';
  if (!one.assessment->sentence.empty()) out << "  learned " << one.assessment->sentence << '\n';
}

std::string held_out_by(const FitAnswer& answer) {
  for (const Fitted& one : answer.fits)
    if (one.assessment) return one.assessment->by;
  return "";
}

std::string fitted_label(const Fitted& one) {
  if (!one.is_link) return label_of(one.inputs.front());
  return "link under " + std::to_string(one.inputs.size()) + " series";
}

}  // namespace

int64_t whole_B(double size_B) { return std::llround(size_B); }

// Below a billionth, errors are those of the arithmetic.
double in_percent(double part) { return part < 1e-9 ? 0 : 100 * part; }

std::string label_of(const FitInput& input) {
  const std::string& algorithm = input.algorithm.empty() ? input.series.algorithm : input.algorithm;
  std::string label = input.series.operation;
  if (!algorithm.empty()) label += " " + algorithm;
  if (!input.series.type.empty()) label += ", " + input.series.type;
  label += ", " + ranks_text(input.series);
  if (input.series.in_place) label += ", in place";
  if (!input.series.group.empty()) label += ", " + input.series.group;
  if (!input.series.note.empty()) label += ", " + input.series.note;
  return label;
}

Json schema_of_fits() {
  Json json = record_schema(fields_of(FitAnswer()));
  json["properties"]["inside"] = {
      {"description", "the fit of the links inside nodes (--inside), which came first"},
      {"$ref", "#"}};
  return json;
}

Fields fields_of(const FitAnswer& answer) {
  std::optional<ToldHeldOut> held_out;
  if (const PredictionError error = held_out_error(answer); error.rows > 0)
    held_out = {held_out_by(answer), error};
  return {
      answer_kind("sgdsim/fit/1"),
      {"name", answer.name, "name of the measurement"},
      {"sources", answer.sources, "where the measured times come from"},
      {"notes", answer.notes, "what was found wrong in the files, with the count of dropped lines"},
      {"fits", answer.fits, "one per curve; a single one for a link"},
      {"held_out", std::move(held_out), "what was held out of all fits together"},
      {"played", answer.played.rows > 0 ? std::optional(ToldPlayed{answer.played}) : std::nullopt,
       "how well the cluster file that --out wrote predicts the measured times, simulated as "
       "collectives; only of a link"}};
}

void print_fits(std::ostream& out, const FitAnswer& answer) {
  for (const Fitted& one : answer.fits) {
    if (&one != &answer.fits.front()) out << '\n';
    out << fitted_label(one) << '\n';
    print_pieces(out, one);
    print_errors(out, one);
    if (!one.is_link) continue;
    Table table({"series", "rows", "median %", "max %"});
    for (const FitInput& input : one.inputs) {
      const PredictionError error = error_of(one.fit, input.rows);
      table.add({label_of(input), std::to_string(error.rows), rounded(in_percent(error.median), 3),
                 rounded(in_percent(error.max), 3)});
    }
    out << '\n';
    table.print(out);
  }
  if (answer.played.rows > 0)
    out << "\nplayed on the cluster that is written: " << errors_text(answer.played) << '\n';
  if (const PredictionError error = held_out_error(answer);
      answer.fits.size() > 1 && error.rows > 0)
    out << "\nall " << answer.fits.size() << " curves, held out by " << held_out_by(answer) << ": "
        << errors_text(error) << '\n';
}

}  // namespace sgdsim
