// Lines are written as they come, the table at the end.
#include "app/points.h"

#include <optional>
#include <set>

#include "sim/core/json.h"
#include "sim/core/output.h"
#include "study/table.h"

namespace sgdsim {
namespace {

void add_rows(Table& table, const AnsweredPoint& point) {
  table.add(point.cells);
  for (const std::vector<std::string>& cells : point.more_cells) table.add(cells);
}

}  // namespace

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
