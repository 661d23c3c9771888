// One pass over words; arithmetic where all of it is known.
#include "study/layout/shell_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <sstream>

namespace sgdsim {

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::string unquoted(std::string text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

std::string without_comment(const std::string& line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != '\0') {
      if (line[i] == quote) quote = '\0';
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

bool is_setting_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

namespace {

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// What stands in $(( )): sums and products of numbers and variables. Nothing where something is not
// known, or is beyond 10^15.
class Arithmetic {
 public:
  using Lookup = std::function<std::string(const std::string&)>;  // of "$NAME"
  Arithmetic(const std::string& text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  std::optional<int64_t> value() {
    const auto all = sum(0);
    return next() == '\0' ? all : std::nullopt;
  }

 private:
  static constexpr int most_depth = 50;
  static constexpr double most = 1e15;

  char next() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t')) ++place_;
    return place_ < text_.size() ? text_[place_] : '\0';
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
      const auto inside = sum(depth + 1);
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

bool is_kept_behind_backslash(char c) { return c == '(' || c == ')' || c == '|' || c == '*'; }
// Whether the quote begins a single word behind "=", which is no flag.
bool begins_value(const std::string& line, std::size_t quote) {
  if (quote == 0 || line[quote - 1] != '=') return false;
  const std::size_t end = line.find(line[quote], quote + 1);
  const std::string value = line.substr(quote + 1, end - quote - 1);
  return end != std::string::npos && !value.empty() && value.front() != '-' &&
         value.find_first_of(" \t") == std::string::npos;
}
// Quotes and the parentheses of arrays become spaces. Parentheses that are quoted or stand behind
// a backslash stay, "(tt|)*29" and \(tt\|\)*29, and so does NAME="value" of a single word.
std::string without_quoting(const std::string& line) {
  std::string bare;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_quote = (c == '"' || c == '\'') && (quote == '\0' || quote == c);
    if (c == '\\' && i + 1 < line.size() && is_kept_behind_backslash(line[i + 1])) {
      bare += line[++i];
    } else if (is_quote) {
      quote = quote == '\0' ? c : '\0';
      if (quote == '\0' || !begins_value(line, i)) bare += ' ';
    } else {
      const bool is_of_array = (c == '(' || c == ')') && quote == '\0';
      bare += is_of_array || c == '\\' || c == '"' || c == '\'' ? ' ' : c;
    }
  }
  return bare;
}
}  // namespace

void ShellWords::add_line(const std::string& raw, int number) {
  std::istringstream words(without_quoting(calculated(without_comment(raw))));
  bool is_start = true;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (is_start && word.front() != '-' && equals != std::string::npos &&
        is_setting_name(word.substr(0, equals))) {
      variables_[word.substr(0, equals)] = {resolved(word.substr(equals + 1)), number};
      // What is assigned may be a list of flags itself.
      word = word.substr(equals + 1);
    }
    is_start = is_start && (word == "export" || word.empty());
    if (!word.empty()) words_.emplace_back(resolved(word), number);
  }
}
// Each $(( )) whose value is known, as that. Longer ones than people write stay as they are.
std::string ShellWords::calculated(const std::string& line) const {
  constexpr std::size_t most_letters = 200;
  const Arithmetic::Lookup lookup = [this](const std::string& word) { return resolved(word); };
  std::string all;
  std::size_t done = 0;
  for (std::size_t from = line.find("$(("); from != std::string::npos;
       from = line.find("$((", std::max(from + 1, done))) {
    const std::size_t begin = from + 3;
    const std::size_t stop = std::min(line.size(), begin + most_letters);
    std::size_t end = begin;
    for (int depth = 0; end < stop && (depth > 0 || line[end] != ')'); ++end)
      depth += line[end] == '(' ? 1 : line[end] == ')' ? -1 : 0;
    if (line.compare(end, 2, "))") != 0) continue;
    const std::string inside = line.substr(begin, end - begin);
    const auto value = Arithmetic(inside, lookup).value();
    if (!value) continue;
    all += line.substr(done, from - done) + std::to_string(*value);
    done = end + 2;
  }
  return all + line.substr(done);
}
// $NAME, ${NAME}, ${NAME:-value}, ${NAME-value} and ${NAME:=value}, as a whole word or behind
// "--flag=". What stands for a variable may be another one.
std::string ShellWords::resolved(const std::string& word, int depth) const {
  constexpr int most_depth = 10;
  if (depth > most_depth) return word;
  if (const std::size_t equals = word.find("=$");
      word.starts_with("--") && equals != std::string::npos)
    return word.substr(0, equals + 1) + resolved(word.substr(equals + 1), depth + 1);
  if (word.size() < 2 || word.front() != '$') return word;
  std::string name = word.substr(1);
  std::string usual = word;
  if (name.front() == '{' && name.back() == '}') {
    name = name.substr(1, name.size() - 2);
    const std::size_t end = static_cast<std::size_t>(
        std::find_if_not(name.begin(), name.end(), is_word_letter) - name.begin());
    std::string rest = name.substr(end);
    if (rest.starts_with(":")) rest.erase(0, 1);
    if (rest.starts_with("-") || rest.starts_with("=")) {
      usual = resolved(rest.substr(1), depth + 1);
      name = name.substr(0, end);
    }
  }
  const auto found = variables_.find(name);
  return found == variables_.end() ? usual : found->second.first;
}

}  // namespace sgdsim
