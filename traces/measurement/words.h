// Lines and numbers of benchmark logs, which are read leniently: what is no row is passed over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim {

// Takes out what terminals and editors put into a log: colours (escape sequences) and the mark of
// UTF-8 at the beginning.
void make_plain(std::string& text);

// Whether a file begins as Python's pickles from protocol 2 on do.
bool is_pickle(std::string_view text);

// The lines of a text, without line ends.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  bool next(std::string_view& line);
  int64_t number() const { return number_; }     // of the last line, from 1
  bool was_cut_off() const { return cut_off_; }  // it had no line end

 private:
  std::string_view rest_;
  int64_t number_ = 0;
  bool cut_off_ = false;
};

// The words between blanks, into a vector that is used again for every line.
void split_words(std::string_view line, std::vector<std::string_view>& words);

// What a launcher glued to the first word of a line is gone: "[1,0]<stdout>:4096" is "4096".
std::string_view unprefixed(std::string_view word);

// A whole number of at least 0; underscores may group its digits.
std::optional<int64_t> whole_word(std::string_view word);
// A finite number of at least 0.
std::optional<double> number_word(std::string_view word);

// Its decimals after the point.
std::size_t decimals(std::string_view word);

// In lower case.
std::string lower(std::string_view text);

// "3 lines dropped: ...", for the notes of a measurement.
std::string dropped_note(int64_t lines, const std::string& why);

// Lines that are dropped for one reason.
class DroppedLines {
 public:
  void add(int64_t line) {  // 0: its number is not known
    first_ = count_++ == 0 ? line : std::min(first_, line);
  }
  bool any() const { return count_ > 0; }
  // A note that ends with where the first is, if there is any.
  void tell(const std::string& why, std::vector<std::string>& notes) const;

 private:
  int64_t count_ = 0;
  int64_t first_ = 0;
};
inline constexpr char no_time_known[] = "no time, or none that can be (0, N/A, more than an hour)";
inline constexpr char left_out[] = "benchmarks of other patterns were left out: ";

}  // namespace sgdsim
