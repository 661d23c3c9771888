// Reading words without copying them: a log may have a million rows.
#include "traces/measurement/words.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "sim/core/byte_order_mark.h"
#include "sim/core/decimal.h"

namespace sgdsim {

void make_plain(std::string& text) {
  text.erase(0, text.size() - without_mark(text).size());
  constexpr char escape = '\x1b';
  std::size_t to = text.find(escape);
  if (to == std::string::npos) return;
  for (std::size_t from = to; from < text.size();) {
    if (text[from] != escape) {
      text[to++] = text[from++];
      continue;
    }
    // "\x1b[0;32m": parameters, then one letter.
    if (++from < text.size() && text[from] == '[') ++from;
    while (from < text.size() && text[from] >= ' ' && text[from] < '@') ++from;
    if (from < text.size() && text[from] >= '@' && text[from] <= '~') ++from;
  }
  text.resize(to);
}

bool is_pickle(std::string_view text) {
  constexpr char latest_protocol = 5;
  return text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= latest_protocol;
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  ++number_;
  const std::size_t end = rest_.find('\n');
  cut_off_ = end == std::string_view::npos;
  line = rest_.substr(0, end);
  rest_ = cut_off_ ? std::string_view() : rest_.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  constexpr std::string_view blanks = " \t";
  for (std::size_t from = line.find_first_not_of(blanks); from != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, from), line.size());
    words.push_back(line.substr(from, end - from));
    from = line.find_first_not_of(blanks, end);
  }
}

std::string_view unprefixed(std::string_view word) {
  const std::size_t end = word.find_last_of(":>]|");
  return end == std::string_view::npos ? word : word.substr(end + 1);
}

std::optional<int64_t> whole_word(std::string_view word) {
  std::string digits;
  if (word.find('_') != std::string_view::npos) {
    if (word.front() == '_' || word.back() == '_') return std::nullopt;
    std::copy_if(word.begin(), word.end(), std::back_inserter(digits),
                 [](char c) { return c != '_'; });
    word = digits;
  }
  int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = std::from_chars(word.data(), end, number);
  if (problem != std::errc{} || rest != end || number < 0) return std::nullopt;
  return number;
}

std::optional<double> number_word(std::string_view word) {
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = read_decimal(word.data(), end, number);
  if (problem != std::errc{} || rest != end || !std::isfinite(number) || number < 0)
    return std::nullopt;
  return number;
}

std::size_t decimals(std::string_view word) {
  const std::size_t point = word.find('.');
  return point == std::string_view::npos ? 0 : word.size() - point - 1;
}

std::string lower(std::string_view text) {
  std::string answer(text);
  std::transform(answer.begin(), answer.end(), answer.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return answer;
}

std::string dropped_note(int64_t lines, const std::string& why) {
  return std::to_string(lines) + (lines == 1 ? " line" : " lines") + " dropped: " + why;
}

void DroppedLines::tell(const std::string& why, std::vector<std::string>& notes) const {
  if (count_ == 0) return;
  const std::string place = (count_ == 1 ? " (line " : " (first: line ") + std::to_string(first_);
  notes.push_back(dropped_note(count_, why) + (first_ > 0 ? place + ")" : ""));
}

}  // namespace sgdsim
