// Tables of collectives.
#include "study/collective/collective_report.h"

#include <algorithm>

#include "sim/core/quantity.h"
#include "study/collective/nccl_answer.h"
#include "study/sweep/columns.h"
#include "study/table.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

std::string size_text(Bytes size) { return short_size(static_cast<double>(size.count())); }

}  // namespace

void print_point(std::ostream& out, const CollectivePoint& point) {
  const CollectiveAnswer& answer = *point.answer;
  out << answer.algorithm << ' ' << point.operation << " of " << to_text(point.total()) << " among "
      << point.ranks << (point.ranks == 1 ? " rank on " : " ranks on ") << point.cluster << '\n';
  Table table({"", ""});
  if (point.nccl)
    table.add({"NCCL's choice", pair_name(point.nccl->choice()) +
                                    (point.sizes.size() > 1 ? ", for the largest message" : "")});
  table.add({"time", short_duration(answer.time.us(), 6)});
  if (point.reducing) table.add({"  of which reducing", short_duration(point.reducing->us(), 6)});
  table.add({"algorithm bandwidth", rounded(answer.algbw_GBps) + " GB/s"});
  table.add({"bus bandwidth", rounded(answer.busbw_GBps) + " GB/s"});
  if (!point.nccl) {
    table.add({"messages", std::to_string(answer.traffic.messages)});
    table.add({"bytes on the wire", short_size(answer.traffic.wire_B)});
  }
  table.add({"fidelity", sent_text(answer.fidelity, answer.transport) + " (" + answer.path + ")"});
  table.print(out, 2);
  if (point.reducing && *point.reducing * 2 > answer.time)
    out << "\nMost of this time is adding up values: the cluster's fields `reduce`, or --gamma\n";
  if (!answer.wires.busiest.empty()) {
    out << '\n';
    print_use(out, answer.wires);
  }
  // NCCL's pairs have a table of their own.
  if (answer.candidates.empty() || point.nccl) return;
  out << "\nall algorithms that offer it:\n";
  for (const Candidate& candidate : answer.candidates)
    out << "  " << candidate.algorithm << ": "
        << (candidate.time ? short_duration(candidate.time->us(), 4) : candidate.why_not) << '\n';
}

namespace {

bool have_one_algorithm(const std::vector<CollectivePoint>& points) {
  return std::all_of(points.begin(), points.end(), [&](const CollectivePoint& point) {
    return point.algorithm == points.front().algorithm;
  });
}

}  // namespace

// Where each point has its own, the algorithm stands beside its time.
void print_sweep(std::ostream& out, const std::vector<CollectivePoint>& points,
                 std::size_t columns) {
  std::vector<std::string> head{"ranks", "size"};
  const bool have_one = have_one_algorithm(points);
  if (columns == 1 && !have_one)
    head.insert(head.end(), {"time", "algorithm"});
  else
    for (std::size_t c = 0; c < columns; ++c) head.push_back(points[c].algorithm);
  if (columns > 1) head.emplace_back("fastest");
  Table table(head);
  for (std::size_t row = 0; row < points.size(); row += columns) {
    std::vector<std::string> cells{std::to_string(points[row].ranks),
                                   size_text(points[row].total())};
    const CollectivePoint* best = nullptr;
    for (std::size_t c = 0; c < columns; ++c) {
      const CollectivePoint& point = points[row + c];
      cells.push_back(point.answer ? short_duration(point.answer->time.us()) : "-");
      if (point.answer && (best == nullptr || point.answer->time < best->answer->time))
        best = &point;
    }
    if (columns == 1 && !have_one) cells.push_back(points[row].algorithm);
    if (columns > 1) cells.push_back(best == nullptr ? "-" : best->algorithm);
    table.add(cells);
  }
  table.print(out, 0);
}

std::string csv_of(const std::vector<CollectivePoint>& points) {
  std::string text = std::string(csv_beginning) + "time_us,algbw_GBps,busbw_GBps\n";
  for (const CollectivePoint& point : points) {
    if (!point.answer) continue;
    const CollectiveAnswer& answer = *point.answer;
    text += csv_row({point.algorithm, point.operation, std::to_string(point.ranks),
                     std::to_string(point.total().count()), Json(answer.time.us()).dump(),
                     Json(answer.algbw_GBps).dump(), Json(answer.busbw_GBps).dump()});
  }
  return text;
}

std::vector<std::string> warnings_of(const std::vector<CollectivePoint>& points) {
  std::vector<std::string> seen;
  for (const CollectivePoint& point : points) {
    if (!point.answer) continue;
    for (const std::string& warning : point.answer->warnings)
      if (std::find(seen.begin(), seen.end(), warning) == seen.end()) seen.push_back(warning);
  }
  return seen;
}

}  // namespace sgdsim
