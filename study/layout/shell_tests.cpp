// Of "a && b || c", in which "and" binds before "or".
#include "study/layout/shell_tests.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sgdsim {
namespace {

std::optional<int64_t> number_in(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

Known compared_numbers(const std::string& sign, const std::string& left, const std::string& right) {
  const auto a = number_in(left);
  const auto b = number_in(right);
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

Known FirstThatHolds::take(Known holds) {
  const Known is_this = both(is_none(), holds);
  is_taken_ = either(is_taken_, is_this);
  return is_this;
}

}  // namespace sgdsim
