// One pass over words, or over lines.
#include "study/layout/flat_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <sstream>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_bytes = 4'000'000;

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

// Without what stands behind a # that is not quoted.
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

bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

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

// Words of a shell script, with the values of its own simple variables.
class ShellWords {
 public:
  void add_line(const std::string& raw, int number) {
    std::istringstream words(without_quoting(calculated(without_comment(raw))));
    bool is_start = true;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (is_start && word.front() != '-' && equals != std::string::npos &&
          is_name(word.substr(0, equals))) {
        variables_[word.substr(0, equals)] = {resolved(word.substr(equals + 1)), number};
        // What is assigned may be a list of flags itself.
        word = word.substr(equals + 1);
      }
      is_start = is_start && (word == "export" || word.empty());
      if (!word.empty()) words_.emplace_back(resolved(word), number);
    }
  }
  const std::vector<std::pair<std::string, int>>& words() const { return words_; }
  // Values of variables, and the lines that set them last.
  const std::map<std::string, std::pair<std::string, int>>& variables() const { return variables_; }

 private:
  // Quotes and the parentheses of arrays become spaces. Parentheses that are quoted or stand behind
  // a backslash stay, "(tt|)*29" and \(tt\|\)*29, and so does NAME="value" of a single word.
  static std::string without_quoting(const std::string& line) {
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
  static bool is_kept_behind_backslash(char c) {
    return c == '(' || c == ')' || c == '|' || c == '*';
  }
  // Whether the quote begins a single word behind "=", which is no flag.
  static bool begins_value(const std::string& line, std::size_t quote) {
    if (quote == 0 || line[quote - 1] != '=') return false;
    const std::size_t end = line.find(line[quote], quote + 1);
    const std::string value = line.substr(quote + 1, end - quote - 1);
    return end != std::string::npos && !value.empty() && value.front() != '-' &&
           value.find_first_of(" \t") == std::string::npos;
  }
  // Each $(( )) whose value is known, as that. Longer ones than people write stay as they are.
  std::string calculated(const std::string& line) const {
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
  // $NAME, ${NAME}, ${NAME:-value} and ${NAME:=value}, as a whole word or behind "--flag=".
  std::string resolved(const std::string& word) const {
    if (const std::size_t equals = word.find("=$");
        word.starts_with("--") && equals != std::string::npos)
      return word.substr(0, equals + 1) + resolved(word.substr(equals + 1));
    if (word.size() < 2 || word.front() != '$') return word;
    std::string name = word.substr(1);
    std::string usual = word;
    if (name.front() == '{' && name.back() == '}') {
      name = name.substr(1, name.size() - 2);
      std::size_t at = name.find(":-");
      if (at == std::string::npos) at = name.find(":=");
      if (at != std::string::npos) {
        usual = name.substr(at + 2);
        name = name.substr(0, at);
      }
    }
    const auto found = variables_.find(name);
    return found == variables_.end() ? usual : found->second.first;
  }
  std::map<std::string, std::pair<std::string, int>> variables_;
  std::vector<std::pair<std::string, int>> words_;
};

bool has_flags(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word.size() > 3 && word.starts_with("--") && std::isalpha(word[2]) != 0) return true;
  return false;
}

// "export NAME=value" of a script without flags.
bool has_exports(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("export ") && line.find('=') != std::string::npos) return true;
  return false;
}

// "[parallelism]": a table of TOML.
bool has_table(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string bare = trimmed(without_comment(line));
    if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']' &&
        is_name(trimmed(bare.substr(1, bare.size() - 2))))
      return true;
  }
  return false;
}

}  // namespace

FlatSettings FlatSettings::read(const std::string& text, const std::string& file) {
  FlatSettings settings;
  settings.file_ = file;
  if (text.size() > most_bytes)
    throw InputError(file, "expected a configuration of at most " + std::to_string(most_bytes) +
                               " bytes, got " + std::to_string(text.size()));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw InputError(file, "it is empty");
  if (first_of_json(text) == '{') {
    settings.kind_ = Kind::json;
    settings.read_members(foreign_json(text, file), "");
  } else if (has_table(text)) {
    settings.kind_ = Kind::toml;
    settings.read_tables(text);
  } else if (has_flags(text) || has_exports(text)) {
    settings.read_flags(text);
  } else {
    settings.kind_ = Kind::yaml;
    settings.read_tables(text);
  }
  return settings;
}

void FlatSettings::read_flags(const std::string& text) {
  ShellWords shell;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) shell.add_line(line, ++number);
  const auto& words = shell.words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& [word, line] = words[i];
    if (!word.starts_with("--") || word.size() < 3) continue;
    std::string name = word.substr(2);
    std::string value = "true";
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < words.size() && !words[i + 1].first.starts_with("--")) {
      value = words[i + 1].first;
    }
    std::replace(name.begin(), name.end(), '_', '-');
    set(name, value, line);
  }
  for (const auto& [name, assigned] : shell.variables())
    if (std::isupper(static_cast<unsigned char>(name.front())) != 0)
      set(name, assigned.first, assigned.second);
}

// YAML by its indentation, TOML by its [tables].
void FlatSettings::read_tables(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::pair<std::size_t, std::string>> above;  // indentation and name
  std::string table;
  int number = 0;
  for (std::string raw; std::getline(lines, raw);) {
    ++number;
    const std::string line = without_comment(raw);
    const std::string bare = trimmed(line);
    const bool is_toml = kind_ == Kind::toml;
    if (!is_toml && bare.starts_with("-") && bare != "---" && !above.empty()) {
      std::string path;
      for (const auto& [unused, part] : above) path += (path.empty() ? "" : ".") + part;
      lists_.insert(path);
      lines_.emplace(path, number);
    }
    if (bare.empty() || bare == "---" || bare.front() == '-') continue;
    if (is_toml && bare.front() == '[') {
      if (bare.back() == ']') table = trimmed(bare.substr(1, bare.size() - 2));
      continue;
    }
    const std::size_t sign = bare.find(is_toml ? '=' : ':');
    if (sign == std::string::npos) continue;
    const std::string name = unquoted(bare.substr(0, sign));
    const std::string value = unquoted(bare.substr(sign + 1));
    if (!is_name(name)) continue;
    if (is_toml) {
      set(table.empty() ? name : table + "." + name, value, number);
      continue;
    }
    const std::size_t indent = line.find_first_not_of(" \t");
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    std::string path;
    for (const auto& [unused, part] : above) path += part + ".";
    if (value.empty())
      above.emplace_back(indent, name);
    else
      set(path + name, value, number);
  }
  if (kind_ == Kind::yaml) resolve_references();
}

// "${model.micro_batch_size}" of OmegaConf: what stands there. What goes round in a circle stays.
void FlatSettings::resolve_references() {
  constexpr int most_steps = 10;
  for (auto& [name, value] : values_)
    for (int step = 0; step < most_steps && value.starts_with("${") && value.back() == '}';
         ++step) {
      const auto found = values_.find(value.substr(2, value.size() - 3));
      if (found == values_.end()) break;
      const std::string other = found->second;
      value = other;
    }
}

void FlatSettings::read_members(const Json& json, const std::string& prefix) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_object())
      read_members(value, prefix + name + ".");
    else if (!value.is_array() && !value.is_null())
      set(prefix + name,
          value.is_string()   ? value.get<std::string>()
          : value.is_number() ? text_of_number(value)
                              : value.dump(),
          0);
  }
}

void FlatSettings::set(const std::string& name, const std::string& value, int line) {
  // The last one counts, as in the programs that read such files.
  values_[name] = value;
  lines_[name] = line;
}

std::optional<std::string> FlatSettings::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second == "null" || found->second == "~" ||
      found->second == "None")
    return std::nullopt;
  return found->second;
}

std::optional<std::string> FlatSettings::find_any(const std::vector<std::string>& names) const {
  std::optional<std::string> value;
  std::string first;
  for (const std::string& name : names) {
    const auto one = find(name);
    if (!one) continue;
    if (value && *value != *one) fail(name, "is " + *one + ", but " + first + " is " + *value);
    value = one;
    first = name;
  }
  return value;
}

int64_t FlatSettings::whole(const std::string& name, const std::string& value, int64_t least,
                            int64_t most) const {
  int64_t number = 0;
  double real = 0;
  const char* end = value.data() + value.size();
  if (const auto parsed = std::from_chars(value.data(), end, number);
      parsed.ec != std::errc() || parsed.ptr != end) {
    // 2e8, as some write it.
    const auto again = std::from_chars(value.data(), end, real);
    number = static_cast<int64_t>(std::abs(real) < 1e15 ? real : 0);
    if (again.ec != std::errc() || again.ptr != end || static_cast<double>(number) != real)
      number = least - 1;
  }
  if (number < least || number > most)
    fail(name, "expected a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most) + ", got \"" + value.substr(0, 60) + "\"");
  return number;
}

bool FlatSettings::flag(const std::string& name, const std::string& value) const {
  for (const char* yes : {"true", "True", "1", "yes", "on"})
    if (value == yes) return true;
  for (const char* no : {"false", "False", "0", "no", "off"})
    if (value == no) return false;
  // A flag of a command line, before a word that is none of its own.
  if (kind_ == Kind::flags) return true;
  fail(name, "expected true or false, got \"" + value.substr(0, 60) + "\"");
}

void FlatSettings::fail(const std::string& name, const std::string& sentence) const {
  const auto line = lines_.find(name);
  const bool is_flag =
      kind_ == Kind::flags && std::isupper(static_cast<unsigned char>(name.front())) == 0;
  const bool has_line = line != lines_.end() && line->second > 0;
  throw InputError(file_ + (has_line ? ": line " + std::to_string(line->second) : ""),
                   (is_flag ? "--" : "") + name + ": " + sentence);
}

}  // namespace sgdsim
