// Choosing series by what the command line names.
#include "study/fit/fit_series.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "study/fit/fit_checks.h"
#include "study/import/rank_files.h"
#include "traces/log_text.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

// Whether this is the name of the group, or words of it: "dp" or "0x7f" of "dp 0x7f, 2 nodes".
bool names_group(const std::string& asked, const std::string& group) {
  const auto ends_word = [](char letter) { return letter == ' ' || letter == ','; };
  for (std::size_t at = group.find(asked); at != std::string::npos;
       at = group.find(asked, at + 1)) {
    const std::size_t end = at + asked.size();
    if ((at == 0 || ends_word(group[at - 1])) && (end == group.size() || ends_word(group[end])))
      return true;
  }
  return false;
}

bool is_asked_for(const FitArguments& arguments, const Series& series) {
  const auto ranks = ranks_of(arguments.ranks, "--ranks");
  return (arguments.operation.empty() || series.operation == arguments.operation) &&
         (!ranks || series.ranks == *ranks || series.ranks == 0 || series.is_of_messages) &&
         (arguments.algorithm.empty() || series.algorithm == arguments.algorithm) &&
         (arguments.type.empty() || series.type == arguments.type) &&
         (arguments.group.empty() || names_group(arguments.group, series.group)) &&
         (arguments.placement.empty() || placement_kind(series) == arguments.placement) &&
         series.note.find(arguments.note) != std::string::npos &&
         series.in_place == arguments.in_place;
}

// NCCL's calls in a graph are the GPUs' part alone, and those in a row hold the host's: of a link,
// and of NCCL's model, the former tell. Each is a curve of its own.
void prefer_graphs(const FitArguments& arguments, std::vector<Series>& chosen,
                   std::vector<std::string>& notes) {
  const auto is_in_graph = [](const Series& series) { return series.nccl.in_graph; };
  const bool has_graphs = std::any_of(chosen.begin(), chosen.end(), is_in_graph);
  if (arguments.from_collective.empty() || !arguments.note.empty() || !has_graphs) return;
  const std::size_t left_out = std::erase_if(chosen, [](const Series& series) {
    return series.algorithm == "nccl" && !series.nccl.in_graph;
  });
  if (left_out > 0)
    notes.push_back("of NCCL, calls in a graph are taken; " + std::to_string(left_out) +
                    " series of calls in a row hold what the host takes, too (--note \"calls in a "
                    "row\" takes those)");
}

}  // namespace

std::vector<MeasuredFiles> read_files(const FitArguments& arguments) {
  std::vector<MeasuredText> texts;
  for (const std::string& file : files_of_ranks(arguments.files, arguments.input)) {
    const bool is_inline = file.starts_with('{');  // as wherever a file is asked for
    texts.push_back({is_inline ? file : read_log(file), is_inline ? "inline" : file,
                     ranks_of(arguments.ranks, "--ranks"), arguments.operation});
  }
  return read_measurements(std::move(texts), arguments.input);
}

std::string kinds_of(const std::vector<Series>& all) {
  std::string text;
  for (const Series& series : all) {
    if (!text.empty()) text += "; ";
    text += series.operation;
    if (!series.algorithm.empty()) text += " " + series.algorithm;
    if (!series.type.empty()) text += " " + series.type;
    if (series.in_place) text += " in place";
    text +=
        " among " + (series.placement.empty() ? std::to_string(series.ranks) : series.placement);
    if (!series.note.empty()) text += ", " + series.note;
    if (!series.group.empty()) text += " of " + series.group;
  }
  return text;
}

bool is_overhead(const Series& series, std::string_view of) {
  return series.operation == "overhead" && series.algorithm == of && !series.points.empty();
}

ReadSeries read_series(const FitArguments& arguments, FitAnswer& answer) {
  std::vector<Series> chosen;
  std::vector<Series> overheads;
  std::vector<Series> all;
  for (auto& [file, measurement] : read_files(arguments)) {
    if (answer.name.empty()) answer.name = measurement.name;
    if (answer.device.empty()) answer.device = measurement.device;
    answer.sources.push_back(measurement.source.empty() ? file : measurement.source);
    for (const std::string& note : measurement.notes) answer.notes.push_back(file + ": " + note);
    for (Series& series : measurement.series) {
      const bool is_placed_so =
          arguments.placement.empty() || placement_kind(series) == arguments.placement;
      if (series.operation == "overhead" && is_placed_so) overheads.push_back(series);
      // Times of products, attention and overlaps are no lines over their size: --gpu takes them.
      if (series.operation != "product" && series.operation != "attention" &&
          series.operation != "overlap" && is_asked_for(arguments, series))
        chosen.push_back(series);
      all.push_back(std::move(series));
    }
  }
  if (chosen.empty())
    throw InputError(arguments.files.front(),
                     "no series is left to fit; there are: " + kinds_of(all));
  prefer_graphs(arguments, chosen, answer.notes);
  // Of what several files say of the same the median counts, as within a file.
  Measurement together;
  together.series = std::move(chosen);
  tidy(together, arguments.files.front());
  answer.notes.insert(answer.notes.end(), together.notes.begin(), together.notes.end());
  return {together.series, overheads};
}

void keep_sizes(std::vector<Series>& all, const FitArguments& arguments) {
  const Bytes least = parse_bytes(arguments.least_size, "--least-size");
  const bool is_bounded = !arguments.most_size.empty();
  const Bytes most =
      is_bounded ? parse_bytes(arguments.most_size, "--most-size") : Bytes(INT64_MAX);
  if (most < least)
    throw InputError("--most-size", to_text(most) + " is less than --least-size " + to_text(least));
  for (Series& series : all)
    std::erase_if(series.points, [&](const MeasuredPoint& point) {
      return point.size < least || point.size > most;
    });
  std::erase_if(all, [](const Series& series) { return series.points.empty(); });
  if (!all.empty()) return;
  if (is_bounded)
    throw InputError("--most-size",
                     "no size from " + to_text(least) + " to " + to_text(most) + " was measured");
  throw InputError("--least-size", "no size of " + to_text(least) + " or more was measured");
}

}  // namespace sgdsim
