// Logs of Intel's MPI Benchmarks (IMB-MPI1, IMB-NBC): for each benchmark and number of processes a
// title, then sizes and times in columns.
//
//   # Benchmarking Allreduce
//   # #processes = 4
//   # ( 4 additional processes waiting in MPI_Barrier)
//          #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
//            1024         1000         5.01         5.11         5.05
//
// The mean of all processes counts, as OSU's tests print it; of a non-blocking collective the time
// of its communication alone (t_pure); of PingPong the one column there is, which is one way. Sizes
// are per process where every process has a part of its own (reduce-scatter apart), and become
// those of all. Rows of no bytes, and benchmarks of other patterns (PingPing, Sendrecv, Exchange,
// Barrier), are left out; so are rows with defects, and those with a word for the repetitions
// ("out-of-mem.; needed X= 1.074 GB; ..."), which were not measured.
#include <algorithm>
#include <array>

#include "sim/core/json.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/run_command.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr std::string_view title_words = "# Benchmarking ";
constexpr std::string_view count_words = "#processes = ";
constexpr std::string_view repetitions = "#rep";  // "#repetitions", or "#rep.s"

struct Benchmark {
  std::string_view name;  // in lower case
  std::string_view operation;
  bool is_per_rank = false;  // sizes are those of one process' part
};
constexpr std::array<Benchmark, 10> benchmarks{{{"allreduce", "allreduce"},
                                                {"bcast", "broadcast"},
                                                {"reduce", "reduce"},
                                                {"reduce_scatter", "reduce_scatter"},
                                                {"reduce_scatter_block", "reduce_scatter"},
                                                {"allgather", "allgather", true},
                                                {"alltoall", "alltoall", true},
                                                {"gather", "gather", true},
                                                {"scatter", "scatter", true},
                                                {"pingpong", "copy"}}};

class ImbReader {
 public:
  void line(std::string_view line, const LineReader& lines) {
    if (const std::size_t at = line.find(title_words); at != line.npos)
      return begin(line.substr(at + title_words.size()));
    if (const std::size_t at = line.find(count_words); at != line.npos) {
      split_words(line.substr(at + count_words.size()), words_);
      ranks_ = words_.empty() ? 0 : static_cast<int>(processes_in(words_.front()));
      return;
    }
    split_words(line, words_);
    if (words_.empty()) return;
    if (auto command = run_command_in(words_, "IMB-")) command_ = std::move(command->text);
    const auto counts = [](std::string_view word) { return word.starts_with(repetitions); };
    if (std::any_of(words_.begin(), words_.end(), counts)) return header();
    words_.erase(words_.begin(),
                 words_.begin() + static_cast<std::ptrdiff_t>(std::min(prefix_, words_.size())));
    if (words_.empty() || benchmark_ == nullptr || time_column_ == 0) return;
    words_.front() = unprefixed(words_.front());
    const bool is_row =
        !words_.front().empty() && words_.front().front() >= '0' && words_.front().front() <= '9';
    if (!is_row) return;
    if (was_not_measured()) return unmeasured_.add(lines.number());
    if (is_wrong()) return wrong_.add(lines.number());
    if (!row(lines)) dropped_.add(lines.number());
  }

  Measurement finish() {
    dropped_.tell("broken or cut off within the row", measurement_.notes);
    unmeasured_.tell("not measured (out-of-mem., int-overflow or time-out)", measurement_.notes);
    wrong_.tell("its results are wrong (defects is not 0)", measurement_.notes);
    timeless_.tell(no_time_known, measurement_.notes);
    std::string others;
    for (const std::string& name : others_) others += (others.empty() ? "" : ", ") + name;
    if (!others.empty()) measurement_.notes.push_back(left_out + others);
    return std::move(measurement_);
  }

 private:
  // "Iallreduce" is a non-blocking one.
  void begin(std::string_view rest) {
    split_words(rest, words_);
    name_ = words_.empty() ? "" : std::string(words_.front());
    ranks_ = 0;
    time_column_ = 0;
    is_new_table_ = true;
    std::string plain = lower(name_);
    benchmark_ = find(plain);
    if (benchmark_ == nullptr && plain.starts_with('i')) benchmark_ = find(plain.substr(1));
    if (benchmark_ == nullptr) name_other();
  }
  void name_other() {
    constexpr std::size_t longest = 40;
    constexpr std::size_t most_named = 8;
    std::string name = printable(name_.substr(0, longest));
    if (others_.size() < most_named &&
        std::find(others_.begin(), others_.end(), name) == others_.end())
      others_.push_back(std::move(name));
  }
  static const Benchmark* find(std::string_view name) {
    const auto found = std::find_if(benchmarks.begin(), benchmarks.end(),
                                    [&](const Benchmark& one) { return one.name == name; });
    return found == benchmarks.end() ? nullptr : &*found;
  }
  static int64_t processes_in(std::string_view word) {
    const auto count = whole_word(word);
    return count && *count <= most_measured_ranks ? *count : 0;
  }
  // A launcher may stand before it.
  void header() {
    const auto bytes = std::find_if(words_.begin(), words_.end(), [](std::string_view word) {
      return word == "#bytes" || unprefixed(word) == "#bytes";
    });
    time_column_ = 0;
    if (bytes == words_.end()) return;  // a barrier
    prefix_ = static_cast<std::size_t>(bytes - words_.begin());
    const auto column_of = [&](std::string_view name) {
      const auto found = std::find_if(
          bytes, words_.end(), [&](std::string_view word) { return word.starts_with(name); });
      return found == words_.end() ? 0 : static_cast<std::size_t>(found - bytes);
    };
    repetitions_column_ = column_of(repetitions);
    defects_column_ = column_of("defects");
    for (const std::string_view name : {"t_avg[usec]", "t_pure[usec]", "t[usec]"})
      if (time_column_ == 0) time_column_ = column_of(name);
  }
  // What stands there; empty: no such column.
  std::string_view word_at(std::size_t column) const {
    return column == 0 || column >= words_.size() ? std::string_view() : words_[column];
  }
  bool was_not_measured() const {
    const std::string_view word = word_at(repetitions_column_);
    constexpr std::array<std::string_view, 3> reasons{"out-of-mem", "int-overflow", "time-out"};
    return std::any_of(reasons.begin(), reasons.end(),
                       [&](std::string_view reason) { return word.starts_with(reason); });
  }
  bool is_wrong() const { return number_word(word_at(defects_column_)).value_or(0) > 0; }
  bool row(const LineReader& lines) {
    if (words_.size() <= time_column_ || ranks_ < 2) return false;
    if (repetitions_column_ > 0 && !whole_word(word_at(repetitions_column_))) return false;
    const auto size = whole_word(words_.front());
    const auto number = number_word(words_[time_column_]);
    if (!size || !number) return false;
    const bool is_last = words_.size() == time_column_ + 1;
    if (lines.was_cut_off() && is_last && decimals(words_[time_column_]) < decimals_) return false;
    decimals_ = decimals(words_[time_column_]);
    const auto time = measured_time(*number);
    if (*size > 0 && !time) timeless_.add(lines.number());
    if (*size > 0 && time) point(*size, *time);
    return true;
  }
  void point(int64_t size, Duration time) {
    constexpr int64_t most_B = int64_t{1} << 62;
    const std::string operation(benchmark_->operation);
    const bool is_copy = operation == "copy";
    const std::string plain = lower(name_);
    const std::string note =
        plain == benchmark_->name && plain != "reduce_scatter_block" ? "" : name_;
    const int ranks = is_copy ? 2 : ranks_;
    auto& all = measurement_.series;
    if (is_new_table_ || all.empty()) {
      is_new_table_ = false;
      all.emplace_back();
      all.back().operation = operation;
      all.back().ranks = ranks;
      all.back().is_of_messages = is_copy;
      all.back().note = note;
      all.back().is_table = true;
      if (!command_.empty()) all.back().settings[command_setting] = command_;
    }
    const int64_t parts = benchmark_->is_per_rank ? ranks : 1;
    if (size <= most_B / parts) all.back().points.push_back({Bytes(parts * size), time});
  }

  Measurement measurement_;
  const Benchmark* benchmark_ = nullptr;
  std::string name_;
  std::string command_;  // of the run; empty: no shell shows it
  bool is_new_table_ = false;
  int ranks_ = 0;
  std::size_t prefix_ = 0;  // words before the first column
  std::size_t time_column_ = 0;
  std::size_t repetitions_column_ = 0;
  std::size_t defects_column_ = 0;  // 0: not checked
  std::size_t decimals_ = 0;
  std::vector<std::string_view> words_;
  std::vector<std::string> others_;  // benchmarks that are left out
  DroppedLines dropped_;
  DroppedLines unmeasured_;
  DroppedLines wrong_;
  DroppedLines timeless_;
};

}  // namespace

bool is_imb_log(std::string_view text) {
  return text.find(title_words) != text.npos && text.find(repetitions) != text.npos;
}

Measurement imb_log(const MeasuredText& text) { return read_lines(ImbReader(), text, "IMB"); }

}  // namespace sgdsim
