// One pass over words, or over lines.
#include "study/layout/flat_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/named.h"
#include "study/layout/python_settings.h"
#include "study/layout/setting_text.h"
#include "study/layout/shell_script.h"
#include "study/layout/shell_unread.h"
#include "study/layout/shell_variables.h"
#include "study/layout/table_settings.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_bytes = 4'000'000;
constexpr const char* not_run = ", which is not known without running it; write its value there";

// At the beginning of a word, of a text in quotes, or of a list.
bool has_flags(const std::string& text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    const bool is_start =
        at == 0 || std::string(" \t\n\"'(=").find(text[at - 1]) != std::string::npos;
    const std::size_t next = at + 2;
    if (is_start && next + 1 < text.size() &&
        std::isalpha(static_cast<unsigned char>(text[next])) != 0 &&
        std::isspace(static_cast<unsigned char>(text[next + 1])) == 0)
      return true;
  }
  return false;
}

// In YAML there may be other flags, in scripts that it holds; and flags may be its names.
bool has_flags_of_layouts(const std::string& text) {
  for (const std::string flag : {"--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                                 "--context-parallel-size", "--micro-batch-size"})
    if (const std::size_t at = text.find(flag); at != std::string::npos)
      return text.compare(at + flag.size(), 1, ":") != 0;
  return false;
}

bool has_line(const std::string& text, bool (*is_one)(const std::string&)) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (is_one(trimmed(without_comment(line)))) return true;
  return false;
}

// "export NAME=value" or ": ${NAME:=value}" of a script without flags.
bool is_export(const std::string& line) {
  return (line.starts_with("export ") || line.starts_with(": \"$") || line.starts_with(": $")) &&
         line.find('=') != std::string::npos;
}

// "[parallelism]": a table of TOML.
bool is_table(const std::string& line) {
  return line.size() > 2 && line.front() == '[' && line.back() == ']' &&
         is_setting_name(trimmed(line.substr(1, line.size() - 2)));
}

// "training.seq_len = 1", where no table is.
bool is_assignment(const std::string& line) {
  const std::size_t sign = line.find(" = ");
  return sign != std::string::npos && is_setting_name(line.substr(0, sign));
}

// "{model: {...": braces of YAML, whose names need no quotes. JSON has quotes or a comment there.
bool is_braces_of_yaml(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n", text.find('{') + 1);
  return first != std::string::npos && std::isalpha(static_cast<unsigned char>(text[first])) != 0;
}

bool is_named(const std::string& file, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return file.ends_with(ending); });
}

// Scripts of a shell may hold some of Python.
bool is_shell(const std::string& text, const std::string& file) {
  const bool names_it = text.starts_with("#!") && text.substr(0, text.find('\n')).ends_with("sh");
  return names_it || is_named(file, {".sh", ".bash", ".slurm", ".sbatch"});
}

// By the ending of its name where that says it, or by what it begins with or has.
FlatSettings::Kind kind_of(const std::string& text, const std::string& file,
                           const std::string& recipe) {
  using Kind = FlatSettings::Kind;
  const bool is_yaml = is_named(file, {".yaml", ".yml"}) && !has_flags_of_layouts(text);
  if (first_of_json(text) == '{')
    return is_yaml || is_braces_of_yaml(text) ? Kind::yaml : Kind::json;
  if (recipe.empty() && is_shell(text, file)) return Kind::flags;
  if (!recipe.empty() || is_python(text)) return Kind::python;
  if (is_yaml) return Kind::yaml;
  if (is_named(file, {".toml"}) || has_line(text, is_table)) return Kind::toml;
  if (has_flags(text) || has_line(text, is_export)) return Kind::flags;
  return has_line(text, is_assignment) ? Kind::toml : Kind::yaml;
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
  settings.kind_ = kind_of(text, file, recipe);
  switch (settings.kind_) {
    case Kind::json:
      settings.read_members(foreign_json(text, file), "");
      break;
    case Kind::python:
      settings.read_python(text, recipe);
      break;
    case Kind::toml:
      settings.read_tables(toml_settings(text, file));
      break;
    case Kind::yaml:
      settings.read_tables(yaml_settings(text, file));
      break;
    case Kind::flags:
      settings.read_script(text);
      break;
  }
  return settings;
}

void FlatSettings::read_script(const std::string& text) {
  const ShellScript script = shell_script(text, file_);
  for (const ShellCommand& one : script.others) {
    FlatSettings other;
    other.file_ = file_;
    other.line_ = one.line;
    other.read_flags(one.words, script);
    others_.push_back(std::move(other));
  }
  read_flags(script.training.words, script);
  line_ = script.training.line;
  end_line_ = script.end_line;
  sourced_ = script.sourced;
}

void FlatSettings::read_flags(const std::vector<ShellWord>& words, const ShellScript& script) {
  for (const ShellWord& word : words) words_.push_back(word.text);
  not_known_ = words_not_known(words, script.unset);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is_flag()) continue;
    ShellWord value = words[i];
    std::string name = value.text.substr(2);
    const std::size_t equals = name.find_first_of("= ");  // or both in quotes: "--size 4"
    std::vector<std::string> all;
    if (equals != std::string::npos) all.push_back(name.substr(equals + 1));
    name = name.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    for (; i + 1 < words.size() && !words[i + 1].text.empty() && !words[i + 1].is_flag(); ++i) {
      if (all.empty() && equals == std::string::npos && words[i + 1].may_differ)
        mark(value, words[i + 1].why);
      all.push_back(words[i + 1].text);
    }
    value.text = all.empty() ? "true" : all.front();
    set(name, value);
    lists_[name] = all;
  }
  for (const auto& [name, value] : script.variables)
    if (std::isupper(static_cast<unsigned char>(name.front())) != 0) set(name, value);
}

void FlatSettings::set(const std::string& name, const ShellWord& word) {
  const auto before = values_.find(name);
  const bool is_same = before != values_.end() && before->second == word.text;
  if (word.may_differ && !is_same) unsure_[name] = word.why;
  if (!word.may_differ) unsure_.erase(name);
  set(name, word.text, word.line);
}

namespace {

// Of tables whose members are those of the whole.
std::size_t whole_prefix(const std::string& name) {
  for (const std::string_view whole : {"ConfigContainer.", "modules.pre_trainer.overrides."})
    if (name.starts_with(whole)) return whole.size();
  return 0;
}

}  // namespace

void FlatSettings::read_tables(const std::vector<TableSetting>& all) {
  for (const TableSetting& one : all)
    set(one.name.substr(whole_prefix(one.name)), one.value, one.line);
  if (kind_ != Kind::yaml) return;
  resolve_references();
  read_arguments();
}

// "MODEL_ARGS:" of Megatron-LM's tests, below which "--micro-batch-size: 1" is the flag.
void FlatSettings::read_arguments() {
  constexpr std::string_view below = "MODEL_ARGS.--";
  const auto first = values_.lower_bound(std::string(below));
  if (first == values_.end() || !first->first.starts_with(below)) return;
  const auto all = std::exchange(values_, {});
  const auto lines = std::exchange(lines_, {});
  kind_ = Kind::flags;
  for (const auto& [name, value] : all) {
    if (!name.starts_with(below)) continue;
    std::string text = value;
    std::erase(text, '\\');  // a shell gets it
    std::string flag = name.substr(below.size());
    std::replace(flag.begin(), flag.end(), '_', '-');
    set(flag, text, lines.at(name));
  }
}

void FlatSettings::read_python(const std::string& text, const std::string& recipe) {
  const auto recipes = python_recipes(text, file_);
  const auto says_layout = [](const PythonRecipe& one) {
    for (const auto& [key, setting] : one.settings)
      for (const char* size : {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                               "context_parallel_size", "expert_model_parallel_size",
                               "micro_batch_size", "_parallel_degree", "local_batch_size"})
        if (key.ends_with(size)) return true;
    return false;
  };
  std::vector<std::string> names;
  for (const auto& [name, one] : recipes)
    if (says_layout(one)) names.push_back(name);
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
  missing_ = recipes.at(chosen).missing;
  for (const auto& [name, setting] : recipes.at(chosen).settings) {
    set(name, setting.value, setting.line);
    // Adapters are set where a recipe has some, and are what their function is called.
    const bool are_adapters = name == "peft" || name.starts_with("peft.");
    if (setting.is_in_branch && !are_adapters) unsure_[name] = Unsure::below_test;
    if (!setting.is_known && name != "peft") unknown_.insert(name);
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

// "${PRIMUS_TP:1}": an environment is not read, but what stands for it is there.
std::string value_or_usual(const std::string& value) {
  const std::size_t colon = value.find(':');
  if (!value.starts_with("${") || value.back() != '}' || colon == std::string::npos) return value;
  const bool is_variable = std::all_of(
      value.begin() + 2, value.begin() + static_cast<std::ptrdiff_t>(colon),
      [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_'; });
  return is_variable && colon > 2 ? value.substr(colon + 1, value.size() - colon - 2) : value;
}

}  // namespace

// "${model.micro_batch_size}" of OmegaConf: what stands there. What goes round in a circle stays.
void FlatSettings::resolve_references() {
  constexpr int most_steps = 10;
  for (auto& [name, value] : values_) {
    std::string place = name;  // where the value stands
    value = value_or_usual(value);
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
    else if (!value.is_null())
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

namespace {

std::string reason_of(Unsure why) {
  if (why == Unsure::in_loop) return "changes in a loop";
  if (why == Unsure::by_command) return "is set by a command that would have to be run";
  return "is set below an if";
}

}  // namespace

std::optional<std::string> FlatSettings::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second == "null" || found->second == "~" ||
      found->second == "None")
    return std::nullopt;
  if (const auto unsure = unsure_.find(name); unsure != unsure_.end())
    fail(name, reason_of(unsure->second) +
                   ", so that its value is not known; write its value there, or say the layout in "
                   "words");
  if (unknown_.contains(name)) fail(name, "is \"" + found->second + "\"" + not_run);
  return found->second;
}

std::optional<std::vector<std::string>> FlatSettings::list(const std::string& name) const {
  auto value = find(name);
  if (!value) return std::nullopt;
  if (const auto found = lists_.find(name); found != lists_.end()) return found->second;
  if (value->starts_with("[") && value->ends_with("]"))
    *value = value->substr(1, value->size() - 2);
  std::vector<std::string> all;
  // "[moe_act mlp]" is one, too.
  if (value->find(',') == std::string::npos) std::replace(value->begin(), value->end(), ' ', ',');
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
  if (number >= least && number <= most) return number;
  if (kind_ == Kind::flags && (value.starts_with("$") || value.starts_with("`")))
    fail(name, "is " + value.substr(0, 60) + not_run);
  fail(name, "expected a whole number from " + std::to_string(least) + " to " +
                 std::to_string(most) + ", got \"" + value.substr(0, 60) + "\"");
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
