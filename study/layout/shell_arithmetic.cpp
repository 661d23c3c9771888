// By descent, as deep as people write.
#include "study/layout/shell_arithmetic.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

#include "study/layout/setting_text.h"

namespace sgdsim {
namespace {

class Arithmetic {
 public:
  using Lookup = std::function<std::string(const std::string&)>;  // of "$NAME"
  Arithmetic(const std::string& text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  std::optional<int64_t> value() {
    const auto all = choice(0);
    return next() == '\0' ? all : std::nullopt;
  }

 private:
  static constexpr int most_depth = 50;
  static constexpr double most = 1e15;

  char next() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t')) ++place_;
    return place_ < text_.size() ? text_[place_] : '\0';
  }
  bool takes(const char* sign) {
    if (next() == '\0' || text_.compare(place_, std::strlen(sign), sign) != 0) return false;
    place_ += std::strlen(sign);
    return true;
  }
  // "A > 1 ? 2 : 3".
  std::optional<int64_t> choice(int depth) {
    if (depth > most_depth) return std::nullopt;
    const auto holds = comparison(depth);
    if (!takes("?")) return holds;
    const auto yes = choice(depth + 1);
    if (!takes(":")) return std::nullopt;
    const auto no = choice(depth + 1);
    return !holds ? std::nullopt : *holds != 0 ? yes : no;
  }
  std::optional<int64_t> comparison(int depth) {
    const auto left = sum(depth);
    for (const std::string sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!takes(sign.c_str())) continue;
      const auto right = sum(depth);
      if (!left || !right) return std::nullopt;
      if (sign == "==") return *left == *right;
      if (sign == "!=") return *left != *right;
      if (sign == "<=") return *left <= *right;
      if (sign == ">=") return *left >= *right;
      return sign == "<" ? *left < *right : *left > *right;
    }
    return left;
  }
  std::optional<int64_t> sum(int depth) {
    auto left = product(depth);
    for (char sign = next(); left && (sign == '+' || sign == '-'); sign = next()) {
      ++place_;
      const auto right = product(depth);
      left = !right ? std::nullopt : within(*left, sign, *right);
    }
    return left;
  }
  std::optional<int64_t> product(int depth) {
    auto left = unit(depth);
    for (char sign = next(); left && (sign == '*' || sign == '/' || sign == '%'); sign = next()) {
      ++place_;
      const auto right = unit(depth);
      left = !right ? std::nullopt : within(*left, sign, *right);
    }
    return left;
  }
  static std::optional<int64_t> within(int64_t left, char sign, int64_t right) {
    if (sign == '/' || sign == '%') {
      if (right == 0) return std::nullopt;
      return sign == '/' ? left / right : left % right;
    }
    const auto a = static_cast<double>(left);
    const auto b = static_cast<double>(right);
    if (std::abs(sign == '*' ? a * b : std::abs(a) + std::abs(b)) > most) return std::nullopt;
    return sign == '*' ? left * right : sign == '+' ? left + right : left - right;
  }
  std::optional<int64_t> unit(int depth) {
    if (depth > most_depth) return std::nullopt;
    if (next() == '(') {
      ++place_;
      const auto inside = choice(depth + 1);
      if (next() != ')') return std::nullopt;
      ++place_;
      return inside;
    }
    const std::size_t from = place_;
    if (text_.compare(place_, 2, "${") == 0) {
      place_ = std::min(text_.find('}', place_), text_.size() - 1) + 1;
    } else {
      if (next() == '$') ++place_;
      while (place_ < text_.size() && is_word_letter(text_[place_])) ++place_;
    }
    std::string word = text_.substr(from, place_ - from);
    if (word.empty()) return std::nullopt;
    if (word.front() != '$' && std::isdigit(static_cast<unsigned char>(word.front())) == 0)
      word.insert(word.begin(), '$');
    if (word.front() == '$') word = lookup_(word);
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [stopped, problem] = std::from_chars(word.data(), end, number);
    if (problem != std::errc() || stopped != end || std::abs(static_cast<double>(number)) > most)
      return std::nullopt;
    return number;
  }

  const std::string& text_;
  const Lookup& lookup_;
  std::size_t place_ = 0;
};

}  // namespace

std::optional<int64_t> shell_arithmetic(
    const std::string& text, const std::function<std::string(const std::string&)>& lookup) {
  return Arithmetic(text, lookup).value();
}

std::vector<std::string> shell_changes(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    while (at < text.size() && is_word_letter(text[at])) ++at;
    if (at == from) {
      ++at;
      continue;
    }
    const std::size_t sign = std::min(text.find_first_not_of(" \t", at), text.size());
    const std::size_t behind = std::min(text.find_first_not_of("+-*/%&|^<>", sign), text.size());
    const std::string signs = text.substr(sign, behind - sign);
    const bool is_set = behind < text.size() && text[behind] == '=' && signs != "<" &&
                        signs != ">" && text.compare(behind, 2, "==") != 0;
    const bool is_counted = signs.starts_with("++") || signs.starts_with("--") ||
                            (from >= 2 && (text.compare(from - 2, 2, "++") == 0 ||
                                           text.compare(from - 2, 2, "--") == 0));
    const bool is_number = std::isdigit(static_cast<unsigned char>(text[from])) != 0;
    if (!is_number && (is_set || is_counted)) names.push_back(text.substr(from, at - from));
  }
  return names;
}

}  // namespace sgdsim
