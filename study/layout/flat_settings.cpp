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
#include "study/layout/flat_kind.h"
#include "study/layout/python_settings.h"
#include "study/layout/setting_text.h"
#include "study/layout/shell_overrides.h"
#include "study/layout/shell_script.h"
#include "study/layout/shell_unread.h"
#include "study/layout/shell_variables.h"
#include "study/layout/table_settings.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_bytes = 4'000'000;
constexpr const char* not_run = ", which is not known without running it; write its value there";

}  // namespace

FlatSettings FlatSettings::read(const std::string& text, const std::string& file,
                                const std::string& recipe) {
  FlatSettings settings;
  settings.file_ = file;
  if (text.size() > most_bytes)
    throw InputError(file, "expected a configuration of at most " + std::to_string(most_bytes) +
                               " bytes, got " + std::to_string(text.size()));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw InputError(file, "it is empty");
  settings.kind_ = kind_of_settings(text, file, recipe);
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

namespace {

// "micro-batch-size" with dashes, and "parallelism.tensor_parallel_degree" without.
std::string flag_as_setting(std::string name) {
  const bool has_dot = name.find('.') != std::string::npos;
  std::replace(name.begin(), name.end(), has_dot ? '-' : '_', has_dot ? '_' : '-');
  return name;
}

}  // namespace

void FlatSettings::read_flags(const std::vector<ShellWord>& words, const ShellScript& script) {
  is_batch_ = !script.header.empty();
  for (const ShellWord& word : words) words_.push_back(word.text);
  not_known_ = words_not_known(words, script.unset);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is_flag()) continue;
    ShellWord value = words[i];
    std::string name = value.text.substr(2);
    const std::size_t equals = name.find_first_of("= ");  // or both in quotes: "--size 4"
    std::vector<std::string> all;
    if (equals != std::string::npos) all.push_back(name.substr(equals + 1));
    name = flag_as_setting(name.substr(0, equals));
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
  if (std::any_of(words.begin(), words.end(),
                  [](const ShellWord& word) { return is_layout_override(word.text); }))
    read_overrides(words);
}

// They change a configuration that stands elsewhere.
void FlatSettings::read_overrides(const std::vector<ShellWord>& words) {
  for (const ShellWord& word : words)
    if (const auto one = override_in(word.text)) {
      ShellWord value = word;
      value.text = one->value;
      set(one->name, value);
    }
  const auto base = values_.find("config-name");
  missing_.insert(base == values_.end() ? "the program's own configuration" : base->second);
}

void FlatSettings::set(const std::string& name, const ShellWord& word) {
  const auto before = values_.find(name);
  const bool is_same = before != values_.end() && before->second == word.text;
  if (word.may_differ && !is_same) unsure_[name] = word.why;
  if (!word.may_differ) unsure_.erase(name);
  set(name, word.text, word.line);
}

namespace {

// "model/llama3" of "model: llama3". Empty: it is the file itself, or what only Hydra takes.
std::string base_of(const std::string& entry) {
  if (entry == "_self_" || entry.starts_with("override ") || entry.ends_with(": null")) return "";
  constexpr std::string_view may_lack = "optional ";
  std::string base = entry.substr(entry.starts_with(may_lack) ? may_lack.size() : 0);
  if (const std::size_t sign = base.find(':'); sign != std::string::npos)
    base = trimmed(base.substr(0, sign)) + "/" + unquoted(base.substr(sign + 1));
  return base;
}

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
  note_bases();
}

// Files that this one begins with: "defaults: [base, _self_]" of Hydra, "_base_: base.yaml".
void FlatSettings::note_bases() {
  const bool has_defaults = find("defaults").value_or("").starts_with("[");
  for (const char* name : {has_defaults ? "defaults" : "_base_", "_base_"})
    for (const std::string& entry : list(name).value_or(std::vector<std::string>{}))
      if (const std::string base = base_of(entry); !base.empty()) missing_.insert(base);
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
    else
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

bool is_null(const std::string& value) {
  return value == "null" || value == "~" || value == "None";
}

std::string reason_of(Unsure why) {
  if (why == Unsure::by_slurm) return "is what Slurm gives the job when it runs";
  if (why == Unsure::in_loop) return "changes in a loop";
  if (why == Unsure::by_command) return "is set by a command that would have to be run";
  return "is set below an if";
}

}  // namespace

std::optional<std::string> FlatSettings::find(const std::string& name) const {
  if (!has_any({name})) return std::nullopt;
  if (const std::string doubt = doubt_on(name); !doubt.empty())
    fail(name, doubt +
                   ", so that its value is not known; write its value there, or say the layout in "
                   "words");
  const std::string& value = values_.at(name);
  if (unknown_.contains(name)) fail(name, "is \"" + value + "\"" + not_run);
  return value;
}

std::string FlatSettings::doubt_on(const std::string& name) const {
  const auto unsure = unsure_.find(name);
  return unsure == unsure_.end() ? "" : reason_of(unsure->second);
}

bool FlatSettings::has_any(const std::vector<std::string>& names) const {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto found = values_.find(name);
    return found != values_.end() && !is_null(found->second);
  });
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
  const bool is_word = name.find('.') != std::string::npos && !lists_.contains(name);  // of Hydra
  const bool is_flag = kind_ == Kind::flags && !is_word &&
                       std::isupper(static_cast<unsigned char>(name.front())) == 0;
  const bool has_line = line != lines_.end() && line->second > 0;
  throw InputError(file_ + (has_line ? ": line " + std::to_string(line->second) : ""),
                   (is_flag ? "--" : "") + name + ": " + sentence);
}

}  // namespace sgdsim
