// Of "a && b || c", in which "and" binds before "or".
#include "study/layout/shell_tests.h"

#include <algorithm>
#include <cctype>

namespace sgdsim {
namespace {

Known compared_numbers(const std::string& sign, const std::string& left, const std::string& right) {
  const auto a = number_of_text(left);
  const auto b = number_of_text(right);
  if (!a || !b) return {};
  if (sign == "-eq") return *a == *b;
  if (sign == "-ne") return *a != *b;
  if (sign == "-lt") return *a < *b;
  if (sign == "-le") return *a <= *b;
  if (sign == "-gt") return *a > *b;
  if (sign == "-ge") return *a >= *b;
  return {};
}

// "$NAME" or "${NAME}"; not "$1", which may be given.
bool is_variable(const std::string& text) {
  const std::string name = text.starts_with("${") && text.ends_with("}")
                               ? text.substr(2, text.size() - 3)
                               : text.substr(1);
  return text.front() == '$' && !name.empty() &&
         std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

Known is_empty(const std::string& text) {
  if (text.empty()) return true;
  if (text.find('$') == std::string::npos) return false;
  return is_variable(text) ? Known(true) : std::nullopt;
}

Known are_same(const std::string& left, const std::string& right) {
  if (right.empty()) return is_empty(left);
  const std::string both = left + right;
  const bool is_known =
      both.find('$') == std::string::npos && right.find_first_of("*?[") == std::string::npos;
  return is_known ? Known(left == right) : std::nullopt;
}

Known one_test(std::vector<std::string> words) {
  bool is_opposite = false;
  while (!words.empty() && words.front() == "!") {
    is_opposite = !is_opposite;
    words.erase(words.begin());
  }
  Known holds;
  if (words.size() == 1) holds = opposite_of(is_empty(words[0]));
  if (words.size() == 2 && words[0] == "-z") holds = is_empty(words[1]);
  if (words.size() == 2 && words[0] == "-n") holds = opposite_of(is_empty(words[1]));
  if (words.size() == 3) holds = compared_numbers(words[1], words[0], words[2]);
  if (words.size() == 3 && (words[1] == "=" || words[1] == "=="))
    holds = are_same(words[0], words[2]);
  if (words.size() == 3 && words[1] == "!=") holds = opposite_of(are_same(words[0], words[2]));
  return is_opposite ? opposite_of(holds) : holds;
}

// Behind the letters of "[a-c]" that begin there; there itself: nothing closes them.
std::size_t behind_set(const std::string& pattern, std::size_t at) {
  const std::size_t first = at + 1 + (pattern.find_first_of("!^", at + 1) == at + 1 ? 1 : 0);
  const std::size_t end = pattern.find(']', first + 1);
  return end == std::string::npos ? at : end + 1;
}

// `set`: "a-c" or "!a-c".
bool is_in_set(char letter, std::string set) {
  const bool is_opposite = set.front() == '!' || set.front() == '^';
  if (is_opposite) set.erase(0, 1);
  bool is_in = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool is_range = i + 2 < set.size() && set[i + 1] == '-';
    is_in = is_in || (is_range ? set[i] <= letter && letter <= set[i + 2] : set[i] == letter);
    if (is_range) i += 2;
  }
  return is_in != is_opposite;
}

// Of one letter, behind which the pattern goes on; 0: another one is there.
std::size_t behind_letter(char letter, const std::string& pattern, std::size_t at) {
  if (at == pattern.size()) return 0;
  if (const std::size_t end = pattern[at] == '[' ? behind_set(pattern, at) : at; end > at)
    return is_in_set(letter, pattern.substr(at + 1, end - at - 2)) ? end : 0;
  return pattern[at] == '?' || pattern[at] == letter ? at + 1 : 0;
}

// Each "*" takes as few letters as the rest lets it.
bool fits_letters(const std::string& text, const std::string& pattern) {
  std::size_t at = 0, star = std::string::npos, from = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      from = i;
    } else if (const std::size_t next = behind_letter(text[i], pattern, at); next > 0) {
      at = next;
      ++i;
    } else if (star == std::string::npos) {
      return false;
    } else {
      at = star;
      i = ++from;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string::npos;
}

Known both(Known a, Known b) {
  if (a == false || b == false) return false;
  return a && b ? Known(true) : std::nullopt;
}

Known either(Known a, Known b) { return opposite_of(both(opposite_of(a), opposite_of(b))); }

}  // namespace

Known shell_test(const std::vector<std::string>& words) {
  Known any = false;
  Known all = true;
  std::vector<std::string> one;
  for (std::size_t i = 0; i <= words.size(); ++i) {
    const bool ends_all = i == words.size() || words[i] == "||" || words[i] == "-o";
    if (!ends_all && words[i] != "&&" && words[i] != "-a") {
      one.push_back(words[i]);
      continue;
    }
    all = both(all, one_test(one));
    one.clear();
    if (!ends_all) continue;
    any = either(any, all);
    all = true;
  }
  return any;
}

Known shell_fits(const std::string& text, const std::string& pattern, bool is_quoted) {
  if (pattern == "*" && !is_quoted) return true;
  if (pattern.find_first_of("*?[") == std::string::npos) return shell_test({text, "=", pattern});
  constexpr std::size_t most_letters = 1000;
  const bool is_known = !is_quoted && pattern.find("[:") == std::string::npos &&
                        text.size() + pattern.size() <= most_letters &&
                        (text + pattern).find_first_of("$`") == std::string::npos;
  if (!is_known) return {};
  return fits_letters(text, pattern);
}

Known FirstThatHolds::take(Known holds) {
  const Known is_this = both(is_none(), holds);
  is_taken_ = either(is_taken_, is_this);
  return is_this;
}

}  // namespace sgdsim
