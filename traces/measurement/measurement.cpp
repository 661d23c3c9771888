// What all formats share: order, averages, and which format a file has.
#include "traces/measurement/measurement.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/nearest_rank.h"
#include "sim/core/quantity.h"
#include "traces/failures/failure_log.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"
#include "traces/unread.h"

namespace sgdsim {
namespace {

auto key_of(const Series& series) {
  return std::tuple(series.operation, series.algorithm, series.type, series.in_place, series.ranks,
                    series.block.value_or(Bytes(-1)), series.group, series.placement, series.note,
                    series.nccl.algorithm, series.nccl.protocol, series.nccl.channels,
                    series.nccl.in_graph);
}

constexpr double wide_spread = 2;  // the slowest run over the fastest

// One point per size and FLOP, ascending. A size that was measured several times gets the median,
// which one run among other work does not move. Says of each whose runs differ widely how they
// do.
void settle(Series& series, std::vector<std::string>& differing) {
  std::vector<MeasuredPoint>& points = series.points;
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::tie(a.size, a.flop) < std::tie(b.size, b.flop);
  });
  std::vector<MeasuredPoint> answer;
  for (std::size_t from = 0; from < points.size();) {
    std::vector<double> times_ps;
    double error = 0;
    const auto is_like_first = [&](const MeasuredPoint& point) {
      return point.size == points[from].size && point.flop == points[from].flop;
    };
    for (std::size_t i = from; i < points.size() && is_like_first(points[i]); ++i) {
      times_ps.push_back(static_cast<double>(points[i].time.ps()));
      error = std::max(error, points[i].error);
    }
    std::sort(times_ps.begin(), times_ps.end());
    answer.push_back({.size = points[from].size,
                      .time = Duration::nearest_ps(median_of(times_ps)),
                      .flop = points[from].flop,
                      .error = error});
    if (times_ps.back() > wide_spread * times_ps.front())
      differing.push_back(series.operation + " of " + to_text(points[from].size) + " among " +
                          std::to_string(series.ranks) + ": " + std::to_string(times_ps.size()) +
                          " runs took from " + to_text(Duration::nearest_ps(times_ps.front())) +
                          " to " + to_text(Duration::nearest_ps(times_ps.back())));
    from += times_ps.size();
  }
  points = std::move(answer);
}

const MeasurementFormat& format_of(const MeasuredText& text, std::string_view format) {
  std::vector<std::string> known;
  for (const MeasurementFormat& one : measurement_formats) {
    if (format.empty() ? one.fits(text.text) : one.name == format) return one;
    known.emplace_back(one.name);
  }
  if (!format.empty())
    throw InputError("--input", unknown_name("format", std::string(format), known));
  if (is_failure_log(text.text))
    throw InputError(text.file,
                     "this is a log of failures, which must be a file: `sgdsim fit FILE` reads it, "
                     "from standard input and pipes only measured times");
  if (const std::string why = why_unread(text.text, text.file); !why.empty())
    throw InputError(text.file, why);
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  throw InputError(text.file, "no measured times found; known formats: " + names);
}

}  // namespace

const std::vector<std::string>& measured_operations() {
  static const std::vector<std::string> names = {
      "broadcast", "reduce",   "allreduce", "reduce_scatter", "allgather", "alltoall",
      "gather",    "scatter",  "copy",      "fold",           "gtopk",     "top_k",
      "compress",  "overhead", "product",   "attention",      "overlap"};
  return names;
}

std::optional<Duration> measured_time(double us) {
  if (!(us > 0) || us > longest_us) return std::nullopt;
  const Duration time = Duration::nearest_ps(us * 1e6);
  if (time <= Duration()) return std::nullopt;
  return time;
}

void tidy(Measurement& measurement, const std::string& file) {
  std::vector<std::string> texts = {measurement.device};
  for (const Series& series : measurement.series) texts.push_back(series.note);
  for (const std::string& text : texts)
    if (const std::string problem = problem_of_text(text, true); !problem.empty())
      throw InputError(file, "\"" + text + "\" " + problem);
  std::vector<Series> merged;
  std::map<decltype(key_of(Series{})), std::size_t> places;
  for (Series& series : measurement.series) {
    const auto [place, is_new] = places.try_emplace(key_of(series), merged.size());
    if (is_new) {
      merged.push_back(std::move(series));
      continue;
    }
    std::vector<MeasuredPoint>& points = merged[place->second].points;
    points.insert(points.end(), series.points.begin(), series.points.end());
  }
  std::vector<std::string> differing;
  for (Series& series : merged) settle(series, differing);
  if (!differing.empty())
    measurement.notes.push_back(differing.front() + "; the median is used" +
                                (differing.size() > 1
                                     ? ", and so it is of " + std::to_string(differing.size() - 1) +
                                           " more whose runs differ by a factor above 2"
                                     : ""));
  std::erase_if(merged, [](const Series& series) { return series.points.empty(); });
  measurement.series = std::move(merged);
  if (measurement.name.empty())
    measurement.name = file == "-" ? "measurement" : std::filesystem::path(file).stem().string();
  if (!measurement.series.empty()) return;
  std::string why;
  for (const std::string& note : measurement.notes) why += "; " + note;
  throw InputError(file, "no measured time is left" + why);
}

Measurement read_measurement(MeasuredText text, std::string_view format) {
  std::vector<MeasuredText> texts;
  texts.push_back(std::move(text));
  return read_measurements(std::move(texts), format).front().measurement;
}

std::vector<MeasuredFiles> read_measurements(std::vector<MeasuredText> texts,
                                             std::string_view format) {
  std::vector<MeasuredFiles> answer;
  std::map<const MeasurementFormat*, std::vector<MeasuredText>> together;
  std::vector<const MeasurementFormat*> order;
  for (MeasuredText& text : texts) {
    // Bytes of a pickle may look like the escape sequences of a terminal.
    if (!is_pickle(text.text)) make_plain(text.text);
    const MeasurementFormat& one = format_of(text, format);
    if (one.read_together == nullptr) {
      answer.push_back({text.file, one.read(text)});
      continue;
    }
    if (!together.contains(&one)) order.push_back(&one);
    together[&one].push_back(std::move(text));
  }
  for (const MeasurementFormat* one : order) {
    const std::vector<MeasuredText>& all = together[one];
    const std::string more =
        all.size() > 1 ? " and " + std::to_string(all.size() - 1) + " more" : "";
    answer.push_back({all.front().file + more, one->read_together(all)});
  }
  return answer;
}

}  // namespace sgdsim
