// What rccl-tests writes as JSON: one object a line, one line a side of a row.
//
//   {"name":"AllReduce","size":4,"type":"float","redop":"sum","inPlace":0,"time":9.1,
//    "algBw":0.0,"busBw":0.0,"#wrong":0,"gpus":8}
//
// With MPI there are "ranks" (processes), "ranksPerNode" and "gpusPerRank" instead of "gpus". Lines
// of other programs, lines that were cut off and those with wrong results are dropped and counted.
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/measurement/json_words.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::string_view first_field = "\"busBw\"";

// What a line says of the number of ranks; 0: nothing. Without MPI one process has all "gpus", so
// that these are all ranks, whatever stands beside them. With MPI all processes are "ranks", and
// "ranksPerNode" those of one communicator: the same, unless NCCL_TESTS_SPLIT made groups. Where
// they differ, a file may also mean what the names say.
struct Count {
  int all = 0;
  int of_group = 0;
};
Count count_in(const Json& json) {
  const auto whole = [&](const char* name) {
    const double number = number_of(json, name).value_or(0);
    return number >= 1 && number <= most_measured_ranks ? static_cast<int64_t>(number) : 0;
  };
  const auto counted = [](int64_t ranks) {
    return ranks <= most_measured_ranks ? static_cast<int>(ranks) : 0;
  };
  if (const int64_t gpus = whole("gpus"); gpus > 0) return {counted(gpus), counted(gpus)};
  const int64_t each = std::max<int64_t>(1, whole("gpusPerRank"));
  const Count count{counted(each * whole("ranks")), counted(each * whole("ranksPerNode"))};
  return count.all > 0 && count.of_group > 0 ? count : Count{count.all, count.all};
}

// Points of lines that say the same, one after the other.
struct Part {
  Series series;
  int of_group = 0;  // ranks, where groups measured at the same time
};

// By the operation and both numbers of ranks.
using Doubts = std::map<std::tuple<std::string, int, int>, std::vector<LogRow>>;

// Chooses between all ranks and those of one group: as told, or as busbw / algbw says.
void settle_ranks(std::vector<Part>& parts, const Doubts& doubts, const MeasuredText& text,
                  Measurement& measurement) {
  for (const auto& [key, rows] : doubts) {
    const auto& [operation, all, of_group] = key;
    const RankRange range = ranks_from_ratio(operation, rows);
    const bool is_told = text.ranks == all || text.ranks == of_group;
    const bool says = range.allows(all) != range.allows(of_group);
    const bool takes_group = is_told ? text.ranks == of_group : says && range.allows(of_group);
    if (takes_group)
      for (Part& part : parts)
        if (std::tie(part.series.operation, part.series.ranks, part.of_group) == key)
          part.series.ranks = of_group;
    if (!is_told && !says)
      measurement.notes.push_back(operation + ": taken among all " + std::to_string(all) +
                                  " ranks; if NCCL_TESTS_SPLIT made groups of " +
                                  std::to_string(of_group) + ", give --ranks " +
                                  std::to_string(of_group));
  }
}

bool has_wrong_values(const Json& json) {
  return number_of(json, "#wrong").value_or(0) > 0 || number_of(json, "wrong").value_or(0) > 0;
}

// A line as a part of one point; empty if it is no row.
std::optional<Part> part_of(const Json& json, const MeasuredText& text, Doubts& doubts) {
  if (!json.is_object()) return std::nullopt;
  const auto size = number_of(json, "size");
  const auto time = number_of(json, "time");
  if (!size || !time || *size < 0 || *size > 0x1p62) return std::nullopt;
  Part part;
  Series& series = part.series;
  series.operation = nccl_operation_in(text_of(json, "name"));
  if (series.operation.empty()) series.operation = text.operation;
  series.type = text_of(json, "type");
  series.in_place = number_of(json, "inPlace").value_or(0) != 0;
  const Count count = count_in(json);
  series.ranks = count.all > 0 ? count.all : text.ranks.value_or(0);
  part.of_group = count.of_group;
  if (series.operation.empty()) return std::nullopt;
  if (series.ranks == 0)
    throw InputError(text.file,
                     "a line has neither \"gpus\" nor \"ranks\", so that the number of ranks is "
                     "not known; give --ranks");
  if (count.all != count.of_group) {
    LogRow row;
    row.out_of_place = {*time, number_of(json, "algBw").value_or(0),
                        number_of(json, "busBw").value_or(0)};
    doubts[{series.operation, count.all, count.of_group}].push_back(row);
  }
  if (const auto length = measured_time(*time); length && *size > 0)
    series.points.push_back({Bytes(static_cast<int64_t>(*size)), *length});
  return part;
}

// Whether `next` continues `part`.
bool continues(const Part& part, const Part& next) {
  const auto key_of = [](const Part& one) {
    return std::tie(one.series.in_place, one.series.operation, one.series.type, one.series.ranks,
                    one.of_group);
  };
  return key_of(part) == key_of(next);
}

}  // namespace

bool is_rccl_tests_json(std::string_view text) {
  return text.find(first_field) != std::string_view::npos;
}

Measurement rccl_tests_json(const MeasuredText& text) {
  Measurement measurement;
  measurement.source = "rccl-tests JSON " + text.file;
  DroppedLines dropped;
  DroppedLines wrong;
  std::vector<Part> parts;
  Doubts doubts;
  LineReader lines(text.text);
  for (std::string_view line; lines.next(line);) {
    // What a launcher put before the object, and the comma of a list after it.
    const std::size_t from = line.find('{');
    const std::size_t to = line.rfind('}');
    if (from == std::string_view::npos) continue;
    const bool closed = to != std::string_view::npos && to > from;
    const Json json =
        closed ? Json::parse(line.substr(from, to - from + 1), nullptr, false) : Json();
    auto part = part_of(json, text, doubts);
    if (!part) {
      dropped.add(lines.number());
    } else if (has_wrong_values(json)) {
      wrong.add(lines.number());
    } else if (!parts.empty() && continues(parts.back(), *part)) {
      auto& points = parts.back().series.points;
      points.insert(points.end(), part->series.points.begin(), part->series.points.end());
    } else {
      parts.push_back(std::move(*part));
    }
  }
  dropped.tell("no row of rccl-tests", measurement.notes);
  wrong.tell(wrong_results, measurement.notes);
  settle_ranks(parts, doubts, text, measurement);
  for (Part& part : parts) measurement.series.push_back(std::move(part.series));
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
