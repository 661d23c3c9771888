// Lines are written as they come, the table at the end.
#include "app/points.h"

#include <fstream>
#include <optional>
#include <set>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/table.h"

namespace sgdsim {
namespace {

void add_rows(Table& table, const AnsweredPoint& point) {
  table.add(point.cells);
  for (const std::vector<std::string>& cells : point.more_cells) table.add(cells);
}

std::string beginning_of(const std::string& schema) { return R"({"schema":")" + schema + '"'; }

}  // namespace

void claim_points(OutputGuard& guard, const std::string& file, const std::string& schema,
                  int64_t count, const std::function<Json(int64_t number)>& axes_of) {
  const std::string beginning = beginning_of(schema);
  guard.claim("--out", file, {.schema = {}, .beginning = beginning});
  if (guard.is_forced() || file == "-" || !holds_something(file)) return;
  std::ifstream lines(file);
  std::string line;
  for (int64_t number = 0; std::getline(lines, line); ++number) {
    const bool is_same = number < count &&
                         line.starts_with(beginning + R"(,"axes":)" + axes_of(number).dump() + ',');
    if (!is_same)
      throw InputError("--out", "\"" + file +
                                    "\" holds points of other axes or values, which would "
                                    "be lost: choose another file, or replace it with --force");
  }
}

int print_points(const PointsToPrint& points, const std::string& format, const std::string& file,
                 Streams streams) {
  std::optional<OutputFile> lines;
  if (!file.empty() && file != "-") lines.emplace(file, OutputFile::Mode::replace);
  Table table(points.titles);
  std::set<std::string> warned;
  int64_t failed = 0;
  for (int64_t number = 0; number < points.count; ++number) {
    const AnsweredPoint point = points.answer(number);
    failed += point.is_failed() ? 1 : 0;
    for (const std::string& warning : point.warnings)
      if (warned.insert(warning).second)
        streams.log << "sgdsim: warning: " << printable(warning) << '\n';
    const std::string line = point.json.dump() + "\n";
    if (lines) lines->write(line);
    if (format == "json")
      streams.out << line;
    else
      add_rows(table, point);
  }
  if (lines) lines->finish();
  if (format != "json") table.print(streams.out, points.axes);
  if (failed == 0) return 0;
  streams.log << "sgdsim: " << failed_points_text(failed, points.count) << '\n';
  return exit_point_failed;
}

}  // namespace sgdsim
