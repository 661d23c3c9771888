// What the tables of nccl-tests and rccl-tests have in common with their JSON: rows of two sides,
// the name of the test, and the number of ranks, which stands in no row.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/measurement/measurement.h"
#include "traces/measurement/words.h"

namespace sgdsim {

// One side of a row. Bandwidths are decimal GB/s; busbw is algbw times a factor of the number of
// ranks: 2(n-1)/n for all-reduce, (n-1)/n where every rank keeps a part of its own, 1 elsewhere.
struct NcclSide {
  double time_us = 0;  // 0: not measured
  double algbw_GBps = 0;
  double busbw_GBps = 0;
};

struct LogRow {
  int64_t line = 0;  // of the log; 0: not known
  int64_t size_B = 0;
  std::string_view type;
  bool has_operator = false;  // names sum, max, ...
  NcclSide out_of_place;
  NcclSide in_place;
};

// A table with the rows of one run, and what was said before it.
struct LogTable {
  std::string operation;      // empty: not stated
  int listed_ranks = 0;       // devices that the log lists, of the first group; 0: none
  int listed_nodes = 0;       // hosts that it lists them on
  int listed_groups = 0;      // that measured at the same time, each a communicator of its own
  bool has_cpu_time = false;  // with -C 1: its times are of the host that enqueues
  std::string device;
  std::map<std::string, std::string> settings;  // what else the log says of the run
  std::vector<LogRow> rows;
};

// The operation of a program or file that is named after it ("all_reduce_perf", "AllReduce"), empty
// if none is.
std::string nccl_operation_in(std::string_view text);

// The numbers of ranks that busbw / algbw allows, as printed, in most of the rows; 0 to 0 if the
// rows do not say, or leave a factor of two open. At 100 GB/s two decimals tell 64 ranks from 65,
// and 256 not from 250.
struct RankRange {
  int nearest = 0;
  int least = 0;
  int most = 0;
  bool allows(int ranks) const { return nearest > 0 && ranks >= least && ranks <= most; }
};
RankRange ranks_from_ratio(const std::string& operation, const std::vector<LogRow>& rows);

// The bandwidths of a table whose times are the host's are those of the whole operation: size /
// algbw takes the place of its times. Rows whose algbw, rounded by up to `rounding_GBps`, does not
// say it to 1 % are dropped.
void take_times_of_bandwidths(LogTable& table, double rounding_GBps, DroppedLines& coarse);
inline constexpr char coarse_bandwidth[] =
    "only the time of the host (-C 1), and too few digits of algbw to tell the whole time";

// Why rows are dropped that were checked and failed.
inline constexpr char wrong_results[] = "its results are wrong (#wrong is not 0)";

// Adds the two series of each table. Finds out what a table leaves open, also from the others of
// the same operation: rows that are out of order look like many tables. What contradicts itself
// becomes a note. InputError if the operation or the number of ranks cannot be known.
void add_tables(Measurement& measurement, const std::vector<LogTable>& tables,
                const MeasuredText& text);

}  // namespace sgdsim
