// What is printed about a collective.
#include "study/collective/collective_report.h"

#include <algorithm>
#include <cmath>

#include "sim/core/fields.h"
#include "sim/core/quantity.h"
#include "study/collective/nccl_answer.h"
#include "study/collective/ranges.h"
#include "study/shell_word.h"
#include "study/sweep/columns.h"
#include "study/table.h"
#include "study/wire_use.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

// A number of bytes: whole where it is whole, which fractional chunks are not.
Json bytes_json(double size_B) {
  if (size_B == std::floor(size_B) && size_B < 0x1p63) return static_cast<int64_t>(size_B);
  return size_B;
}

// What was asked beyond algorithm, ranks and sizes.
void add_choices(Json& json, const CollectiveArguments& arguments) {
  if (!arguments.block.empty()) json["block_B"] = parse_bytes(arguments.block, "--block").count();
  if (!arguments.root.empty()) json["root"] = parse_whole(arguments.root, 0, INT32_MAX, "--root");
  if (arguments.cluster_read && arguments.cluster_read->kind != NetworkKind::unsaid)
    json["network"] = std::string(name_of(arguments.cluster_read->kind));
  if (!arguments.options.empty()) json["options"] = arguments.options;
  if (!arguments.jitter.empty()) {
    json["jitter_sigma"] = parse_number(arguments.jitter, 0, most_jitter, "--jitter");
    json["seed"] = arguments.seed.empty() ? 1 : parse_whole(arguments.seed, 0, INT64_MAX, "--seed");
  }
  if (!arguments.starts.empty()) {
    json["starts_us"] = Json::array();
    for (const std::string& start : split_list(arguments.starts))
      json["starts_us"].push_back(parse_duration(start, "--start").us());
  }
}

void add_answer(Json& json, const CollectivePoint& point) {
  const CollectiveAnswer& answer = *point.answer;
  json["time_ps"] = answer.time.ps();
  json["time_us"] = answer.time.us();
  if (!point.nccl) {
    json["messages"] = answer.traffic.messages;
    json["wire_B"] = bytes_json(answer.traffic.wire_B);
  }
  json["algbw_GBps"] = answer.algbw_GBps;
  json["busbw_GBps"] = answer.busbw_GBps;
  json["fidelity"] = std::string(name_of(answer.fidelity));
  json["path"] = answer.path;
  if (!answer.wires.kinds.empty()) add_use(json, answer.wires);
  if (point.nccl) json["nccl_choice"] = pair_name(point.nccl->choice());
  for (const Candidate& candidate : answer.candidates) {
    Json row = {{"algorithm", candidate.algorithm}};
    if (candidate.time)
      row["time_us"] = candidate.time->us();
    else
      row["why_not"] = candidate.why_not;
    json["candidates"].push_back(row);
  }
  if (!answer.warnings.empty()) json["warnings"] = answer.warnings;
}

// What gives this point alone.
std::string command_of(const CollectivePoint& point, const CollectiveArguments& arguments) {
  std::string command = "sgdsim collective";
  auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) command += " " + option + "=" + shell_word(value);
  };
  add("--algorithm", point.algorithm);
  add("--op", point.operation);
  add("--ranks", std::to_string(point.ranks));
  for (const Bytes size : point.sizes) add("--bytes", std::to_string(size.count()) + "B");
  add("--cluster", arguments.cluster);
  for (const std::string& setting : arguments.settings) add("--set", setting);
  add("--alpha", arguments.alpha);
  add("--beta", arguments.beta);
  add("--gamma", arguments.gamma);
  add("--block", arguments.block);
  add("--root", arguments.root);
  for (const std::string& option : arguments.options) add("--option", option);
  add("--fidelity", arguments.fidelity);
  add("--transport", arguments.transport);
  add("--path", arguments.path);
  add("--start", arguments.starts);
  add("--jitter", arguments.jitter);
  add("--seed", arguments.seed);
  return command;
}

Json schema_of_point_list() { return list_schema(reference("../collective/1"), 1); }

Fields sweep_fields(const Json& points) {
  return {answer_kind("sgdsim/collective-sweep/1"),
          Field("points", points,
                "one point per algorithm, size and number of ranks; algorithms change fastest, "
                "then sizes, then ranks; at least one has an answer")
              .like(schema_of_point_list)};
}

std::string size_text(Bytes size) { return short_size(static_cast<double>(size.count())); }

}  // namespace

Json to_json(const CollectivePoint& point, const CollectiveArguments& arguments) {
  Json json = {{"schema", "sgdsim/collective/1"},
               {"algorithm", point.answer ? point.answer->algorithm : point.algorithm},
               {"operation", point.operation},
               {"cluster", point.cluster},
               {"ranks", point.ranks},
               {"size_B", point.total().count()}};
  if (point.sizes.size() > 1)
    for (const Bytes size : point.sizes) json["sizes_B"].push_back(size.count());
  add_choices(json, arguments);
  if (point.answer) {
    add_answer(json, point);
    json["command"] = command_of(point, arguments);
  } else {
    json["why_not"] = point.why_not;
  }
  return json;
}

Json to_json(const std::vector<CollectivePoint>& points, const CollectiveArguments& arguments) {
  Json list = Json::array();
  for (const CollectivePoint& point : points)
    list.push_back(to_json(point, arguments_for(arguments, point.algorithm)));
  return written(sweep_fields(list));
}
Json schema_of_collective_sweeps() { return record_schema(sweep_fields(Json::array())); }

void print_point(std::ostream& out, const CollectivePoint& point) {
  const CollectiveAnswer& answer = *point.answer;
  out << answer.algorithm << ' ' << point.operation << " of " << to_text(point.total()) << " among "
      << point.ranks << (point.ranks == 1 ? " rank on " : " ranks on ") << point.cluster << '\n';
  Table table({"", ""});
  if (point.nccl) table.add({"NCCL's choice", pair_name(point.nccl->choice())});
  table.add({"time", short_duration(answer.time.us(), 6)});
  if (point.reducing) table.add({"  of which reducing", short_duration(point.reducing->us(), 6)});
  table.add({"algorithm bandwidth", rounded(answer.algbw_GBps) + " GB/s"});
  table.add({"bus bandwidth", rounded(answer.busbw_GBps) + " GB/s"});
  if (!point.nccl) {
    table.add({"messages", std::to_string(answer.traffic.messages)});
    table.add({"bytes on the wire", short_size(answer.traffic.wire_B)});
  }
  table.add({"fidelity", std::string(name_of(answer.fidelity)) + " (" + answer.path + ")"});
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

void print_sweep(std::ostream& out, const std::vector<CollectivePoint>& points,
                 std::size_t columns) {
  std::vector<std::string> head{"ranks", "size"};
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
