// The tables that nccl-tests (NVIDIA) and rccl-tests (AMD) print, in all their layouts.
//
//   size  count  type [redop] [root]   time algbw busbw #wrong   time algbw busbw #wrong
//
// Columns come and go between versions and tests, launchers put prefixes before every line, and
// other processes print in between. So a row is searched anywhere in a line: two whole numbers and
// a type, an operator or not, a root or not, then two sides of 4 fields (8 with -I 1; one more,
// #bitdiff, where repeated runs are compared), the time of day after them with -S 1. A header says
// where in a side of that many fields its numbers stand. With -C 1 the time, "cputime", is that of
// the host that enqueues, and size / algbw takes its place. A line that begins like a row and does
// not end like one is dropped and counted; so is one whose time and bandwidth contradict each
// other, or whose results are wrong. A smaller size than before starts a new table. Tests that are
// no operation known here are left out, and counted. Sizes are those of the program: K is 1024
// there, but rows are plain bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/run_command.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::array<std::string_view, 18> types{
    "int8",   "uint8",    "int32",    "uint32",   "int64",  "uint64", "half", "float", "double",
    "float8", "bfloat16", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "char", "f8",    "int"};
constexpr std::array<std::string_view, 8> operators{"sum", "prod", "max",    "min",
                                                    "avg", "none", "mulsum", "all"};

template <class Value, class List>
bool is_one_of(const Value& value, const List& list) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_time_of_day(std::string_view word) {
  return std::count(word.begin(), word.end(), ':') >= 2 ||
         (word.size() == 10 && word[4] == '-' && word[7] == '-');
}

// A number, or N/A, as 0; empty if the word is neither. nccl-tests prints i_cv% as a plain number.
std::optional<double> field(std::string_view word) {
  if (word == "N/A" || word == "nan" || word == "-nan") return 0;
  if (word.ends_with('%')) word.remove_suffix(1);
  if (word.starts_with('-') && number_word(word.substr(1))) return 0;
  return number_word(word);
}

enum class Reading { other, row, broken, wrong };

// Where the numbers of a side stand, which begins with the time.
struct SideColumns {
  std::size_t count = 0;  // of a side; 0: no header said
  std::size_t algbw = 1;
  std::size_t busbw = 2;
  std::size_t wrong = 3;
  bool has_cpu_time = false;
};

// "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong".
std::optional<SideColumns> side_columns_in(const Words& words) {
  const auto is_time = [](std::string_view word) { return word == "time" || word == "cputime"; };
  const auto first = std::find_if(words.begin(), words.end(), is_time);
  if (first == words.end()) return std::nullopt;
  const auto second = std::find_if(first + 1, words.end(), is_time);
  const auto place_of = [&](std::initializer_list<std::string_view> names) {
    return static_cast<std::size_t>(std::find_first_of(first, second, names.begin(), names.end()) -
                                    first);
  };
  SideColumns columns;
  columns.count = static_cast<std::size_t>(second - first);
  columns.algbw = place_of({"algbw"});
  columns.busbw = place_of({"busbw"});
  columns.wrong = place_of({"#wrong", "error", "res"});
  columns.has_cpu_time = *first == "cputime";
  const bool has_all = std::max({columns.algbw, columns.busbw, columns.wrong}) < columns.count;
  return second != words.end() && has_all ? std::optional(columns) : std::nullopt;
}

// Nothing takes less than no time; what was not done is N/A, or 0.
bool has_time(std::string_view word) {
  return word == "N/A" || number_word(word).value_or(-1) >= 0;
}

// All of its words are numbers.
NcclSide side_at(const Words& words, std::size_t from, const SideColumns& columns) {
  return {field(words[from]).value_or(0), field(words[from + columns.algbw]).value_or(0),
          field(words[from + columns.busbw]).value_or(0)};
}

// Values are counted, millions of them as 3.3e+07; versions before 2.13 print the largest error
// there, as 1e-06.
bool is_wrong(std::string_view word) { return number_word(word).value_or(0) >= 1; }

// The sides, from word `at` to the end of the line.
Reading read_sides(const Words& words, std::size_t at, const SideColumns& header, LogRow& row) {
  std::size_t end = words.size();
  while (end > at && is_time_of_day(words[end - 1])) --end;
  if (at < end && is_one_of(words[at], operators)) {
    row.has_operator = words[at] != "none";
    ++at;
  }
  if ((end - at) % 2 == 1) {
    const std::string_view root = words[at];
    if (!whole_word(root.starts_with('-') ? root.substr(1) : root)) return Reading::broken;
    ++at;
  }
  const std::size_t side = (end - at) / 2;
  constexpr std::array<std::size_t, 4> usual{4, 5, 8, 9};
  const bool is_under_header = side > 0 && side == header.count;
  if (side < header.count) return Reading::broken;  // cut off
  if (!is_under_header && !is_one_of(side, usual)) return Reading::broken;
  const SideColumns columns = is_under_header ? header : SideColumns{};
  for (std::size_t i = at; i < end; ++i)
    if (!field(words[i])) return Reading::broken;
  if (!has_time(words[at]) || !has_time(words[at + side])) return Reading::broken;
  const std::size_t wrong = at + columns.wrong;
  if (is_wrong(words[wrong]) || is_wrong(words[wrong + side])) return Reading::wrong;
  row.out_of_place = side_at(words, at, columns);
  row.in_place = side_at(words, at + side, columns);
  return Reading::row;
}

// "1,048,576" is none that is read, but where a number stands.
bool is_like_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.,'_") == std::string_view::npos;
}

Reading read_row(const Words& words, const SideColumns& header, LogRow& row) {
  for (std::size_t at = 0; at + 2 < words.size(); ++at) {
    if (!is_one_of(words[at + 2], types)) continue;
    const std::string_view size_word = unprefixed(words[at]);
    if (!is_like_number(size_word) || !is_like_number(words[at + 1])) continue;
    const auto size = whole_word(size_word);
    if (!size || !whole_word(words[at + 1])) return Reading::broken;
    row.size_B = *size;
    row.type = words[at + 2];
    return read_sides(words, at + 3, header, row);
  }
  return Reading::other;
}

// Whether size / time is the bandwidth that stands beside it, to the digits printed: two decimals
// of either, three of a time in milliseconds.
bool agrees(int64_t size_B, const NcclSide& side, double unit_us) {
  if (side.time_us <= 0 || side.algbw_GBps < 0.1) return true;
  const double GBps = static_cast<double>(size_B) / (side.time_us * unit_us) / 1e3;
  const double last_digit = (unit_us > 1 ? 0.0005 : 0.005) / side.time_us;
  return std::abs(GBps - side.algbw_GBps) <= (0.02 + last_digit) * GBps + 0.006;
}
bool agrees(const LogRow& row, double unit_us) {
  return agrees(row.size_B, row.out_of_place, unit_us) && agrees(row.size_B, row.in_place, unit_us);
}

// Before version 2.0.1 times were milliseconds, under the words "bytes N type op time". The rows
// say it themselves where they are long enough.
void to_microseconds(LogTable& table, bool under_old_words) {
  constexpr double ms_us = 1000;
  const auto count = [&](double unit_us, double other_us) {
    return std::count_if(table.rows.begin(), table.rows.end(), [&](const LogRow& row) {
      return agrees(row, unit_us) && !agrees(row, other_us);
    });
  };
  const auto in_us = count(1, ms_us);
  const auto in_ms = count(ms_us, 1);
  if (in_ms < in_us || (in_ms == in_us && !under_old_words)) return;
  for (LogRow& row : table.rows) {
    row.out_of_place.time_us *= ms_us;
    row.in_place.time_us *= ms_us;
  }
}

// Rows whose numbers contradict each other were broken by another process' print. If most do, it is
// the convention that differs, and they stay.
void drop_contradictions(LogTable& table, DroppedLines& dropped) {
  const auto wrong = [](const LogRow& row) { return !agrees(row, 1); };
  const auto count = std::count_if(table.rows.begin(), table.rows.end(), wrong);
  if (2 * count > static_cast<std::ptrdiff_t>(table.rows.size())) return;
  for (const LogRow& row : table.rows)
    if (wrong(row)) dropped.add(row.line);
  std::erase_if(table.rows, wrong);
}

// "#  Rank  0 Group  0 Pid 112424 on  localhost device  0 [0000:0f:00] NVIDIA H100 80GB HBM3", and
// in the oldest logs "#   Device  0 ->  0 [0x0a] GeForce GTX TITAN X".
struct DeviceLine {
  int64_t rank = 0;
  std::string name;
  std::string host = {};  // empty: not stated
  int64_t group = 0;      // a communicator of its own
};
std::optional<DeviceLine> read_device(std::string_view line, const Words& words) {
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool is_old = has("Device") && has("->");
  const auto found = std::find(words.begin(), words.end(), is_old ? "Device" : "Rank");
  if (found == words.end() || found + 1 == words.end()) return std::nullopt;
  const bool is_list = is_old || has("Pid") || has("device");
  const auto rank = whole_word(*(found + 1));
  if (!is_list || !rank) return std::nullopt;
  DeviceLine device{*rank, {}};
  const auto on = std::find(found, words.end(), "on");
  if (on != words.end() && on + 1 != words.end()) device.host = *(on + 1);
  const auto group = std::find(found, words.end(), "Group");
  if (group != words.end() && group + 1 != words.end())
    device.group = whole_word(*(group + 1)).value_or(0);
  if (const std::size_t bracket = line.rfind("] "); bracket != std::string_view::npos)
    device.name = line.substr(bracket + 2);
  while (device.name.ends_with(' ')) device.name.pop_back();
  return device;
}

// Goes down the log and closes a table where the next one begins.
class Reader {
 public:
  explicit Reader(const MeasuredText& text) : text_(text) {}

  void line(std::string_view line, const LineReader& lines) {
    split_words(line, words_);
    LogRow row;
    row.line = lines.number();
    switch (read_row(words_, columns_, row)) {
      case Reading::row:
        if (!table_.rows.empty() && row.size_B < table_.rows.back().size_B) close_table();
        table_.rows.push_back(row);
        has_run_ = true;
        return;
      case Reading::broken:
        (line.find(" NCCL INFO ") != line.npos ? mixed_ : broken_).add(lines.number());
        return;
      case Reading::wrong:
        wrong_.add(lines.number());
        return;
      case Reading::other:
        remark(line);
    }
  }

  Measurement finish() {
    close_table();
    add_tables(measurement_, tables_, text_);
    broken_.tell("broken or cut off within the row", measurement_.notes);
    mixed_.tell(
        "NCCL printed within the row; run again with NCCL_DEBUG=WARN, or with NCCL_DEBUG_FILE",
        measurement_.notes);
    wrong_.tell(wrong_results, measurement_.notes);
    coarse_.tell(coarse_bandwidth, measurement_.notes);
    contradicting_.tell("time and bandwidth contradict each other", measurement_.notes);
    for (const auto& [test, rows] : unknown_rows_)
      measurement_.notes.push_back(
          dropped_note(rows, test + " is no operation known here; --operation says which"));
    return std::move(measurement_);
  }

 private:
  void remark(std::string_view line) {
    note_settings(line);
    if (const auto device = read_device(line, words_)) {
      if (!table_.rows.empty()) close_table();
      if (device->rank == 0) devices_.clear();  // another list
      devices_[device->rank] = *device;
      device_ = device->name;
    } else if (const std::string_view test = test_in(line); !test.empty()) {
      const std::string operation = nccl_operation_in(test);
      const bool is_title = line.find("Collective test starting:") != std::string_view::npos;
      if (operation.empty() && !is_title) return;
      if (!table_.rows.empty()) close_table();
      operation_ = operation;
      unknown_test_ = operation.empty() ? test : "";
    } else {
      header();
    }
  }

  // The command of a run, its "# nThread 1 nGpus 8 ... agg iters: 1 ... graph: 0", and what NCCL
  // says of its variables. What stood before another run is of that one.
  void note_settings(std::string_view line) {
    note_variable(line);
    const auto command = run_command_in(words_, "_perf");
    const bool is_head = line.find(" nThread ") != line.npos;
    if (!command && !is_head) return;
    if (!table_.rows.empty()) close_table();
    if (std::exchange(has_run_, false)) settings_.clear();
    if (command) settings_[command_setting] = command->text;
    for (std::size_t i = 1; is_head && i + 1 < words_.size(); ++i) {
      if (words_[i] == "nThread" || words_[i] == "nGpus" || words_[i] == "graph:")
        settings_[std::string(words_[i])] = words_[i + 1];
      if (words_[i - 1] == "agg" && words_[i] == "iters:") settings_["agg iters:"] = words_[i + 1];
    }
  }

  // "NCCL INFO NCCL_ALGO set by environment to Ring."
  void note_variable(std::string_view line) {
    constexpr std::array<std::string_view, 8> names{
        "NCCL_ALGO",        "NCCL_PROTO",       "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
        "NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE",   "NCCL_IB_DISABLE"};
    constexpr std::string_view says = " set by environment to ";
    const std::size_t at = line.find(says);
    if (at == line.npos) return;
    const auto name = std::find_first_of(words_.begin(), words_.end(), names.begin(), names.end());
    std::string_view value = line.substr(at + says.size());
    while (value.ends_with('.') || value.ends_with(' ')) value.remove_suffix(1);
    if (name != words_.end()) settings_[std::string(*name)] = value;
  }

  void header() {
    if (const auto columns = side_columns_in(words_)) {
      if (columns->has_cpu_time != columns_.has_cpu_time && !table_.rows.empty()) close_table();
      columns_ = *columns;
    }
    if (std::find(words_.begin(), words_.end(), "res") != words_.end())
      old_words_ = true;
    else if (std::find(words_.begin(), words_.end(), "(us)") != words_.end())
      old_words_ = false;
  }

  // "all_reduce_perf", or, of version 1, "all_reduce_test".
  static std::string_view test_in(std::string_view line) {
    for (const std::string_view end : {"_perf", "_test"}) {
      const std::size_t at = line.find(end);
      if (at == std::string_view::npos) continue;
      const std::size_t from = line.find_last_of(" /\t", at) + 1;  // 0 if there is none
      return line.substr(from, at + end.size() - from);
    }
    return {};
  }

  // Rank 0 prints the rows, which are those of its group.
  void list_devices() {
    std::set<int64_t> groups;
    std::set<std::string_view> hosts;
    for (const auto& [rank, device] : devices_) {
      groups.insert(device.group);
      if (device.group != devices_.begin()->second.group) continue;
      ++table_.listed_ranks;
      if (!device.host.empty()) hosts.insert(device.host);
    }
    table_.listed_nodes = static_cast<int>(hosts.size());
    table_.listed_groups = static_cast<int>(groups.size());
  }

  void close_table() {
    table_.operation = operation_;
    table_.device = device_;
    table_.has_cpu_time = columns_.has_cpu_time;
    table_.settings = settings_;
    list_devices();
    if (!unknown_test_.empty() && text_.operation.empty()) {
      unknown_rows_[unknown_test_] += static_cast<int64_t>(table_.rows.size());
      table_.rows.clear();
    }
    constexpr double two_decimals_GBps = 0.005;
    take_times_of_bandwidths(table_, two_decimals_GBps, coarse_);
    to_microseconds(table_, old_words_);
    drop_contradictions(table_, contradicting_);
    if (!table_.rows.empty()) tables_.push_back(std::move(table_));
    table_ = {};
  }

  const MeasuredText& text_;
  Measurement measurement_;
  LogTable table_;
  std::vector<LogTable> tables_;
  Words words_;
  std::map<std::string, std::string> settings_;
  bool has_run_ = false;  // a row stands behind them
  std::string operation_;
  std::string unknown_test_;  // instead of it
  std::map<std::string, int64_t> unknown_rows_;
  bool old_words_ = false;
  SideColumns columns_;
  std::map<int64_t, DeviceLine> devices_;  // by rank
  std::string device_;
  DroppedLines broken_;
  DroppedLines mixed_;
  DroppedLines wrong_;
  DroppedLines coarse_;
  DroppedLines contradicting_;
};

}  // namespace

bool is_nccl_tests_log(std::string_view text) {
  LineReader lines(text);
  Words words;
  LogRow row;
  for (std::string_view line; lines.next(line);) {
    split_words(line, words);
    if (read_row(words, {}, row) != Reading::other) return true;
  }
  return false;
}

Measurement nccl_tests_log(const MeasuredText& text) {
  return read_lines(Reader(text), text, "nccl-tests");
}

}  // namespace sgdsim
