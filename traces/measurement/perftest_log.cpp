// What the programs of perftest print (ib_write_bw, ib_send_lat and their likes): a title,
// settings, then rows under words that say what their columns are.
//
//                     RDMA_Write BW Test
//   #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
//   65536      5000           10765.91           8902.73              0.142444
//
//                     Send Latency Test
//   #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]  ...
//   2       1000          1.76           6.12         1.79               1.80         ...
//
// A message goes between two cards. Of latencies the typical one counts, the median: one way of a
// write or a send, there and back of a read. A bandwidth becomes a time per message, which leaves
// out its start-up: many messages are on the way at once. MB (MiB in later
// versions) are 2^20 bytes there, and Gb 10^9 bits. The message rate beside them says the same with
// other digits (a small message has 0.00 Gb/s), so that of both counts which has more; before
// version 5 the rate of two directions is that of one. Of two directions each has half of the
// bandwidth. The test is the note of the series, because a latency and a bandwidth are not the same
// curve; tests whose settings differ ("Number of qps : 8") are curves of their own, too. Launchers
// put prefixes before lines; warnings about clock rates stand between rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/core/error.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr double most_B = 0x1p62;

struct Columns {
  std::size_t prefix = 0;  // words before the first
  std::size_t value = 0;
  double unit_Bps = 0;   // of a bandwidth; 0: the value is a latency in us
  std::size_t rate = 0;  // messages, millions a second; 0: there is none
  std::size_t last = 0;
  bool is_average = false;  // t_avg, for want of t_typical
};

// A number as it was printed, and half a unit of its last digit.
struct Printed {
  double value = 0;
  double error = 0;
};
std::optional<Printed> printed(std::string_view word) {
  const auto value = number_word(word);
  if (!value) return std::nullopt;
  return Printed{*value, std::pow(10., -static_cast<double>(decimals(word))) / 2};
}
Printed operator*(const Printed& number, double factor) {
  return {number.value * factor, number.error * factor};
}
bool agree(const Printed& a, const Printed& b) {
  return std::abs(a.value - b.value) <= (a.error + b.error) * (1 + 1e-9);
}
bool is_finer(const Printed& a, const Printed& b) { return a.error * b.value < b.error * a.value; }

// "RDMA_Write BW Test" as "RDMA_Write BW"; empty if the line is no title.
std::string title_in(std::string_view line) {
  std::vector<std::string_view> words;
  split_words(line, words);
  const auto test = std::find(words.begin(), words.end(), "Test");
  if (test == words.end() || test + 1 != words.end() || words.size() < 3) return "";
  const std::string_view kind = *(test - 1);
  if (kind != "BW" && kind != "Latency") return "";
  auto first = test - 2;
  if (*first == "Bidirectional" && first != words.begin()) --first;
  std::string title;
  for (; first != test; ++first) title += (title.empty() ? "" : " ") + std::string(*first);
  return title;
}

// "average[MiB/sec]" as bytes a second; later versions say MiB of what they always were.
std::optional<double> unit_in(std::string_view word) {
  if (word == "average[MB/sec]" || word == "average[MiB/sec]") return 0x1p20;
  if (word == "average[Gb/sec]") return 1e9 / 8;
  return std::nullopt;
}

// The words of a header: "BW peak[MB/sec]" are one of its columns, and two words.
std::optional<Columns> columns_in(const std::vector<std::string_view>& words) {
  const auto first = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return unprefixed(word) == "#bytes" || word == "#bytes";
  });
  if (first == words.end()) return std::nullopt;
  // Intel's MPI Benchmarks have such columns, too, and repetitions in place of iterations.
  if (first + 1 == words.end() || *(first + 1) != "#iterations") return std::nullopt;
  Columns columns;
  columns.prefix = static_cast<std::size_t>(first - words.begin());
  std::size_t column = 0;
  for (auto word = first + 1; word != words.end(); ++word) {
    const bool goes_on = *word == "BW" || *word == "MsgRate" || *word == "99%" ||
                         *word == "99.9%" || *word == "average";
    if (!goes_on) ++column;
    if (word->starts_with("average[")) {
      const auto unit = unit_in(*word);
      if (!unit) return std::nullopt;
      columns.unit_Bps = *unit;
      columns.value = column;
    }
    const bool is_average =
        *word == "t_avg[usec]" && columns.value == 0;  // with -D there is no other
    if (is_average || *word == "t_typical[usec]") columns.value = column;
    columns.is_average = columns.is_average || is_average;
    if (*word == "MsgRate[Mpps]") columns.rate = column;
  }
  if (columns.value == 0) return std::nullopt;
  columns.last = column;
  return columns;
}

// " Number of qps   : 8		Transport type : IB": two settings of a test, of those that
// are no names of cards and connections alone.
void note_settings(std::string_view line, std::map<std::string, std::string>& settings) {
  constexpr std::array<std::string_view, 19> names{
      "Dual-port", "Device",    "Number of qps",    "Transport type", "Connection type",
      "Using SRQ", "Using DDP", "PCIe relax order", "Lock-free",      "ibv_wr* API",
      "RX depth",  "TX depth",  "CQ Moderation",    "CQE Poll Batch", "Post List",
      "Mtu",       "Link type", "Max inline data",  "Outstand reads"};
  if (line.find(':') == std::string_view::npos) return;
  for (const std::string_view name : names) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (!rest.starts_with(':')) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t", 1), rest.size()));
    const std::string_view value = rest.substr(0, rest.find_first_of(" \t"));
    if (!value.empty()) settings[std::string(name)] = value;
  }
}

class PerftestReader {
 public:
  void line(std::string_view line, const LineReader& lines) {
    split_words(line, words_);
    if (words_.empty()) return;
    if (std::string title = title_in(line); !title.empty()) {
      title_ = std::move(title);
      columns_.reset();
      settings_.clear();
      is_new_table_ = true;
    } else if (const auto columns = columns_in(words_)) {
      columns_ = columns;
    } else if (columns_ && is_row_like()) {
      if (lines.was_cut_off()) drop_cut_word();
      if (!row(lines)) dropped_.add(lines.number());
    } else {
      note_settings(line, settings_);
    }
  }

  Measurement finish() {
    if (is_average_) measurement_.notes.emplace_back("t_avg is read where no t_typical is printed");
    dropped_.tell("broken or cut off within the row", measurement_.notes);
    timeless_.tell(no_time_known, measurement_.notes);
    return std::move(measurement_);
  }

 private:
  std::string_view first() const { return unprefixed(words_[columns_->prefix]); }

  // Two numbers, whatever groups their digits: bytes and iterations.
  bool is_row_like() const {
    const std::size_t at = columns_->prefix;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return words_.size() > at + 1 && !first().empty() && is_digit(first().front()) &&
           is_digit(words_[at + 1].front());
  }

  // Where the file ends within a line the last word may be a part of one. Rows are whole, and no
  // number has fewer than two decimals.
  void drop_cut_word() {
    const bool is_whole = words_.size() > columns_->prefix + columns_->last;
    if (!is_whole || decimals(words_.back()) < std::max<std::size_t>(2, decimals_))
      words_.pop_back();
  }

  std::optional<Printed> column(std::size_t number) const {
    const std::size_t at = columns_->prefix + number;
    return number > 0 && at < words_.size() ? printed(words_[at]) : std::nullopt;
  }

  // Bytes per second of a row of this size.
  double rate_of(double size, const Printed& value, bool is_both_ways) const {
    const Printed bandwidth = value * columns_->unit_Bps;
    const auto rate = column(columns_->rate);
    if (!rate) return bandwidth.value;
    for (const double directions : {1, 2}) {
      const Printed other = *rate * (directions * size * 1e6);
      if (agree(bandwidth, other)) return (is_finer(other, bandwidth) ? other : bandwidth).value;
      if (!is_both_ways) break;
    }
    return bandwidth.value;
  }

  bool row(const LineReader& lines) {
    const auto whole = whole_word(first());
    const auto value = column(columns_->value);
    if (!whole || !value) return false;
    const auto size = static_cast<double>(*whole);
    if (size < 1 || size > most_B) return false;
    decimals_ = decimals(words_.back());
    const bool is_both_ways = title_.find("Bidirectional") != std::string::npos;
    const double us = columns_->unit_Bps > 0 ? (is_both_ways ? 2 : 1) * size /
                                                   rate_of(size, *value, is_both_ways) * 1e6
                                             : value->value;
    if (const auto time = measured_time(us))
      series().points.push_back({Bytes(*whole), *time});
    else
      timeless_.add(lines.number());
    is_average_ = is_average_ || columns_->is_average;
    return true;
  }

  Series& series() {
    auto& all = measurement_.series;
    if (is_new_table_ || all.empty()) {
      all.emplace_back();
      all.back().operation = "copy";
      all.back().ranks = 2;
      all.back().is_of_messages = true;
      all.back().note = title_;
      all.back().is_table = true;
      all.back().settings = settings_;
      is_new_table_ = false;
    }
    return all.back();
  }

  Measurement measurement_;
  std::vector<std::string_view> words_;
  std::string title_;
  std::map<std::string, std::string> settings_;
  bool is_new_table_ = false;
  std::optional<Columns> columns_;
  std::size_t decimals_ = 0;  // of the last word of the row before
  bool is_average_ = false;   // the times of some rows
  DroppedLines dropped_;
  DroppedLines timeless_;
};

}  // namespace

bool is_perftest_log(std::string_view text) {
  LineReader lines(text);
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    if (line.find("#bytes") == std::string_view::npos) continue;
    split_words(line, words);
    if (columns_in(words)) return true;
  }
  return false;
}

Measurement perftest_log(const MeasuredText& text) {
  return read_lines(PerftestReader(), text, "perftest");
}

}  // namespace sgdsim
