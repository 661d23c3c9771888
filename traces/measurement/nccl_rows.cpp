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

struct Named {
  std::string_view mark;  // in lower case, without _ and -
  std::string_view operation;
};

// reduce after those whose names contain it.
constexpr std::array<Named, 7> names{{{"allreduce", "allreduce"},
                                      {"reducescatter", "reduce_scatter"},
                                      {"allgather", "allgather"},
                                      {"alltoall", "alltoall"},
                                      {"broadcast", "broadcast"},
                                      {"sendrecv", "copy"},
                                      {"reduce", "reduce"}}};

double factor_of(const std::string& operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (operation == "allreduce") return 2 * others;
  if (operation == "reduce_scatter" || operation == "allgather" || operation == "alltoall")
    return others;
  return 1;
}

struct Ratio {
  double value = 0;     // 0: not known
  double rounding = 0;  // how far the printed digits may have moved it
};

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median of busbw / algbw over telling rows.
Ratio ratio_of(const std::vector<NcclRow>& rows) {
  std::vector<double> ratios;
  std::vector<double> rates;
  for (const NcclRow& row : rows)
    for (const NcclSide& side : {row.out_of_place, row.in_place}) {
      if (side.algbw_GBps <= least_telling_GBps) continue;
      ratios.push_back(side.busbw_GBps / side.algbw_GBps);
      rates.push_back(side.algbw_GBps);
    }
  if (ratios.empty()) return {};
  // Half a unit of the last digit on either number; from 1000 GB/s on, one decimal is printed.
  const double rate = middle_of(rates);
  return {middle_of(ratios), (rate < 1000 ? 0.015 : 0.15) / rate};
}

// What the columns and the ratio say where no name does. For two ranks every ratio is 1 or a half.
std::string operation_from_ratio(const NcclTable& table) {
  const double ratio = ratio_of(table.rows).value;
  if (ratio > 1.01) return "allreduce";
  const bool folds = !table.rows.empty() && table.rows.front().has_operator;
  if (ratio > 0 && ratio < 0.995 && folds) return "reduce_scatter";
  return "";
}

std::string operation_of(const NcclTable& table, const MeasuredText& text) {
  if (!text.operation.empty()) return text.operation;
  if (!table.operation.empty()) return table.operation;
  std::string by_file = nccl_operation_in(std::filesystem::path(text.file).stem().string());
  if (!by_file.empty()) return by_file;
  std::string by_ratio = operation_from_ratio(table);
  if (by_ratio.empty())
    throw InputError(text.file, "does not say which operation was measured; give --operation");
  return by_ratio;
}

void note_once(Measurement& measurement, const std::string& note) {
  auto& notes = measurement.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

bool allows(const RankRange& range, int ranks) {
  return range.nearest > 0 && ranks >= range.least && ranks <= range.most;
}

// What the rows of one table say, made more precise by those of all tables of its operation.
RankRange derived_ranks(const std::string& operation, const NcclTable& table,
                        const RankRange& together) {
  const RankRange own = ranks_from_ratio(operation, table.rows);
  return own.nearest == 0 || allows(own, together.nearest) ? together : own;
}

int ranks_of(const std::string& operation, const NcclTable& table, const RankRange& together,
             const MeasuredText& text, Measurement& measurement) {
  if (operation == "copy") return 2;
  const RankRange derived = derived_ranks(operation, table, together);
  const std::string says = "busbw / algbw says " + std::to_string(derived.nearest) + " ranks";
  if (text.ranks) {
    if (derived.nearest > 0 && !allows(derived, *text.ranks))
      note_once(measurement, says + "; taken as told: " + std::to_string(*text.ranks));
    return *text.ranks;
  }
  const bool is_listed = table.listed_ranks > 0;
  if (is_listed && (derived.nearest == 0 || allows(derived, table.listed_ranks)))
    return table.listed_ranks;
  if (is_listed)
    note_once(measurement, "the log lists " + std::to_string(table.listed_ranks) +
                               " devices, but " + says +
                               "; taken: " + std::to_string(derived.nearest));
  if (derived.nearest == 0)
    throw InputError(
        text.file,
        "does not say how many ranks took part (no device list, and no bandwidth above "
        "5 GB/s to derive it from); give --ranks");
  if (derived.least < derived.most)
    note_once(measurement,
              says + ", give or take the digits printed: " + std::to_string(derived.least) +
                  " to " + std::to_string(derived.most));
  return derived.nearest;
}

void add_side(Measurement& measurement, const Series& kind, const NcclTable& table, bool in_place) {
  Series series = kind;
  series.in_place = in_place;
  for (const NcclRow& row : table.rows) {
    if (row.type != series.type) continue;
    const NcclSide& side = in_place ? row.in_place : row.out_of_place;
    if (const auto time = measured_time(side.time_us); time && row.size_B > 0)
      series.points.push_back({Bytes(row.size_B), *time});
  }
  measurement.series.push_back(std::move(series));
}

}  // namespace

std::string nccl_operation_in(std::string_view text) {
  std::string plain = lower(text);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  for (const Named& one : names)
    if (plain.find(one.mark) != std::string::npos) return std::string(one.operation);
  return "";
}

RankRange ranks_from_ratio(const std::string& operation, const std::vector<NcclRow>& rows) {
  const double all = factor_of(operation, 1'000'000'000);  // 2 or 1
  const Ratio ratio = ratio_of(rows);
  if (factor_of(operation, 2) == all || ratio.value == 0) return {};  // broadcast: always 1
  // 1 - ratio / all is 1 / n.
  const auto ranks = [&](double part) {
    return std::clamp(1 / std::max(1 - part / all, 1e-9), 1., 1e7);
  };
  RankRange range;
  range.nearest = static_cast<int>(std::round(ranks(ratio.value)));
  range.least = static_cast<int>(std::ceil(ranks(ratio.value - ratio.rounding)));
  range.most = static_cast<int>(std::floor(ranks(ratio.value + ratio.rounding)));
  range.least = std::min(range.least, range.nearest);
  range.most = std::max(range.most, range.nearest);
  return range.nearest >= 2 && range.most < 1000 ? range : RankRange{};
}

void add_tables(Measurement& measurement, const std::vector<NcclTable>& tables,
                const MeasuredText& text) {
  std::map<std::string, std::vector<NcclRow>> rows;  // by operation
  std::vector<std::string> operations;
  for (const NcclTable& table : tables) {
    operations.push_back(operation_of(table, text));
    auto& all = rows[operations.back()];
    all.insert(all.end(), table.rows.begin(), table.rows.end());
  }
  std::map<std::string, RankRange> together;
  for (const auto& [operation, all] : rows) together[operation] = ranks_from_ratio(operation, all);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    Series kind;
    kind.operation = operations[i];
    kind.ranks = ranks_of(kind.operation, tables[i], together[kind.operation], text, measurement);
    if (measurement.device.empty()) measurement.device = tables[i].device;
    std::vector<std::string_view> types;
    for (const NcclRow& row : tables[i].rows)
      if (std::find(types.begin(), types.end(), row.type) == types.end()) types.push_back(row.type);
    for (const std::string_view type : types) {
      kind.type = type;
      add_side(measurement, kind, tables[i], false);
      add_side(measurement, kind, tables[i], true);
    }
  }
}

}  // namespace sgdsim
