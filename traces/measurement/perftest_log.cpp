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
// out its start-up: many messages are on the way at once. MB are 2^20 bytes there, and Gb 10^9
// bits, as the message rate beside them confirms. Of two directions each has half of the bandwidth.
// The test is the note of the series, because a latency and a bandwidth are not the same curve.
// Launchers put prefixes before lines; warnings about clock rates stand between rows.
#include <algorithm>

#include "sim/core/error.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr double most_B = 0x1p62;

struct Columns {
  std::size_t prefix = 0;  // words before the first
  std::size_t value = 0;
  double unit_Bps = 0;  // of a bandwidth; 0: the value is a latency in us
};

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

// The words of a header: "BW peak[MB/sec]" are one of its columns, and two words.
std::optional<Columns> columns_in(const std::vector<std::string_view>& words) {
  const auto first = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return unprefixed(word) == "#bytes" || word == "#bytes";
  });
  if (first == words.end()) return std::nullopt;
  Columns columns;
  columns.prefix = static_cast<std::size_t>(first - words.begin());
  std::size_t column = 0;
  for (auto word = first + 1; word != words.end(); ++word) {
    const bool goes_on = *word == "BW" || *word == "99%" || *word == "99.9%";
    if (!goes_on) ++column;
    if (*word == "average[MB/sec]") columns = {columns.prefix, column, 0x1p20};
    if (*word == "average[Gb/sec]") columns = {columns.prefix, column, 1e9 / 8};
    if (*word == "t_typical[usec]") columns = {columns.prefix, column, 0};
  }
  if (columns.value == 0) return std::nullopt;
  return columns;
}

class PerftestReader {
 public:
  void line(std::string_view line) {
    split_words(line, words_);
    if (words_.empty()) return;
    if (std::string title = title_in(line); !title.empty()) {
      title_ = std::move(title);
      columns_.reset();
    } else if (const auto columns = columns_in(words_)) {
      columns_ = columns;
    } else if (columns_ && is_row_like()) {
      if (!row()) ++dropped_;
    }
  }

  Measurement finish() {
    if (dropped_ > 0)
      measurement_.notes.push_back(dropped_note(dropped_, "broken or cut off within the row"));
    return std::move(measurement_);
  }

 private:
  std::string_view first() const { return unprefixed(words_[columns_->prefix]); }

  // Two whole numbers: bytes and iterations.
  bool is_row_like() const {
    const std::size_t at = columns_->prefix;
    return words_.size() > at + 1 && whole_word(first()) && whole_word(words_[at + 1]);
  }

  bool row() {
    const std::size_t at = columns_->prefix + columns_->value;
    if (words_.size() <= at) return false;
    const auto size = whole_word(first());
    const auto value = number_word(words_[at]);
    if (!value || *size < 1 || static_cast<double>(*size) > most_B) return false;
    const bool is_both_ways = title_.find("Bidirectional") != std::string::npos;
    const double at_once = is_both_ways ? 2 : 1;
    const double us = columns_->unit_Bps > 0 ? at_once * static_cast<double>(*size) /
                                                   (*value * columns_->unit_Bps) * 1e6
                                             : *value;
    const auto time = measured_time(us);
    if (!time) return false;
    series().points.push_back({Bytes(*size), *time});
    return true;
  }

  Series& series() {
    auto& all = measurement_.series;
    if (all.empty() || all.back().note != title_) {
      all.emplace_back();
      all.back().operation = "copy";
      all.back().ranks = 2;
      all.back().is_of_messages = true;
      all.back().note = title_;
    }
    return all.back();
  }

  Measurement measurement_;
  std::vector<std::string_view> words_;
  std::string title_;
  std::optional<Columns> columns_;
  int64_t dropped_ = 0;
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
  PerftestReader reader;
  LineReader lines(text.text);
  for (std::string_view line; lines.next(line);) reader.line(line);
  Measurement measurement = reader.finish();
  measurement.source = "perftest log " + text.file;
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
