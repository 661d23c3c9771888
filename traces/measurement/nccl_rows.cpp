// From rows to series: which operation, how many ranks.
#include "traces/measurement/nccl_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "sim/core/error.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

// Two decimals of a bandwidth below this say too little about a ratio.
constexpr double least_telling_GBps = 5;

struct NamedColumn {
  std::string_view mark;  // in lower case, without _ and -
  std::string_view operation;
};

// reduce, gather and scatter after those whose names contain them.
constexpr std::array<NamedColumn, 9> names{{{"allreduce", "allreduce"},
                                            {"reducescatter", "reduce_scatter"},
                                            {"allgather", "allgather"},
                                            {"alltoall", "alltoall"},
                                            {"broadcast", "broadcast"},
                                            {"sendrecv", "copy"},
                                            {"gather", "gather"},
                                            {"scatter", "scatter"},
                                            {"reduce", "reduce"}}};

// busbw / algbw is this times 1 - 1/n; 0 where it is always 1.
double factor_of(const std::string& operation) {
  if (operation == "allreduce") return 2;
  constexpr std::array<std::string_view, 5> others{"reduce_scatter", "allgather", "alltoall",
                                                   "gather", "scatter"};
  return std::find(others.begin(), others.end(), operation) != others.end() ? 1 : 0;
}

// Half a unit of the last digit printed: numbers from 1000 on lose decimals.
double rounding_of(double GBps) { return GBps < 1000 ? 0.005 : GBps < 1e4 ? 0.05 : 0.5; }

// What busbw / algbw may have been before both were rounded.
struct Interval {
  double from = 0;
  double to = 0;
};

std::vector<Interval> ratios_of(const std::vector<LogRow>& rows) {
  std::vector<Interval> ratios;
  for (const LogRow& row : rows)
    for (const NcclSide& side : {row.out_of_place, row.in_place}) {
      if (side.algbw_GBps <= least_telling_GBps) continue;
      const double bus = rounding_of(side.busbw_GBps);
      const double alg = rounding_of(side.algbw_GBps);
      ratios.push_back({(side.busbw_GBps - bus) / (side.algbw_GBps + alg),
                        (side.busbw_GBps + bus) / (side.algbw_GBps - alg)});
    }
  return ratios;
}

// Where most of the intervals overlap: rows that were broken do not count against the others.
std::optional<Interval> most_common(const std::vector<Interval>& intervals) {
  std::vector<std::pair<double, int>> ends;
  for (const Interval& interval : intervals) {
    ends.emplace_back(interval.from, -1);  // before ends at the same place
    ends.emplace_back(interval.to, 1);
  }
  std::sort(ends.begin(), ends.end());
  std::optional<Interval> best;
  int open = 0;
  int most = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    open -= ends[i].second;
    if (open <= most) continue;
    most = open;
    best = {ends[i].first, ends[i + 1].first};
  }
  return best;
}

// What the columns and the ratio say where no name does. For two ranks every ratio is 1 or a half.
std::string operation_from_ratio(const LogTable& table) {
  const auto ratio = most_common(ratios_of(table.rows));
  if (!ratio) return "";
  if (ratio->from > 1.01) return "allreduce";
  const bool folds = !table.rows.empty() && table.rows.front().has_operator;
  return ratio->from > 0 && ratio->to < 0.995 && folds ? "reduce_scatter" : "";
}

std::string operation_of(const LogTable& table, const MeasuredText& text) {
  if (!table.operation.empty()) return table.operation;
  if (!text.operation.empty()) return text.operation;
  std::string by_file = nccl_operation_in(std::filesystem::path(text.file).stem().string());
  if (!by_file.empty()) return by_file;
  std::string by_ratio = operation_from_ratio(table);
  if (by_ratio.empty())
    throw InputError(text.file, "does not say which operation was measured; give --operation");
  return by_ratio;
}

// What the rows of one table say, made more precise by those of all tables of its operation.
RankRange derived_ranks(const std::string& operation, const LogTable& table,
                        const RankRange& together) {
  const RankRange own = ranks_from_ratio(operation, table.rows);
  return own.nearest == 0 || own.allows(together.nearest) ? together : own;
}

// Whether a table says that so many took part.
bool says(const LogTable& table, const RankRange& derived, int ranks) {
  return derived.nearest > 0 ? derived.allows(ranks) : table.listed_ranks == ranks;
}

std::string words_of(const RankRange& derived) {
  return "busbw / algbw says " + std::to_string(derived.nearest) + " ranks";
}

int stated_ranks(const std::string& operation, const LogTable& table, const RankRange& derived,
                 const MeasuredText& text, Measurement& measurement) {
  const int listed = table.listed_ranks;
  if (listed > 0 && (derived.nearest == 0 || derived.allows(listed))) return listed;
  const bool is_asked_for = text.operation.empty() || text.operation == operation;
  if (derived.nearest == 0 && !is_asked_for) return 0;
  if (derived.nearest == 0)
    throw InputError(text.file,
                     "does not say how many ranks took part (no device list, and busbw / algbw "
                     "does not tell: it is always 1, or of too few digits); give --ranks");
  if (listed > 0)
    note_once(measurement, "the log lists " + std::to_string(listed) + " devices, but " +
                               words_of(derived) + "; taken: " + std::to_string(derived.nearest));
  if (derived.least < derived.most)
    note_once(measurement, words_of(derived) + ", give or take the digits printed: " +
                               std::to_string(derived.least) + " to " +
                               std::to_string(derived.most));
  return derived.nearest;
}

// What was told chooses among the tables of a log, if one of them fits; else it overrules them.
int ranks_of(const std::string& operation, const LogTable& table, const RankRange& derived,
             bool told_fits_one, const MeasuredText& text, Measurement& measurement) {
  if (operation == "copy") return text.ranks.value_or(2);
  const bool silent = derived.nearest == 0 && table.listed_ranks == 0;
  if (!text.ranks || (told_fits_one && !silent && !says(table, derived, *text.ranks)))
    return stated_ranks(operation, table, derived, text, measurement);
  const std::string taken = "; taken as told: " + std::to_string(*text.ranks);
  if (derived.nearest > 0 && !derived.allows(*text.ranks))
    note_once(measurement, words_of(derived) + taken);
  else if (derived.nearest == 0 && !silent && table.listed_ranks != *text.ranks)
    note_once(measurement,
              "the log lists " + std::to_string(table.listed_ranks) + " devices" + taken);
  return *text.ranks;
}

// What a reader must know of how a table was measured.
void note_manner(Measurement& measurement, const LogTable& table) {
  if (table.has_cpu_time)
    note_once(measurement,
              "times are size / algbw: with -C 1 the log's own are of the host that enqueues");
  if (table.listed_groups > 1)
    note_once(measurement, "the devices are in " + std::to_string(table.listed_groups) +
                               " groups (NCCL_TESTS_SPLIT), which measured at the same time; times "
                               "are those of the first, of " +
                               std::to_string(table.listed_ranks) + " ranks");
}

void add_side(Measurement& measurement, const Series& kind, const LogTable& table, bool in_place) {
  Series series = kind;
  series.in_place = in_place;
  for (const LogRow& row : table.rows) {
    if (row.type != series.type) continue;
    const NcclSide& side = in_place ? row.in_place : row.out_of_place;
    if (const auto time = measured_time(side.time_us); time && row.size_B > 0)
      series.points.push_back({Bytes(row.size_B), *time});
  }
  measurement.series.push_back(std::move(series));
}

// Rows without a time on a side that others have. A side that no row has was not measured.
void count_timeless(const std::vector<LogRow>& rows, DroppedLines& dropped) {
  const auto out = [](const LogRow& row) { return measured_time(row.out_of_place.time_us); };
  const auto in = [](const LogRow& row) { return measured_time(row.in_place.time_us); };
  const bool has_out = std::any_of(rows.begin(), rows.end(), out);
  const bool has_in = std::any_of(rows.begin(), rows.end(), in);
  for (const LogRow& row : rows)
    if ((has_out && !out(row)) || (has_in && !in(row)) || (!has_out && !has_in))
      dropped.add(row.line);
}

}  // namespace

std::string nccl_operation_in(std::string_view text) {
  std::string plain = lower(text);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  for (const NamedColumn& one : names)
    if (plain.find(one.mark) != std::string::npos) return std::string(one.operation);
  return "";
}

RankRange ranks_from_ratio(const std::string& operation, const std::vector<LogRow>& rows) {
  const double factor = factor_of(operation);
  if (factor == 0) return {};
  const auto ratio = most_common(ratios_of(rows));
  if (!ratio) return {};
  const auto ranks = [&](double part) {
    return std::clamp(1 / std::max(1 - part / factor, 1e-9), 1., 1e7);
  };
  RankRange range;
  range.nearest = static_cast<int>(std::round(ranks((ratio->from + ratio->to) / 2)));
  range.least = std::min(static_cast<int>(std::ceil(ranks(ratio->from))), range.nearest);
  range.most = std::max(static_cast<int>(std::floor(ranks(ratio->to))), range.nearest);
  return range.nearest >= 2 && range.most <= 2 * range.least ? range : RankRange{};
}

void take_times_of_bandwidths(LogTable& table, double rounding_GBps, DroppedLines& coarse) {
  if (!table.has_cpu_time) return;
  constexpr double most_off = 0.01;
  const auto is_coarse = [&](const NcclSide& side) {
    return side.time_us > 0 && side.algbw_GBps * most_off < rounding_GBps;
  };
  const auto is_dropped = [&](const LogRow& row) {
    return row.size_B > 0 && (is_coarse(row.out_of_place) || is_coarse(row.in_place));
  };
  for (const LogRow& row : table.rows)
    if (is_dropped(row)) coarse.add(row.line);
  std::erase_if(table.rows, is_dropped);
  for (LogRow& row : table.rows)
    for (NcclSide* const side : {&row.out_of_place, &row.in_place})
      if (side->time_us > 0 && row.size_B > 0)
        side->time_us = static_cast<double>(row.size_B) / side->algbw_GBps / 1e3;
}

void add_tables(Measurement& measurement, const std::vector<LogTable>& tables,
                const MeasuredText& text) {
  std::map<std::string, std::vector<LogRow>> rows;  // by operation
  std::vector<std::string> operations;
  for (const LogTable& table : tables) {
    operations.push_back(operation_of(table, text));
    auto& all = rows[operations.back()];
    all.insert(all.end(), table.rows.begin(), table.rows.end());
  }
  std::map<std::string, RankRange> together;
  DroppedLines timeless;
  for (const auto& [operation, all] : rows) {
    together[operation] = ranks_from_ratio(operation, all);
    count_timeless(all, timeless);
  }
  timeless.tell(no_time_known, measurement.notes);
  std::vector<RankRange> derived;
  bool told_fits_one = false;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    derived.push_back(derived_ranks(operations[i], tables[i], together[operations[i]]));
    if (text.ranks && says(tables[i], derived[i], *text.ranks)) told_fits_one = true;
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    Series kind;
    kind.operation = operations[i];
    kind.is_table = true;
    kind.settings = tables[i].settings;
    kind.ranks = ranks_of(kind.operation, tables[i], derived[i], told_fits_one, text, measurement);
    if (kind.ranks == tables[i].listed_ranks) kind.nodes = tables[i].listed_nodes;
    note_manner(measurement, tables[i]);
    if (measurement.device.empty()) measurement.device = tables[i].device;
    std::vector<std::string_view> types;
    for (const LogRow& row : tables[i].rows)
      if (std::find(types.begin(), types.end(), row.type) == types.end()) types.push_back(row.type);
    for (const std::string_view type : types) {
      kind.type = type;
      add_side(measurement, kind, tables[i], false);
      add_side(measurement, kind, tables[i], true);
    }
  }
}

}  // namespace sgdsim
