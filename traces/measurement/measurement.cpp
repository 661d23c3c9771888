// What all formats share: order, averages, and which format a file has.
#include "traces/measurement/measurement.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/nearest_rank.h"
#include "sim/core/quantity.h"
#include "traces/failures/failure_log.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/run_command.h"
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

using SeriesKey = decltype(key_of(Series{}));

std::string kind_of(const Series& series) {
  return series.operation + " among " + std::to_string(series.ranks) +
         (series.note.empty() ? "" : " (" + series.note + ")");
}

// "Number of qps 8"; of a command what the others do not have.
std::string text_of_setting(const std::string& name, const std::string& value,
                            const std::vector<std::string>& values) {
  return name == command_setting ? words_apart(value, values) : name + " " + value;
}

// Whatever differs among tables of one kind is no chance.
void tell_apart(Measurement& measurement) {
  std::map<SeriesKey, std::map<std::string, std::vector<std::string>>> said;
  for (const Series& one : measurement.series)
    for (const auto& [name, value] : one.settings) {
      auto& values = said[key_of(one)][name];
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  for (Series& one : measurement.series) {
    if (one.settings.empty()) continue;
    const std::string kind = kind_of(one);
    for (const auto& [name, values] : said.at(key_of(one))) {
      const auto set = one.settings.find(name);
      if (values.size() < 2 || set == one.settings.end()) continue;
      note_once(measurement, "tables of " + kind + " differ in \"" + name +
                                 "\", and become series of their own");
      const std::string text = text_of_setting(name, set->second, values);
      if (!text.empty()) one.note += (one.note.empty() ? "" : ", ") + text;
    }
  }
}

// Joins series of one kind, and counts tables that measured the same sizes.
class Joining {
 public:
  void add(Series&& series) {
    const auto [found, is_new] = places_.try_emplace(key_of(series), joined_.size());
    const std::size_t place = found->second;
    if (series.is_table && has_sizes_of(series, place)) ++tables_[place];
    if (is_new) {
      joined_.push_back(std::move(series));
      return;
    }
    joined_[place].settings.merge(series.settings);
    std::vector<MeasuredPoint>& points = joined_[place].points;
    points.insert(points.end(), series.points.begin(), series.points.end());
  }
  std::vector<Series> joined() const { return joined_; }
  void tell(Measurement& measurement) const {
    for (const auto& [place, count] : tables_)
      note_once(measurement, std::to_string(count + 1) + " tables of " + kind_of(joined_[place]) +
                                 " are taken as repetitions, whose median counts");
  }

 private:
  bool has_sizes_of(const Series& series, std::size_t place) {
    const auto is_known = [&](const MeasuredPoint& point) {
      return sizes_[place].contains(point.size);
    };
    const bool any = std::any_of(series.points.begin(), series.points.end(), is_known);
    for (const MeasuredPoint& point : series.points) sizes_[place].insert(point.size);
    return any;
  }

  std::vector<Series> joined_;
  std::map<SeriesKey, std::size_t> places_;
  std::map<std::size_t, std::set<Bytes>> sizes_;  // of tables, by places
  std::map<std::size_t, int> tables_;             // that have sizes which others had before
};

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

void note_once(Measurement& measurement, const std::string& note) {
  auto& notes = measurement.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

std::optional<Duration> measured_time(double us) {
  if (!(us > 0) || us > longest_us) return std::nullopt;
  const Duration time = Duration::nearest_ps(us * 1e6);
  if (time <= Duration()) return std::nullopt;
  return time;
}

void tidy(Measurement& measurement, const std::string& file) {
  tell_apart(measurement);
  std::vector<std::string> texts = {measurement.device};
  for (const Series& series : measurement.series) texts.push_back(series.note);
  for (const std::string& text : texts)
    if (const std::string problem = problem_of_text(text, true); !problem.empty())
      throw InputError(file, "\"" + text + "\" " + problem);
  Joining joining;
  for (Series& series : measurement.series) joining.add(std::move(series));
  std::vector<Series> merged = joining.joined();
  std::vector<std::string> differing;
  for (Series& series : merged) settle(series, differing);
  if (!differing.empty())
    measurement.notes.push_back(differing.front() + "; the median is used" +
                                (differing.size() > 1
                                     ? ", and so it is of " + std::to_string(differing.size() - 1) +
                                           " more whose runs differ by a factor above 2"
                                     : ""));
  joining.tell(measurement);
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
