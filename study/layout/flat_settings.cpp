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
#include "sim/core/named.h"
#include "study/layout/python_settings.h"
#include "study/layout/shell_settings.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_bytes = 4'000'000;

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
        is_setting_name(trimmed(bare.substr(1, bare.size() - 2))))
      return true;
  }
  return false;
}

}  // namespace

FlatSettings FlatSettings::read(const std::string& text, const std::string& file,
                                const std::string& recipe) {
  FlatSettings settings;
  settings.file_ = file;
  if (text.size() > most_bytes)
    throw InputError(file, "expected a configuration of at most " + std::to_string(most_bytes) +
                               " bytes, got " + std::to_string(text.size()));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw InputError(file, "it is empty");
  if (first_of_json(text) == '{') {
    settings.kind_ = Kind::json;
    settings.read_members(foreign_json(text, file), "");
  } else if (!recipe.empty() || is_python(text)) {
    settings.kind_ = Kind::python;
    settings.read_python(text, recipe);
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
      lists_[path].push_back(unquoted(bare.substr(1)));
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
    if (!is_setting_name(name)) continue;
    if (is_toml) {
      set(table.empty() ? name : table + "." + name, value, number);
      continue;
    }
    const std::size_t indent = line.find_first_not_of(" \t");
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    std::string path;
    for (const auto& [unused, part] : above) path += part + ".";
    if (value.empty() && !(above.empty() && name == "ConfigContainer"))  // whose members these are
      above.emplace_back(indent, name);
    else if (value.empty())
      continue;
    else
      set(path + name, value, number);
  }
  if (kind_ == Kind::yaml) resolve_references();
}

void FlatSettings::read_python(const std::string& text, const std::string& recipe) {
  const auto blocks = python_blocks(text);
  const auto says_layout = [&](const std::string& name) {
    for (const auto& [key, setting] : all_settings(blocks, name))
      for (const char* size : {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                               "context_parallel_size", "micro_batch_size"})
        if (key.ends_with(size)) return true;
    return false;
  };
  std::vector<std::string> names;
  for (const auto& [name, block] : blocks)
    if (says_layout(name)) names.push_back(name);
  std::string chosen = recipe;
  if (names.empty())
    throw InputError(file_,
                     "no function or call in it sets tensor_model_parallel_size or another size of "
                     "a layout");
  if (recipe.empty()) {
    if (names.size() > 1) {
      constexpr std::size_t most_named = 8;
      std::string some;
      for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
        some += (i == 0 ? "" : ", ") + names[i];
      throw InputError(file_, "it has " + std::to_string(names.size()) +
                                  " recipes; say which one, as FILE.py:" + names.front() + " (" +
                                  some + (names.size() > most_named ? ", ..." : "") + ")");
    }
    chosen = names.front();
  } else if (std::find(names.begin(), names.end(), recipe) == names.end()) {
    throw InputError(file_, unknown_name("recipe", recipe, names));
  }
  missing_ = missing_parents(blocks, chosen);
  for (const auto& [name, setting] : all_settings(blocks, chosen)) {
    set(name, setting.value, setting.line);
    // Adapters are set where a recipe has some.
    if (setting.is_in_branch && !name.starts_with("peft.")) in_branches_.insert(name);
  }
}

namespace {

std::string beside_of(const std::string& name, const std::string& reference) {
  std::string place = name;
  std::size_t dots = 0;
  while (dots < reference.size() && reference[dots] == '.') {
    const std::size_t last = place.rfind('.');
    place = last == std::string::npos ? "" : place.substr(0, last);
    ++dots;
  }
  return (place.empty() ? "" : place + ".") + reference.substr(dots);
}

}  // namespace

// "${model.micro_batch_size}" of OmegaConf: what stands there. What goes round in a circle stays.
void FlatSettings::resolve_references() {
  constexpr int most_steps = 10;
  for (auto& [name, value] : values_) {
    std::string place = name;  // where the value stands
    for (int step = 0; step < most_steps && value.starts_with("${") && value.back() == '}';
         ++step) {
      const std::string inside = value.substr(2, value.size() - 3);
      // "${oc.env:NAME,4}": an environment is not read, but what stands for it is there.
      if (const std::size_t comma = inside.find(',');
          inside.starts_with("oc.env:") && comma != std::string::npos) {
        value = unquoted(inside.substr(comma + 1));
        continue;
      }
      // "${.name}" lies beside, "${..name}" one above.
      const auto found = values_.find(inside.starts_with(".") ? beside_of(place, inside) : inside);
      if (found == values_.end()) break;
      const std::string other = found->second;
      place = found->first;
      value = other;
    }
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
  if (in_branches_.contains(name))
    fail(name, "is set below an if, so that its value is not known; say the layout in words");
  return found->second;
}

std::optional<std::vector<std::string>> FlatSettings::list(const std::string& name) const {
  if (const auto found = lists_.find(name); found != lists_.end()) return found->second;
  auto value = find(name);
  if (!value) return std::nullopt;
  if (value->starts_with("[") && value->ends_with("]"))
    *value = value->substr(1, value->size() - 2);
  std::vector<std::string> all;
  std::istringstream words(*value);
  for (std::string word; std::getline(words, word, ',');)
    if (word = unquoted(word); !word.empty()) all.push_back(word);
  return all;
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
