// Logs of the OSU micro-benchmarks: a title, then size and time in columns.
//
//   # OSU MPI Allreduce Latency Test v5.4.0
//   # Size       Avg Latency(us)
//   4                      11.69
//
// Versions and options add columns to the right and comment lines, which do not matter here; commas
// may stand between columns, and a launcher's prefix before every line. The point-to-point latency
// is that of one way; a bandwidth becomes a time per message, which leaves out its start-up. Of a
// non-blocking collective the time of its communication alone counts. Sizes are per rank where
// every rank has a part of its own (reduce-scatter apart), and become those of all ranks. The
// number of ranks stands nowhere, except in the B-Caffe tables, whose first column reads
// "ranks,size", and in the command before a table, where a shell shows it; tests of single messages
// are among two. Reduce_local sends nothing, and is left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/core/error.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/run_command.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

struct Title {
  std::string text;
  std::string operation;  // empty: none that is known here
  std::string kind;       // "Bandwidth", "Non-blocking"; empty: the usual latency of the operation
  std::string buffers;    // " from D to H", of a device and of a host; empty: not stated
  bool is_bandwidth = false;
  bool is_local = false;  // the reduction alone, within a rank
  double at_once = 1;     // so many messages share the bandwidth
};

// What else stands in the title of a test of single messages: "# OSU MPI-CUDA Latency Test v7.0".
bool names_messages(const std::vector<std::string_view>& words) {
  constexpr std::array<std::string_view, 11> known{
      "bi-directional", "multi",   "multi-threaded", "multi-process", "multiple", "persistent",
      "pt2pt",          "mpi_put", "mpi_get",        "xccl",          "nccl"};
  for (const std::string_view word : words) {
    if (word == "latency" || word == "bandwidth") return true;
    const bool is_library = word == "mpi" || word.starts_with("mpi-") || word.starts_with("nccl-");
    if (!is_library && std::find(known.begin(), known.end(), word) == known.end()) return false;
  }
  return false;
}

// What tells tests of one operation apart, each of which has a curve of its own: the words of a
// title but for its program, its version and what is said of every one.
std::string kind_in(std::string_view text) {
  constexpr std::array<std::string_view, 16> usual{
      "osu",          "test",      "latency",        "allreduce", "reduce",   "bcast",
      "broadcast",    "allgather", "gather",         "scatter",   "alltoall", "all-to-all",
      "personalized", "exchange",  "reduce_scatter", "-"};
  std::vector<std::string_view> words;
  split_words(text, words);
  std::string kind;
  for (const std::string_view word : words) {
    const std::string plain = lower(std::string(word));
    const bool is_version =
        plain.size() > 1 && plain[0] == 'v' && plain[1] >= '0' && plain[1] <= '9';
    if (plain.starts_with("mpi-")) {  // "MPI-CUDA": in the memory of a GPU
      kind += (kind.empty() ? "" : " ") + std::string(word.substr(4));
      continue;
    }
    if (is_version || plain == "mpi" || std::find(usual.begin(), usual.end(), plain) != usual.end())
      continue;
    kind += (kind.empty() ? "" : " ") + std::string(word);
  }
  return kind;
}

Title read_title(std::string_view line) {
  Title title;
  title.text = line.substr(line.find("OSU"));
  const std::string text = lower(title.text);
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  title.is_bandwidth = says("bandwidth");
  if (says("bi-directional")) title.at_once = 2;
  std::vector<std::string_view> words;
  split_words(std::string_view(text).substr(3), words);
  if (says("neighbor")) return title;  // of neighbours only
  title.is_local = says("reduce_local");
  title.operation = says("bcast") ? "broadcast" : nccl_operation_in(text);
  if (title.operation.empty() && names_messages(words)) title.operation = "copy";
  title.kind = kind_in(title.text);
  return title;
}

// "osu_latency -d cuda D H", as a shell shows it: in whose memory the message is.
std::string buffers_in(const std::vector<std::string_view>& words) {
  constexpr std::array<std::string_view, 5> places{"D", "H", "M", "MD", "MH"};
  const auto is_place = [&](std::string_view word) {
    return std::find(places.begin(), places.end(), word) != places.end();
  };
  const auto is_test = [](std::string_view word) { return word.find("osu_") != word.npos; };
  const std::size_t n = words.size();
  if (n < 3 || !is_place(words[n - 2]) || !is_place(words[n - 1])) return "";
  if (std::none_of(words.begin(), words.end(), is_test)) return "";
  return " from " + std::string(words[n - 2]) + " to " + std::string(words[n - 1]);
}

// Whether OSU's size is that of one rank's part.
bool is_per_rank(const std::string& operation) {
  return operation == "allgather" || operation == "alltoall" || operation == "gather" ||
         operation == "scatter";
}

class OsuReader {
 public:
  explicit OsuReader(const MeasuredText& text) : text_(text) {}

  void line(std::string_view line, const LineReader& lines) {
    if (const std::size_t at = line.find("# OSU "); at != std::string_view::npos) {
      title_ = read_title(line);
      title_.buffers = std::exchange(shell_buffers_, "");
      command_ = std::exchange(shell_command_, RunCommand{});
      settings_.clear();
      if (!command_.text.empty()) settings_[command_setting] = command_.text;
      is_new_table_ = true;
      has_local_ = has_local_ || title_.is_local;
      time_column_ = 1;
      split_words(line.substr(0, at), words_);
      const bool is_glued = at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t';
      prefix_words_ = words_.size() - (is_glued ? 1 : 0);
      return;
    }
    split_words(line, words_);
    words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min(prefix_words_, words_.size())));
    if (words_.empty()) return;
    words_.front() = unprefixed(words_.front());
    if (words_.front().starts_with('#')) return comment();
    if (std::string buffers = buffers_in(words_); !buffers.empty())
      shell_buffers_ = std::move(buffers);
    if (auto command = run_command_in(words_, "osu_")) {
      shell_command_ = std::move(*command);
      return;
    }
    if (title_.is_local) return;
    split_at_commas();
    if (is_wrong()) return wrong_.add(lines.number());
    if (!row(lines)) dropped_.add(lines.number());
  }

  Measurement finish() {
    dropped_.tell("neither a comment nor a row", measurement_.notes);
    wrong_.tell("its results are wrong (Fail)", measurement_.notes);
    timeless_.tell(no_time_known, measurement_.notes);
    if (has_local_) measurement_.notes.push_back(left_out + std::string("Reduce_local"));
    if (!doubtful_.empty() && !surely_ranks_)
      throw InputError(text_.file, "\"" + doubtful_ +
                                       "\" may be a number of ranks and a size, or one size: write "
                                       "sizes without separators, and give ranks with --ranks");
    settle_ranks();
    if (!overruled_.empty()) measurement_.notes.push_back(overruled_);
    if (unknown_ > 0)
      measurement_.notes.push_back(
          dropped_note(unknown_, "\"" + unknown_title_ +
                                     "\" does not say which operation was measured; give "
                                     "--operation"));
    return std::move(measurement_);
  }

 private:
  // "# Size  Overall(us)  Compute(us)  Pure Comm.(us)", "# [ pairs: 4 ] [ window size: 64 ]",
  // "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)".
  void comment() {
    const auto counts = [](std::string_view word) { return word.starts_with("#rep"); };
    if (std::any_of(words_.begin(), words_.end(), counts))
      throw InputError(text_.file, "has columns of Intel's MPI Benchmarks, which imb-log reads");
    std::vector<std::string_view> buffers;
    for (std::size_t i = 2; i < words_.size(); ++i)
      if (words_[i - 2] == "on" && words_[i].starts_with('(') && words_[i].ends_with(')'))
        buffers.push_back(words_[i].substr(1, words_[i].size() - 2));
    if (buffers.size() == 2)
      title_.buffers = " from " + std::string(buffers[0]) + " to " + std::string(buffers[1]);
    note_setting();
    const auto pairs = std::find(words_.begin(), words_.end(), "pairs:");
    if (pairs != words_.end() && pairs + 1 != words_.end())
      title_.at_once =
          static_cast<double>(std::max<int64_t>(1, whole_word(*(pairs + 1)).value_or(1)));
    const auto pure = std::find(words_.begin(), words_.end(), "Pure");
    if (pure == words_.end()) return;
    const auto ends = [](std::string_view word) {
      return word.find(')') != std::string_view::npos;
    };
    time_column_ = 1 + static_cast<std::size_t>(std::count_if(words_.begin(), pure, ends));
  }

  // "# Datatype: MPI_INT.", "# Window creation: MPI_Win_allocate", "# [ pairs: 4 ] ...".
  void note_setting() {
    constexpr std::array<std::string_view, 5> names{
        "Datatype:", "creation:", "Synchronization:", "pairs:", "size:"};
    for (std::size_t i = 1; i + 1 < words_.size(); ++i) {
      if (std::find(names.begin(), names.end(), words_[i]) == names.end()) continue;
      std::string value(words_[i + 1]);
      if (value.ends_with('.')) value.pop_back();
      std::string name(words_[i].substr(0, words_[i].size() - 1));
      if (name == "creation" || name == "size") name = std::string(words_[i - 1]) + " " + name;
      settings_[name] = value;
    }
  }

  // With validation (-c) the last column says "Pass" or "Fail".
  bool is_wrong() const {
    const char first = words_.empty() ? ' ' : words_.front().front();
    const auto fails = [](std::string_view word) { return lower(word) == "fail"; };
    return first >= '0' && first <= '9' && std::any_of(words_.begin(), words_.end(), fails);
  }

  // "8,1024 101.9" keeps its comma: the number of ranks stands before it. Under such rows "8,1024"
  // is one that was cut off.
  void split_at_commas() {
    const std::string_view first = words_.front();
    if (has_ranks_ || (words_.size() > 1 && !first.ends_with(','))) return;
    std::vector<std::string_view> parts;
    for (std::string_view word : words_)
      for (; !word.empty();) {
        const std::size_t comma = std::min(word.find(','), word.size());
        if (comma > 0) parts.push_back(word.substr(0, comma));
        word.remove_prefix(std::min(comma + 1, word.size()));
      }
    words_ = std::move(parts);
  }

  bool row(const LineReader& lines) {
    if (words_.size() <= time_column_) return false;
    std::string_view size_word = words_.front();
    int ranks = 0;
    if (const std::size_t comma = size_word.find(','); comma != std::string_view::npos) {
      const auto count = whole_word(size_word.substr(0, comma));
      if (!count || *count < 1 || *count > most_measured_ranks) return false;
      ranks = static_cast<int>(*count);
      has_ranks_ = true;
      size_word = size_word.substr(comma + 1);
      const bool is_like_thousands = comma <= 3 && size_word.size() == 3;
      if (!is_like_thousands && whole_word(size_word)) surely_ranks_ = true;
      if (is_like_thousands && doubtful_.empty()) doubtful_ = words_.front();
    }
    const std::string_view time_word = words_[time_column_];
    const auto size = whole_word(size_word);
    const auto number = number_word(time_word);
    if (!size || !number) return false;
    const bool is_last = words_.size() == time_column_ + 1;
    // A last line that has fewer decimals than the others was cut off.
    if (lines.was_cut_off() && is_last && decimals(time_word) < decimals_) return false;
    decimals_ = decimals(time_word);
    const double us =
        title_.is_bandwidth ? title_.at_once * static_cast<double>(*size) / *number : *number;
    const auto time = measured_time(us);
    if (*size > 0 && !time) timeless_.add(lines.number());
    if (*size > 0 && time) point(*size, *time, ranks);
    return true;
  }

  void point(int64_t size, Duration time, int ranks) {
    const std::string operation = title_.operation.empty() ? text_.operation : title_.operation;
    if (operation.empty()) {
      ++unknown_;
      unknown_title_ = title_.text;
      return;
    }
    auto& all = measurement_.series;
    std::string note = title_.kind + title_.buffers;
    if (note.starts_with(' ')) note.erase(0, 1);
    if (is_new_table_ || all.empty() || all.back().operation != operation ||
        all.back().ranks != ranks) {
      all.emplace_back();
      all.back().operation = operation;
      all.back().ranks = ranks;
      all.back().is_of_messages = operation == "copy";
      all.back().note = std::move(note);
      all.back().is_table = true;
      all.back().settings = settings_;
      stated_ranks_.push_back(command_.ranks);
      is_new_table_ = false;
    }
    all.back().points.push_back({Bytes(size), time});
  }

  // Tests of single messages are among two, whatever the collectives beside them are among. What
  // was told chooses among the commands of a log, if one of them says so; else it overrules them.
  int ranks_of(const Series& series, int stated) {
    if (series.ranks > 0) return series.ranks;
    if (series.operation == "copy") return 2;
    const int told = text_.ranks.value_or(0);
    const bool fits_one =
        std::find(stated_ranks_.begin(), stated_ranks_.end(), told) != stated_ranks_.end();
    if (stated > 0 && (told == 0 || fits_one)) return stated;
    if (told == 0)
      throw InputError(text_.file, "OSU logs do not say how many ranks took part; give --ranks");
    if (stated > 0)
      overruled_ = "a command starts " + std::to_string(stated) +
                   " ranks; taken as told: " + std::to_string(told);
    return told;
  }

  // Sizes of the parts of ranks become those of all.
  void settle_ranks() {
    for (std::size_t i = 0; i < measurement_.series.size(); ++i) {
      Series& series = measurement_.series[i];
      series.ranks = ranks_of(series, stated_ranks_[i]);
      const int64_t parts = is_per_rank(series.operation) ? series.ranks : 1;
      std::erase_if(series.points,
                    [&](const MeasuredPoint& point) { return point.size > Bytes(most_B / parts); });
      for (MeasuredPoint& point : series.points) point.size = Bytes(parts * point.size.count());
    }
  }

  static constexpr int64_t most_B = int64_t{1} << 62;
  const MeasuredText& text_;
  Measurement measurement_;
  Title title_;
  std::vector<std::string_view> words_;
  std::string shell_buffers_;  // of the command before the title
  RunCommand shell_command_;
  RunCommand command_;  // of the table
  std::map<std::string, std::string> settings_;
  bool is_new_table_ = false;
  std::vector<int> stated_ranks_;  // of the series; 0: no command says
  std::string overruled_;
  std::size_t prefix_words_ = 0;
  std::size_t time_column_ = 1;
  std::size_t decimals_ = 0;
  bool has_ranks_ = false;     // a first column "ranks,size"
  bool surely_ranks_ = false;  // "8,1024" is no size
  bool has_local_ = false;
  std::string doubtful_;  // "8,192"
  DroppedLines dropped_;
  DroppedLines wrong_;
  DroppedLines timeless_;
  int64_t unknown_ = 0;
  std::string unknown_title_;
};

}  // namespace

bool is_osu_log(std::string_view text) { return text.find("# OSU ") != std::string_view::npos; }

Measurement osu_log(const MeasuredText& text) { return read_lines(OsuReader(text), text, "OSU"); }

}  // namespace sgdsim
