// The tables that nccl-tests (NVIDIA) and rccl-tests (AMD) print, in all their layouts.
//
//   size  count  type [redop] [root]   time algbw busbw #wrong   time algbw busbw #wrong
//
// Columns come and go between versions and tests, launchers put prefixes before every line, and
// other processes print in between. So a row is searched anywhere in a line: two whole numbers and
// a type, an operator or not, a root or not, then two sides of 4 fields (8 with -I 1), the time of
// day after them with -S 1. A line that begins like a row and does not end like one is dropped and
// counted; so is one whose time and bandwidth contradict each other. A smaller size than before
// starts a new table. Sizes are those of the program: K is 1024 there, but rows are plain bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::array<std::string_view, 17> types{
    "int8",   "uint8",    "int32",    "uint32",   "int64",  "uint64", "half", "float", "double",
    "float8", "bfloat16", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "char", "f8"};
constexpr std::array<std::string_view, 8> operators{"sum", "prod", "max",    "min",
                                                    "avg", "none", "mulsum", "all"};

template <class List>
bool is_one_of(std::string_view word, const List& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
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

enum class Reading { other, row, broken };

std::optional<NcclSide> side_at(const Words& words, std::size_t from) {
  NcclSide side;
  const std::array<double*, 3> places{&side.time_us, &side.algbw_GBps, &side.busbw_GBps};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto number = field(words[from + i]);
    if (!number) return std::nullopt;
    if (i < 3) *places[i] = *number;
  }
  return side;
}

// The sides, from word `at` to the end of the line.
Reading read_sides(const Words& words, std::size_t at, NcclRow& row) {
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
  if (side != 4 && side != 8) return Reading::broken;
  for (std::size_t i = at; i < end; ++i)
    if (!field(words[i])) return Reading::broken;
  const auto out_of_place = side_at(words, at);
  const auto in_place = side_at(words, at + side);
  if (!out_of_place || !in_place) return Reading::broken;
  row.out_of_place = *out_of_place;
  row.in_place = *in_place;
  return Reading::row;
}

Reading read_row(const Words& words, NcclRow& row) {
  for (std::size_t at = 0; at + 2 < words.size(); ++at) {
    if (!is_one_of(words[at + 2], types)) continue;
    const auto size = whole_word(words[at]);
    if (!size || !whole_word(words[at + 1])) continue;
    row.size_B = *size;
    row.type = words[at + 2];
    return read_sides(words, at + 3, row);
  }
  return Reading::other;
}

// Whether size / time is the bandwidth that stands beside it, to the digits printed.
bool agrees(int64_t size_B, const NcclSide& side) {
  if (side.time_us <= 0 || side.algbw_GBps < 0.1) return true;
  const double GBps = static_cast<double>(size_B) / side.time_us / 1e3;
  return std::abs(GBps - side.algbw_GBps) <= 0.02 * GBps + 0.006;
}

// Rows whose numbers contradict each other were broken by another process' print. If most do, it is
// the convention that differs, and they stay.
int64_t drop_contradictions(NcclTable& table) {
  auto wrong = [](const NcclRow& row) {
    return !agrees(row.size_B, row.out_of_place) || !agrees(row.size_B, row.in_place);
  };
  const auto count = std::count_if(table.rows.begin(), table.rows.end(), wrong);
  if (2 * count > static_cast<std::ptrdiff_t>(table.rows.size())) return 0;
  std::erase_if(table.rows, wrong);
  return count;
}

// "#  Rank  0 Group  0 Pid 112424 on  localhost device  0 [0000:0f:00] NVIDIA H100 80GB HBM3"
struct DeviceLine {
  int64_t rank = 0;
  std::string name;
};
std::optional<DeviceLine> read_device(std::string_view line, const Words& words) {
  const auto found = std::find(words.begin(), words.end(), "Rank");
  if (found == words.end() || found + 1 == words.end()) return std::nullopt;
  const bool is_list = std::find(words.begin(), words.end(), "Pid") != words.end() ||
                       std::find(words.begin(), words.end(), "device") != words.end();
  const auto rank = whole_word(*(found + 1));
  if (!is_list || !rank) return std::nullopt;
  DeviceLine device{*rank, {}};
  if (const std::size_t bracket = line.rfind("] "); bracket != std::string_view::npos)
    device.name = line.substr(bracket + 2);
  while (device.name.ends_with(' ')) device.name.pop_back();
  return device;
}

// Goes down the log and closes a table where the next one begins.
class Reader {
 public:
  explicit Reader(const MeasuredText& text) : text_(text) {}

  void line(std::string_view line) {
    split_words(line, words_);
    NcclRow row;
    switch (read_row(words_, row)) {
      case Reading::row:
        if (!table_.rows.empty() && row.size_B < table_.rows.back().size_B) close_table();
        table_.rows.push_back(row);
        return;
      case Reading::broken:
        ++broken_;
        return;
      case Reading::other:
        remark(line);
    }
  }

  Measurement finish() {
    close_table();
    add_tables(measurement_, tables_, text_);
    if (broken_ > 0)
      measurement_.notes.push_back(dropped_note(broken_, "broken or cut off within the row"));
    if (contradicting_ > 0)
      measurement_.notes.push_back(
          dropped_note(contradicting_, "time and bandwidth contradict each other"));
    return std::move(measurement_);
  }

 private:
  void remark(std::string_view line) {
    if (const auto device = read_device(line, words_)) {
      if (!table_.rows.empty()) close_table();
      if (device->rank == 0) ranks_.clear();  // another list
      ranks_.insert(device->rank);
      device_ = device->name;
    } else if (const std::size_t at = line.find("_perf"); at != std::string_view::npos) {
      const std::size_t from = line.find_last_of(" /\t", at);
      const std::string operation =
          nccl_operation_in(line.substr(from == std::string_view::npos ? 0 : from + 1, at - from));
      if (operation.empty()) return;
      if (!table_.rows.empty()) close_table();
      operation_ = operation;
    }
  }

  void close_table() {
    table_.operation = operation_;
    table_.listed_ranks = static_cast<int>(ranks_.size());
    table_.device = device_;
    contradicting_ += drop_contradictions(table_);
    if (!table_.rows.empty()) tables_.push_back(std::move(table_));
    table_ = {};
  }

  const MeasuredText& text_;
  Measurement measurement_;
  NcclTable table_;
  std::vector<NcclTable> tables_;
  Words words_;
  std::string operation_;
  std::set<int64_t> ranks_;
  std::string device_;
  int64_t broken_ = 0;
  int64_t contradicting_ = 0;
};

}  // namespace

bool is_nccl_tests_log(std::string_view text) {
  LineReader lines(text);
  Words words;
  NcclRow row;
  for (std::string_view line; lines.next(line);) {
    split_words(line, words);
    if (read_row(words, row) != Reading::other) return true;
  }
  return false;
}

Measurement nccl_tests_log(const MeasuredText& text) {
  Reader reader(text);
  LineReader lines(text.text);
  for (std::string_view line; lines.next(line);) reader.line(line);
  Measurement measurement = reader.finish();
  measurement.source = "nccl-tests log " + text.file;
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
