// The threads, the file and the progress of a sweep.
#include "study/sweep/sweep_run.h"

#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "models/strategy/strategy.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/parallel.h"
#include "sim/core/refusal.h"
#include "study/shell_word.h"
#include "study/stop_watch.h"
#include "study/sweep/columns.h"
#include "study/sweep/emit.h"
#include "study/sweep/gains.h"
#include "study/sweep/point_database.h"
#include "study/sweep/point_file.h"
#include "study/sweep/sweep_point.h"
#include "study/watch.h"

namespace sgdsim {
namespace {

constexpr int64_t most_points = 1'000'000'000;
constexpr std::chrono::milliseconds patience{20};
constexpr double seconds_between_writes = 0.25;  // what a kill may cost
constexpr std::size_t batch_B = 1 << 20;
constexpr std::size_t batch_rows = 10'000;
constexpr int64_t points_looked_at = 100;  // for the columns that there are

void check_can_run(const Sweep& sweep, const SweepOptions& options) {
  const int64_t count = Points::count(sweep, options.shard);
  if (count > most_points)
    throw InputError(sweep.file,
                     std::to_string(count) + " points are more than one process takes (" +
                         std::to_string(most_points) +
                         "); divide them with --shard I/N, or leave some out with where");
  if (!options.columns.empty() && options.resume)
    throw InputError("--columns",
                     "a table cannot be resumed; write lines of JSON, and make the "
                     "table of them with sgdsim merge --columns");
  if (!options.columns.empty() && is_database_name(options.out))
    throw InputError("--columns",
                     "writes a table as text; a database has all columns: leave it out");
  if (options.out == "-" && options.resume) throw needs("--resume", "--out, the file of points");
  if (options.force && options.resume)
    throw InputError("--force", "replaces a file and --resume continues one; choose one of them");
}

std::string text_of(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

nlohmann::json without_nulls(const Json& json) {
  if (!json.is_object()) return json;
  nlohmann::json sorted = nlohmann::json::object();
  for (const auto& [name, value] : json.items())
    if (!value.is_null()) sorted[name] = without_nulls(value);
  return sorted;
}

// Some lines of a file that is resumed, evenly spread, which are played once more: lines that were
// edited or that another version wrote must not be mixed with new ones. All lines of a small file;
// of a large one as many as a second allows.
class KeptLines {
 public:
  explicit KeptLines(bool is_database) : is_database_(is_database) {}

  void add(const PointRecord& record) {
    if (lines_++ % stride_ != 0) return;
    kept_[record.point] = {record.line, record.text};
    if (kept_.size() < most_kept) return;
    stride_ *= 2;
    std::size_t number = 0;
    for (auto place = kept_.begin(); place != kept_.end();)
      place = number++ % 2 == 0 ? std::next(place) : kept_.erase(place);
  }

  void check(const Sweep& sweep, const SweepOptions& options) const {
    if (kept_.empty()) return;
    const StopWatch clock;
    PointReader reader(sweep);
    Points points(sweep, options.shard);
    while (const auto point = points.next()) {
      if (point->number > kept_.rbegin()->first || clock.seconds() > most_seconds) return;
      const auto kept = kept_.find(point->number);
      if (kept == kept_.end()) continue;
      const auto& [line, text] = kept->second;
      if (is_same(simulate_point(sweep, *point, reader), text)) continue;
      throw InputError(options.out + ":" + std::to_string(line),
                       "point " + std::to_string(point->number) +
                           " is not what this sweep gives: it was edited, or another version of "
                           "sgdsim wrote it; replace the file with --force instead of --resume");
    }
  }

 private:
  // A database has no order of fields, and nothing where a value is null.
  bool is_same(const Json& line, const std::string& text) const {
    if (text_of(line) == text) return true;
    return is_database_ && without_nulls(line) == without_nulls(Json::parse(text));
  }

  static constexpr std::size_t most_kept = 2000;
  static constexpr double most_seconds = 1;

  bool is_database_;
  int64_t lines_ = 0;
  int64_t stride_ = 1;
  std::map<int64_t, std::pair<int64_t, std::string>> kept_;  // line and text, by point
};

class Run {
 public:
  Run(const Sweep& sweep, const SweepOptions& options, std::ostream& out,
      const std::function<void(DonePoint&&)>& each, const SweepWatch& watch)
      : sweep_(sweep),
        options_(options),
        each_(each),
        watch_(watch),
        replaces_(holds_something(options.out)),
        is_database_(is_database_name(options.out)),
        writer_(is_database_ ? "" : options.out, out, mode()),
        points_(sweep, options.shard) {
    outcome_.points = Points::count(sweep, options.shard);
  }

  SweepOutcome run() {
    if (options_.resume) look_at_file();
    // From here on nobody else can read it, this process neither.
    if (is_database_)
      database_.emplace(options_.out, mode() == OutputFile::Mode::replace, head_of(sweep_));
    if (!options_.columns.empty()) pending_ = csv_row(options_.columns);
    there_before_ = outcome_.done;
    std::vector<PointReader> readers(static_cast<std::size_t>(options_.threads),
                                     PointReader(sweep_));
    OrderedWork<Point, Worked> work(
        {[&] { return next(); },
         [&](int thread, const Point& point) {
           return played(point, readers[static_cast<std::size_t>(thread)]);
         },
         [&](std::vector<Worked>&& results) {
           take(std::move(results));
           if (!outcome_.interrupted && watch_.is_interrupted && watch_.is_interrupted()) {
             outcome_.interrupted = true;
             if (watch_.finishes) watch_.finishes();
           }
           return !outcome_.interrupted;
         }},
        options_.threads, patience);
    work.run();
    write();
    outcome_.interrupted = outcome_.interrupted && outcome_.done < outcome_.points;
    outcome_.kept_old = outcome_.interrupted && replaces_ && !options_.resume;
    if (!outcome_.kept_old) finish();
    outcome_.seconds = clock_.seconds();
    return outcome_;
  }

 private:
  struct Worked {
    std::string text;
    Figures row;  // of a database
    DonePoint point;
    std::string name;  // for its warnings
    bool failed = false;
    bool dropped = false;
  };

  Worked played(const Point& point, PointReader& reader) const {
    Stopper stopper(watch_.amid);
    try {
      return worked(play_point(sweep_, point, reader, !options_.wants_rows, &stopper));
    } catch (const Interrupted&) {
      Worked dropped;
      dropped.dropped = true;
      return dropped;
    }
  }

  Worked worked(PlayedPoint point) const {
    Worked worked;
    worked.failed = !point.error.empty();
    worked.name = "point " + std::to_string(point.number);
    worked.point.warnings = point.warnings;
    if (options_.wants_rows) {
      worked.point.row = row_of(sweep_, std::move(point));
      return worked;
    }
    if (is_database_) worked.row = row_of(sweep_, point);
    if (is_database_ && !each_) return worked;
    Json line = line_of(sweep_, std::move(point));
    if (!options_.out.empty() && !is_database_)
      worked.text =
          options_.columns.empty() ? text_of(line) + "\n" : csv_row(line, options_.columns);
    if (!each_) return worked;
    worked.point.objective = number_in(line, options_.objective.column);
    worked.point.is_bound = is_bound(text_member(line, "strategy"));
    worked.point.axes = std::move(line["axes"]);
    return worked;
  }

  // Points are appended to a new file or, with --resume, to that of this sweep. A whole one is
  // replaced by the new one; of anything else nothing is thrown away.
  OutputFile::Mode mode() const {
    if (!options_.columns.empty()) return OutputFile::Mode::replace;
    if (replaces_ && !options_.force && holds_database(options_.out) != is_database_)
      throw InputError(options_.out, is_database_
                                         ? "is named as a database and holds something else; "
                                           "choose another name, or replace it with --force"
                                         : "is a database of points, whose name must end in .db, "
                                           ".sqlite or .sqlite3; rename it, or replace it with "
                                           "--force");
    if (options_.resume || !holds_something(options_.out)) return OutputFile::Mode::append;
    if (options_.force) return OutputFile::Mode::replace;
    const int64_t there = check_is_of(sweep_.id, options_.out);
    if (there < Points::count(sweep_, options_.shard))
      throw InputError(options_.out, "holds " + std::to_string(there) +
                                         " points of this sweep; go on with --resume, or remove it "
                                         "(--force replaces it)");
    return OutputFile::Mode::replace;
  }

  void look_at_file() {
    PointsEnd end;
    if (holds_something(options_.out))
      end = read_points(options_.out, [&](PointRecord& record) { use(record); });
    if (!can_begin(end.torn, sweep_.id))
      throw InputError(
          options_.out,
          "its last line has no end and is no point of this sweep; nothing was changed");
    kept_.check(sweep_, options_);
    writer_.cut(end.offset);
  }

  void use(PointRecord& record) {
    const std::string where = options_.out + ":" + std::to_string(record.line);
    if (record.sweep != sweep_.id || record.of != sweep_.points)
      throw InputError(where, "this is a point of another sweep (" + record.sweep +
                                  "), this one is " + sweep_.id);
    if (record.is_edited)
      throw InputError(where,
                       "has a byte-order mark or a carriage return, as editors of Windows write; "
                       "take them out: sed -i 's/^\\xef\\xbb\\xbf//; s/\\r$//' " +
                           shell_word(options_.out));
    check_shard(record, where);
    const auto index = static_cast<std::size_t>(record.point / options_.shard.count);
    if (index >= there_.size()) there_.resize(index + 1);
    if (there_[index])
      throw InputError(where, "point " + std::to_string(record.point) + " occurs twice");
    there_[index] = true;
    ++outcome_.done;
    if (record.failed) ++outcome_.failed;
    kept_.add(record);
    std::vector<std::string> warnings = warnings_in(record.json);
    if (!record.failed) outcome_.warnings.add(warnings, "point " + std::to_string(record.point));
    if (each_)
      each_({std::move(record.json["axes"]), number_in(record.json, options_.objective.column),
             std::move(warnings), is_bound(text_member(record.json, "strategy"))});
  }

  void check_shard(const PointRecord& record, const std::string& where) const {
    const Shard& shard = options_.shard;
    if (record.point % shard.count == shard.index) return;
    const std::string parts = parts_beside(options_.out);
    throw InputError(where, "point " + std::to_string(record.point) + " belongs to another shard" +
                                (parts.empty() ? ""
                                               : "; this is left over from a run with another "
                                                 "--tasks: delete the parts (rm " +
                                                     parts + "), and run the script again"));
  }

  std::optional<Point> next() {
    while (auto point = points_.next()) {
      const auto index = static_cast<std::size_t>(point->number / options_.shard.count);
      if (index >= there_.size() || !there_[index]) return point;
    }
    return std::nullopt;
  }

  void take(std::vector<Worked>&& results) {
    for (Worked& result : results) {
      has_dropped_ = has_dropped_ || result.dropped;
      if (has_dropped_) continue;  // what follows a point that is missing comes with --resume
      pending_ += result.text;
      if (is_database_) rows_.push_back(std::move(result.row));
      ++pending_points_;
      if (result.failed)
        ++outcome_.failed;
      else
        outcome_.warnings.add(result.point.warnings, result.name);
      if (each_) each_(std::move(result.point));
    }
    const double now = clock_.seconds();
    if (pending_.size() >= batch_B || rows_.size() >= batch_rows ||
        now - written_at_ >= seconds_between_writes)
      write();
    if (watch_.reached)
      watch_.reached(outcome_.done + pending_points_, there_before_, outcome_.points);
  }

  void finish() {
    writer_.finish();
    if (database_) database_->finish();
  }

  void write() {
    written_at_ = clock_.seconds();
    if (pending_points_ == 0 && pending_.empty()) return;
    writer_.append(pending_);
    if (database_) database_->append(rows_);
    rows_.clear();
    outcome_.done += pending_points_;
    pending_points_ = 0;
    pending_.clear();
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  const std::function<void(DonePoint&&)>& each_;
  const SweepWatch& watch_;
  bool replaces_;  // something that was there; looked for before the writer makes the file
  bool is_database_;
  PointWriter writer_;  // of text
  std::optional<PointDatabase> database_;
  std::vector<Figures> rows_;  // for it
  Points points_;
  StopWatch clock_;
  int64_t there_before_ = 0;
  KeptLines kept_{is_database_};
  std::vector<bool> there_;  // points of the shard that the file has
  std::string pending_;
  int64_t pending_points_ = 0;
  bool has_dropped_ = false;
  double written_at_ = 0;
  SweepOutcome outcome_;
};

// The columns of a line that are numbers and not its own place.
std::string numbers_in(const Json& line) {
  std::string text;
  for (const std::string& column : columns_in(line))
    if (column != "point" && column != "of" && !std::isnan(number_in(line, column)))
      text += (text.empty() ? "" : ", ") + column;
  return text;
}

}  // namespace

// A line of this sweep that did not fail shows which columns there are.
void check_columns_of(const Sweep& sweep, const std::vector<std::string>& columns,
                      const std::string& where) {
  if (columns.empty()) return;
  PointReader reader(sweep);
  std::vector<std::string> unseen = columns;  // some points may have columns that others have not
  Json last;
  for (const Point& point : spread_points(sweep, points_looked_at)) {
    Json line = simulate_point(sweep, point, reader);
    if (line.contains("error")) continue;
    const std::vector<std::string> known = columns_in(line);
    std::erase_if(unseen, [&](const std::string& column) {
      return std::find(known.begin(), known.end(), column) != known.end();
    });
    last = std::move(line);
    if (unseen.empty()) return;
  }
  if (!last.is_null()) check_columns(unseen, last, where);
}

void check_objective(const Sweep& sweep, const Objective& objective) {
  const std::string& column = objective.column;
  PointReader reader(sweep);
  const bool is_of_samples = column.ends_with("samples_per_s");
  Json first;
  bool is_number = false;
  bool is_known = !is_of_samples;
  for (const Point& point : spread_points(sweep, points_looked_at)) {
    Json line = simulate_point(sweep, point, reader);
    if (line.contains("error")) continue;
    const double value = number_in(line, column);
    is_number = is_number || !std::isnan(value);
    is_known = is_known || value > 0;
    if (first.is_null()) first = std::move(line);
    if (is_number && is_known) break;
  }
  if (first.is_null()) return;
  if (is_number && !is_known)
    throw InputError(objective.option(), column +
                                             " is 0 at every point, because the trace states no "
                                             "batch; --set trace.batch=N says it");
  if (!is_number) check_columns_of(sweep, {column}, objective.option());
  if (!is_number)
    throw InputError(objective.option(),
                     column + " is no number; expected one of " + numbers_in(first));
  if (is_gain(column) && !objective.is_most)
    throw InputError("--minimize", "more of " + column +
                                       " is better; say metrics.iteration_us for the shortest "
                                       "step, or --maximize " +
                                       column);
  if (!is_gain(column) && objective.is_most)
    throw InputError("--maximize", "less of " + column + " is better; say --minimize " + column);
}

SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, std::ostream& out,
                       const std::function<void(DonePoint&&)>& each, const SweepWatch& watch) {
  check_can_run(sweep, options);
  check_columns_of(sweep, options.columns, "--columns");
  if (!options.objective.column.empty()) check_objective(sweep, options.objective);
  return Run(sweep, options, out, each, watch).run();
}

double seconds_per_point(const Sweep& sweep) {
  constexpr double long_enough = 0.5;
  PointReader reader(sweep);
  const StopWatch clock;
  int64_t count = 0;
  double before = 0;
  for (const Point& point : spread_points(sweep, 1000)) {
    simulate_point(sweep, point, reader).dump();
    if (count++ == 0 && clock.seconds() < 0.1) before = clock.seconds();  // reading the base
    if (clock.seconds() > long_enough) break;
  }
  if (count < 2) return clock.seconds();
  return (clock.seconds() - before) / static_cast<double>(before > 0 ? count - 1 : count);
}

}  // namespace sgdsim
