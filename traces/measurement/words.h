// Lines and numbers of benchmark logs, which are read leniently: what is no row is passed over.
#pragma once

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
  bool was_cut_off() const { return cut_off_; }  // the last line had no line end

 private:
  std::string_view rest_;
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

// In lower case.
std::string lower(std::string_view text);

// "3 lines dropped: ...", for the notes of a measurement.
std::string dropped_note(int64_t lines, const std::string& why);

}  // namespace sgdsim
