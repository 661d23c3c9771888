// Logs of the OSU micro-benchmarks: a title, then size and time in columns.
//
//   # OSU MPI Allreduce Latency Test v5.4.0
//   # Size       Avg Latency(us)
//   4                      11.69
//
// Versions and options add columns to the right and comment lines, which do not matter here. The
// point-to-point latency is that of one way; the bandwidth test becomes a time per message, which
// leaves out its start-up. The number of ranks stands nowhere, except in the B-Caffe tables, whose
// first column reads "ranks,size".
#include <cmath>

#include "sim/core/error.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

struct Title {
  std::string operation;
  bool is_bandwidth = false;
};

std::optional<Title> read_title(std::string_view line) {
  if (!line.starts_with("# OSU")) return std::nullopt;
  const std::string text = lower(line);
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  Title title;
  title.is_bandwidth = says("bandwidth");
  title.operation = says("bcast") ? "broadcast" : nccl_operation_in(text);
  if (title.operation.empty() && !says("bi-directional") && !says("barrier") &&
      (says("latency") || title.is_bandwidth))
    title.operation = "copy";
  return title;
}

// Decimals after the point: a last line that has fewer than the others was cut off.
std::size_t decimals(std::string_view word) {
  const std::size_t point = word.find('.');
  return point == std::string_view::npos ? 0 : word.size() - point - 1;
}

class Reader {
 public:
  explicit Reader(const MeasuredText& text) : text_(text) {}

  void line(std::string_view line, bool cut_off) {
    if (const auto title = read_title(line)) {
      title_ = *title;
      return;
    }
    split_words(line, words_);
    if (words_.empty() || words_.front().starts_with('#')) return;
    if (!row(cut_off)) ++dropped_;
  }

  Measurement finish() {
    if (dropped_ > 0)
      measurement_.notes.push_back(dropped_note(dropped_, "neither a comment nor a row"));
    return std::move(measurement_);
  }

 private:
  bool row(bool cut_off) {
    std::string_view size_word = words_.front();
    int ranks = 0;
    if (const std::size_t comma = size_word.find(','); comma != std::string_view::npos) {
      const auto count = whole_word(size_word.substr(0, comma));
      if (!count || *count < 1 || *count > most_measured_ranks) return false;
      ranks = static_cast<int>(*count);
      size_word = size_word.substr(comma + 1);
    }
    const auto size = whole_word(size_word);
    const auto number = words_.size() > 1 ? number_word(words_[1]) : std::nullopt;
    if (!size || !number) return false;
    if (cut_off && words_.size() == 2 && decimals(words_[1]) < decimals_) return false;
    decimals_ = decimals(words_[1]);
    const double us = title_.is_bandwidth ? static_cast<double>(*size) / *number : *number;
    if (const auto time = measured_time(us); time && *size > 0)
      series(ranks).points.push_back({Bytes(*size), *time});
    return true;
  }

  Series& series(int ranks) {
    const std::string operation = text_.operation.empty() ? title_.operation : text_.operation;
    if (operation.empty())
      throw InputError(text_.file, "does not say which operation was measured; give --operation");
    if (ranks == 0) ranks = text_.ranks.value_or(operation == "copy" ? 2 : 0);
    if (ranks == 0)
      throw InputError(text_.file, "OSU logs do not say how many ranks took part; give --ranks");
    auto& all = measurement_.series;
    if (all.empty() || all.back().operation != operation || all.back().ranks != ranks) {
      all.emplace_back();
      all.back().operation = operation;
      all.back().ranks = ranks;
    }
    return all.back();
  }

  const MeasuredText& text_;
  Measurement measurement_;
  Title title_;
  std::vector<std::string_view> words_;
  std::size_t decimals_ = 0;
  int64_t dropped_ = 0;
};

}  // namespace

bool is_osu_log(std::string_view text) {
  return text.starts_with("# OSU") || text.find("\n# OSU") != std::string_view::npos;
}

Measurement osu_log(const MeasuredText& text) {
  Reader reader(text);
  LineReader lines(text.text);
  for (std::string_view line; lines.next(line);) reader.line(line, lines.was_cut_off());
  Measurement measurement = reader.finish();
  measurement.source = "OSU log " + text.file;
  tidy(measurement, text.file);
  return measurement;
}

}  // namespace sgdsim
