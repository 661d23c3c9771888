// Constants of NCCL's model as a table and as JSON.
#include <array>

#include "study/collective/nccl_answer.h"
#include "study/fit/fit_nccl.h"
#include "study/fit/fit_report.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::array<const char*, 4> constant_names{"base", "inside", "across", "efficiency"};
constexpr std::array<const char*, 4> known_names{"told", "in_sums", "as_others", "nccl"};
constexpr std::array<const char*, 4> known_words{"the logs", "the logs, in sums with others",
                                                 "as others of its kind", "NCCL's own"};

const char* name_of(NcclConstant constant) {
  return constant_names[static_cast<std::size_t>(constant)];
}

bool is_part(const NcclEstimate& one) { return one.constant == NcclConstant::efficiency; }

struct ToldErrors {
  PredictionError error = {};
};
Fields fields_of(const ToldErrors& told) {
  return {
      {"rows", static_cast<int64_t>(told.error.rows), "points that were predicted"},
      Field("median_percent", in_percent(told.error.median), "of |predicted / measured - 1|")
          .at_least(0),
      Field("p90_percent", in_percent(told.error.p90), "nine rows of ten are within").at_least(0),
      Field("max_percent", in_percent(told.error.max), "of the largest error").at_least(0)};
}

struct ToldNcclHeldOut {
  NcclHeldOut held = {};
};
Fields fields_of(const ToldNcclHeldOut& told) {
  const std::string& sentence = told.held.sentence;
  return {Field("by", told.held.by, "what was held out").one_of({"sizes", "ranks"}),
          {"errors", ToldErrors{told.held.errors}, "of a second fit, which did not see them"},
          {"learned", sentence.empty() ? std::nullopt : std::optional(sentence),
           "what was learned about more nodes, where ranks were held out"}};
}

std::string interval_of(const NcclEstimate& one) {
  return rounded(one.value, 3) + (is_part(one) ? "" : " us") + "  (" + rounded(one.low, 3) +
         " to " + rounded(one.high, 3) + ")";
}

std::string error_words(const PredictionError& error) {
  return std::to_string(error.rows) + " rows, median " + rounded(in_percent(error.median), 3) +
         " %, nine of ten within " + rounded(in_percent(error.p90), 3) + " %, max " +
         rounded(in_percent(error.max), 3) + " %";
}

void print_constants(std::ostream& out, const NcclFit& fit) {
  Table table({"pair", "constant", "fitted (95 %)", "NCCL's own", "from"});
  for (const NcclEstimate& one : fit.estimates)
    if (one.known == NcclKnown::told || one.known == NcclKnown::in_sums)
      table.add({nccl_pair_key(one.pair), name_of(one.constant), interval_of(one),
                 rounded(one.own, 3) + (is_part(one) ? "" : " us"),
                 known_words[static_cast<std::size_t>(one.known)]});
  table.print(out, 2);
}

// "tree_ll128: base, inside; ring_ll: all".
std::string names_known(const NcclFit& fit, NcclKnown known) {
  std::string text;
  std::size_t pair = nccl_pair_count;
  for (const NcclEstimate& one : fit.estimates) {
    if (one.known != known) continue;
    text += one.pair == pair ? ", " : (text.empty() ? "" : "; ");
    if (one.pair != pair) text += std::string(nccl_pair_key(one.pair)) + " ";
    pair = one.pair;
    text += name_of(one.constant);
  }
  return text;
}

void print_others(std::ostream& out, const NcclFit& fit) {
  for (const auto& [known, words] :
       {std::pair{NcclKnown::as_others, "not in the logs, moved as others of their kind: "},
        {NcclKnown::kept, "kept at NCCL's own values: "}})
    if (const std::string names = names_known(fit, known); !names.empty())
      out << words << names << '\n';
}

}  // namespace

std::string pairs_text(const NcclLog& log) {
  std::string text;
  std::string last;
  for (std::size_t i = 0; i < log.chosen.size(); ++i) {
    const std::string name = pair_name(log.chosen[i]);
    if (name == last) continue;
    last = name;
    text += (text.empty() ? "" : ", ") + name;
    if (i > 0) text += " from " + short_size(static_cast<double>(log.rows[i].size.count()));
  }
  return text;
}

Fields fields_of(const NcclEstimate& one) {
  const auto us = [&](double value) { return is_part(one) ? std::nullopt : std::optional(value); };
  const auto part = [&](double value) {
    return is_part(one) ? std::optional(value) : std::nullopt;
  };
  return {{"pair", std::string(nccl_pair_key(one.pair)), "algorithm and protocol"},
          {"constant", std::string(name_of(one.constant)),
           "base latency, a step inside a node, one across nodes, or part of the bandwidth"},
          {"known", std::string(known_names[static_cast<std::size_t>(one.known)]),
           "told by the logs; in sums with others; as others of its kind; NCCL's own"},
          Field("us", us(one.value), "fitted, of a latency").at_least(0),
          Field("low_us", us(one.low), "end of its interval of 95 %").at_least(0),
          Field("high_us", us(one.high), "end of its interval of 95 %").at_least(0),
          Field("nccl_us", us(one.own), "what NCCL has in its place").at_least(0),
          Field("part", part(one.value), "of the bandwidth that NCCL counts with").at_least(0),
          Field("low_part", part(one.low), "end of its interval of 95 %").at_least(0),
          Field("high_part", part(one.high), "end of its interval of 95 %").at_least(0)};
}

Fields fields_of(const NcclLog& log) {
  return {{"operation", log.series.operation, "the operation that was measured"},
          {"ranks", log.series.ranks, "GPUs that took part"},
          {"nodes", log.nodes, "nodes that they fill"},
          {"pairs", pairs_text(log), "what NCCL's model takes, from the smallest size on"},
          {"errors", ToldErrors{log.errors}, "of the constants"}};
}

Fields fields_of(const NcclLogFit& fit) {
  return {answer_kind("sgdsim/nccl-fit/1"),
          {"name", fit.name, "name of --name, or the file"},
          {"sources", fit.sources, "what was fitted"},
          {"constants", fit.fit.estimates, "constants of NCCL's model"},
          Field("scatter_percent", in_percent(fit.fit.scatter), "of rows about the model, relative")
              .at_least(0),
          {"errors", ToldErrors{fit.errors}, "of the constants, on what they were fitted to"},
          {"errors_of_nccl", ToldErrors{fit.own_errors}, "of NCCL's own constants on the same"},
          {"logs", fit.logs, "series by series"},
          {"held_out", fit.held_out ? std::optional(ToldNcclHeldOut{*fit.held_out}) : std::nullopt,
           "how well a second fit predicts what it did not see"},
          {"warnings", fit.notes, "what was left out, and what the answer rests on"}};
}

Json to_json(const NcclLogFit& fit) { return to_json_by_fields(fit); }
Json schema_of_nccl_fits() { return schema_of_record<NcclLogFit>(); }

void print(std::ostream& out, const NcclLogFit& fit) {
  out << fit.name << ": NCCL's model, fitted to " << fit.errors.rows << " rows\n\n";
  print_constants(out, fit.fit);
  out << '\n';
  print_others(out, fit.fit);
  out << '\n';
  Table table({"log", "nodes", "median %", "90 % within %", "max %", "what NCCL takes"});
  for (const NcclLog& log : fit.logs)
    table.add({log.series.operation + ", " + std::to_string(log.series.ranks) + " ranks",
               std::to_string(log.nodes), rounded(in_percent(log.errors.median), 3),
               rounded(in_percent(log.errors.p90), 3), rounded(in_percent(log.errors.max), 3),
               pairs_text(log)});
  table.print(out);
  out << "\nall: " << error_words(fit.errors)
      << "\nNCCL's own constants: " << error_words(fit.own_errors) << '\n';
  if (!fit.held_out) return;
  out << "held out by " << fit.held_out->by << ": " << error_words(fit.held_out->errors) << '\n';
  if (!fit.held_out->sentence.empty()) out << "learned " << fit.held_out->sentence << '\n';
}

}  // namespace sgdsim
