// The threads, the file and the progress of a sweep.
#include "app/sweep/sweep_run.h"

#include <filesystem>
#include <memory>

#include "app/interrupt.h"
#include "app/sweep/columns.h"
#include "app/sweep/point_file.h"
#include "app/sweep/progress.h"
#include "app/sweep/sweep_point.h"
#include "sim/core/error.h"
#include "sim/core/parallel.h"

namespace sgdsim {
namespace {

constexpr int64_t most_points = 1'000'000'000;
constexpr std::chrono::milliseconds patience{100};
constexpr double seconds_between_writes = 0.25;  // what a kill may cost
constexpr std::size_t batch_B = 1 << 20;

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
  if (options.out == "-" && options.resume)
    throw InputError("--resume", "needs --out, the file to go on with");
}

class Run {
 public:
  Run(const Sweep& sweep, const SweepOptions& options, std::ostream& out, std::ostream& log,
      const std::function<void(DonePoint&&)>& each)
      : sweep_(sweep),
        options_(options),
        each_(each),
        log_(log),
        refuse_loss_(find_loss()),
        writer_(options.out, out),
        points_(sweep, options.shard) {
    outcome_.points = Points::count(sweep, options.shard);
  }

  SweepOutcome run() {
    if (options_.resume)
      look_at_file();
    else
      writer_.cut(0);
    if (!options_.columns.empty()) pending_ = csv_row(options_.columns);
    progress_.emplace(log_, options_.quiet, outcome_.points, outcome_.done);
    Interrupt interrupt;
    std::vector<PointReader> readers(static_cast<std::size_t>(options_.threads),
                                     PointReader(sweep_));
    OrderedWork<Point, Worked> work(
        {[&] { return next(); },
         [&](int thread, const Point& point) {
           return worked(simulate_point(sweep_, point, readers[static_cast<std::size_t>(thread)]));
         },
         [&](std::vector<Worked>&& results) {
           take(std::move(results));
           if (interrupt.asked() && !outcome_.interrupted) {
             outcome_.interrupted = true;
             progress_->end();
             log_ << "sgdsim: interrupted; finishing the points that have begun" << std::endl;
           }
           return !outcome_.interrupted;
         }},
        options_.threads, patience);
    work.run();
    write();
    progress_->end();
    outcome_.seconds = progress_->seconds();
    outcome_.interrupted = outcome_.interrupted && outcome_.done < outcome_.points;
    return outcome_;
  }

 private:
  struct Worked {
    std::string text;
    DonePoint point;
    std::string name;  // for its warnings
    bool failed = false;
  };

  Worked worked(Json line) const {
    Worked worked;
    worked.failed = line.contains("error");
    worked.name = name_of(line);
    worked.point.warnings = warnings_in(line);
    worked.text = options_.columns.empty()
                      ? line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                      : csv_row(line, options_.columns);
    if (!each_) return worked;
    worked.point.objective = number_in(line, options_.objective);
    worked.point.axes = std::move(line["axes"]);
    return worked;
  }

  static std::string name_of(const Json& line) {
    return "point " + std::to_string(line.value("point", int64_t{0}));
  }

  // Without --resume, what another run of this sweep has begun is not thrown away.
  bool find_loss() const {
    std::error_code ignored;
    if (options_.resume || options_.out == "-" || !options_.columns.empty() ||
        !std::filesystem::is_regular_file(options_.out, ignored))
      return false;
    int64_t there = 0;
    try {
      read_points(options_.out, [&](PointRecord& record) {
        if (record.sweep == sweep_.id) ++there;
      });
    } catch (const InputError&) {
      return false;  // something else
    }
    if (there == 0 || there >= Points::count(sweep_, options_.shard)) return false;
    throw InputError(options_.out, "holds " + std::to_string(there) +
                                       " points of this sweep; go on with --resume, or remove it");
  }

  void look_at_file() {
    int64_t end = 0;
    if (std::filesystem::is_regular_file(options_.out))
      end = read_points(options_.out, [&](PointRecord& record) { use(record); });
    writer_.cut(end);
  }

  void use(PointRecord& record) {
    const std::string where = options_.out + ":" + std::to_string(record.line);
    if (record.sweep != sweep_.id || record.of != sweep_.points)
      throw InputError(where, "this is a point of another sweep (" + record.sweep +
                                  "), this one is " + sweep_.id);
    if (record.point % options_.shard.count != options_.shard.index)
      throw InputError(where,
                       "point " + std::to_string(record.point) + " belongs to another shard");
    const auto index = static_cast<std::size_t>(record.point / options_.shard.count);
    if (index >= there_.size()) there_.resize(index + 1);
    if (there_[index])
      throw InputError(where, "point " + std::to_string(record.point) + " occurs twice");
    there_[index] = true;
    ++outcome_.done;
    if (record.failed) ++outcome_.failed;
    std::vector<std::string> warnings = warnings_in(record.json);
    if (!record.failed) outcome_.warnings.add(warnings, name_of(record.json));
    if (each_)
      each_({std::move(record.json["axes"]), number_in(record.json, options_.objective),
             std::move(warnings)});
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
      pending_ += result.text;
      ++pending_points_;
      if (result.failed)
        ++outcome_.failed;
      else
        outcome_.warnings.add(result.point.warnings, result.name);
      if (each_) each_(std::move(result.point));
    }
    const double now = progress_->seconds();
    if (pending_.size() >= batch_B || now - written_at_ >= seconds_between_writes) write();
    progress_->update(outcome_.done + pending_points_);
  }

  void write() {
    written_at_ = progress_->seconds();
    if (pending_.empty()) return;
    writer_.append(pending_);
    outcome_.done += pending_points_;
    pending_points_ = 0;
    pending_.clear();
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  const std::function<void(DonePoint&&)>& each_;
  std::ostream& log_;
  bool refuse_loss_;  // looked for before the writer makes the file
  PointWriter writer_;
  Points points_;
  std::optional<Progress> progress_;
  std::vector<bool> there_;  // points of the shard that the file has
  std::string pending_;
  int64_t pending_points_ = 0;
  double written_at_ = 0;
  SweepOutcome outcome_;
};

}  // namespace

// A line of this sweep that did not fail shows which columns there are.
void check_columns_of(const Sweep& sweep, const std::vector<std::string>& columns,
                      const std::string& where) {
  if (columns.empty()) return;
  PointReader reader(sweep);
  for (const Point& point : spread_points(sweep, 100)) {
    const Json line = simulate_point(sweep, point, reader);
    if (!line.contains("error")) return check_columns(columns, line, where);
  }
}

SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, std::ostream& out,
                       std::ostream& log, const std::function<void(DonePoint&&)>& each) {
  check_can_run(sweep, options);
  check_columns_of(sweep, options.columns, "--columns");
  if (!options.objective.empty()) check_columns_of(sweep, {options.objective}, "--minimize");
  return Run(sweep, options, out, log, each).run();
}

double seconds_per_point(const Sweep& sweep) {
  constexpr double long_enough = 0.5;
  PointReader reader(sweep);
  std::ostream nowhere(nullptr);
  const Progress clock(nowhere, true, 0, 0);
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
