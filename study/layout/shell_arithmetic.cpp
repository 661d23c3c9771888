// By descent, as deep as people write.
#include "study/layout/shell_arithmetic.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

#include "study/layout/setting_text.h"
#include "study/layout/shell_tokens.h"

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
    const auto left = shifted(depth);
    for (const std::string sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!takes(sign.c_str())) continue;
      const auto right = shifted(depth);
      if (!left || !right) return std::nullopt;
      if (sign == "==") return *left == *right;
      if (sign == "!=") return *left != *right;
      if (sign == "<=") return *left <= *right;
      if (sign == ">=") return *left >= *right;
      return sign == "<" ? *left < *right : *left > *right;
    }
    return left;
  }
  // "A << 2": by powers of two.
  std::optional<int64_t> shifted(int depth) {
    auto left = sum(depth);
    for (const char sign : {'<', '>'}) {
      const std::string both(2, sign);
      while (left && takes(both.c_str())) {
        const auto by = raised(2, sum(depth));
        left = !by || *left < 0 ? std::nullopt : within(*left, sign == '<' ? '*' : '/', *by);
      }
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
    auto left = power(depth);
    for (char sign = next(); left && (sign == '*' || sign == '/' || sign == '%'); sign = next()) {
      ++place_;
      const auto right = power(depth);
      left = !right ? std::nullopt : within(*left, sign, *right);
    }
    return left;
  }
  // "2 ** 3 ** 2" is 2 ** 9.
  std::optional<int64_t> power(int depth) {
    const auto base = unit(depth);
    if (!base || depth > most_depth || !takes("**")) return base;
    return raised(*base, power(depth + 1));
  }
  static std::optional<int64_t> raised(int64_t base, std::optional<int64_t> exponent) {
    constexpr int64_t most_exponent = 63;
    if (!exponent || *exponent < 0 || *exponent > most_exponent) return std::nullopt;
    std::optional<int64_t> all = 1;
    for (int64_t i = 0; all && i < *exponent; ++i) all = within(*all, '*', base);
    return all;
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
    if (text_.compare(place_, 2, "${") == 0 || text_.compare(place_, 2, "$(") == 0) {
      place_ = behind_dollar(text_, place_);
    } else {
      if (next() == '$') ++place_;
      while (place_ < text_.size() && is_word_letter(text_[place_])) ++place_;
    }
    std::string word = text_.substr(from, place_ - from);
    if (word.empty()) return std::nullopt;
    if (word.front() != '$' && next() == '[') word = "${" + word + in_brackets() + "}";
    if (word.front() != '$' && std::isdigit(static_cast<unsigned char>(word.front())) == 0)
      word.insert(word.begin(), '$');
    if (word.front() == '$') word = lookup_(word);
    if (word.size() > 1 && word.front() == '0') return std::nullopt;  // of other bases
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [stopped, problem] = std::from_chars(word.data(), end, number);
    if (problem != std::errc() || stopped != end || std::abs(static_cast<double>(number)) > most)
      return std::nullopt;
    return number;
  }

  // "[I + 1]" of "A[I + 1]".
  std::string in_brackets() {
    const std::size_t from = place_;
    int depth = 0;
    do {
      depth += text_[place_] == '[' ? 1 : text_[place_] == ']' ? -1 : 0;
      ++place_;
    } while (place_ < text_.size() && depth > 0);
    return text_.substr(from, place_ - from);
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
