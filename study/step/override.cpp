// Walking a dotted path into a JSON value.
#include "study/step/override.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>

#include "models/strategy/strategy.h"
#include "sim/core/error.h"
#include "study/shell_word.h"
#include "study/shipped_inputs.h"
#include "study/step/collective_field.h"
#include "study/step/meant_field.h"

namespace sgdsim {
namespace {

// Parts that may be given by a name alone, and the field that has it otherwise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> named_parts{
    {{"strategy", "name"},
     {"compression", "name"},
     {"synchronization", "name"},
     {"transport", "name"},
     {"collective", "algorithm"}}};

// A part that is given by its name alone becomes an object, so that it can have other fields.
void open_named(Json& json, const std::string& part) {
  if (!json.is_string()) return;
  for (const auto& [name, field] : named_parts)
    if (part == name) json = {{field, std::move(json)}};
}

Json& enter(Json& json, const std::string& part, const std::string& step,
            const std::string& where) {
  if (json.is_binary()) json = unpacked(json);
  open_named(json, part);
  if (!json.is_array()) {
    if (json.is_null()) json = Json::object();
    if (!json.is_object())
      throw InputError(where, "there is nothing below the value " + json.dump());
    return json[step];
  }
  std::size_t index = 0;
  const auto [end, problem] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (problem != std::errc{} || end != step.data() + step.size() || index >= json.size())
    throw InputError(where,
                     "\"" + step + "\" is no index of a list of " + std::to_string(json.size()));
  return json[index];
}

// Whether the path leads to something without making anything on the way.
bool is_there(const Json& json, const std::vector<std::string>& steps) {
  const Json* field = &json;
  for (const std::string& step : steps) {
    if (field->is_object()) {
      if (!field->contains(step)) return false;
      field = &(*field)[step];
    } else {
      return field->is_array() || field->is_binary();  // its entries are numbered: asked later
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> steps_of(const std::string& path, const std::string& where) {
  std::vector<std::string> steps(1);
  for (const char letter : path) {
    if (letter == '.')
      steps.emplace_back();
    else
      steps.back() += letter;
  }
  for (const std::string& step : steps)
    if (step.empty()) throw InputError(where, "an empty step in the path");
  return steps;
}

std::string option_of_setting(const std::string& setting) {
  const std::string path = path_of_setting(setting);
  std::string option = "--" + path.substr(path.rfind('.') + 1);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

namespace {

// What reads as a number, or as true, is a text in quotes.
std::string with_quotes(const std::string& sentence, const std::string& setting) {
  if (!sentence.starts_with("expected a string, got ")) return sentence;
  const std::string path = path_of_setting(setting);
  const std::string value = setting.substr(path.size() + 1);
  if (value.empty() || value.find_first_of("{}[]\"'\\") != std::string::npos) return sentence;
  return sentence + "; write " + shell_word(path + "=\"" + value + "\"");
}

}  // namespace

void blame_setting(const InputError& error, const std::vector<std::string>& settings,
                   const std::vector<std::pair<std::string, std::string>>& files,
                   const std::string& root, const std::vector<std::string>& options) {
  const std::string text = error.what();
  for (auto setting = settings.rbegin(); setting != settings.rend(); ++setting) {
    std::vector<std::string> steps = steps_of(setting->substr(0, setting->find('=')), "--set");
    std::string place = root;
    for (const auto& [field, file] : files)
      if (!file.empty() && steps.front() == field && steps.size() > 1) {
        place = file + ": ";
        steps.erase(steps.begin());
        break;
      }
    const bool is_option = std::find(options.begin(), options.end(), *setting) != options.end();
    const std::string where =
        is_option ? option_of_setting(*setting) : "--set " + setting->substr(0, 80);
    // The field itself, or one around it that its reader does not know.
    for (const std::string& step : steps) {
      const std::string parent = place + (place.ends_with(' ') ? "/" : "") + ": ";
      if (text.starts_with(parent + "unknown field \"" + step + "\""))
        throw InputError(where,
                         with_meant_field(text.substr(parent.size()), path_of_setting(*setting)));
      place += "/" + step;
    }
    const std::string of_option = place + " " + steps.back() + ": ";  // of a collective
    if (text.starts_with(of_option)) throw InputError(where, text.substr(of_option.size()));
    if (text.starts_with(place + ": "))
      throw InputError(where, is_option ? text.substr(place.size() + 2)
                                        : with_quotes(text.substr(place.size() + 2), *setting));
    if (text.starts_with(place + "/")) throw InputError(where, text.substr(place.size()));
  }
}

Json value_in(const std::string& text, const std::string& where) {
  return check_text(text, where) ? Json::parse(text) : Json(text);
}

void set_field(Json& json, const std::vector<std::string>& steps, Json value,
               const std::string& where) {
  if (value.is_null() && !is_there(json, steps)) return;
  // A field of the strategy that there is without one being named.
  if (steps.size() > 1 && steps.front() == "strategy" && steps[1] != "name" && json.is_object() &&
      !json.contains("strategy"))
    json["strategy"] = usual_strategy;
  Json* field = &json;
  Json* parent = nullptr;
  std::string part;
  for (const std::string& step : steps) {
    parent = field;
    field = &enter(*field, part, step, where);
    part = step;
  }
  if (value.is_null() && parent != nullptr && parent->is_object()) {
    parent->erase(steps.back());
    return;
  }
  *field = part == "collective" ? named_collective(std::move(value)) : std::move(value);
  // Two names of one thing: what is set replaces the other.
  if (parent == nullptr || !parent->is_object()) return;
  if (steps.back() == "bandwidth") parent->erase("per_byte");
  if (steps.back() == "per_byte") parent->erase("bandwidth");
}

std::string path_of_setting(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

std::vector<std::string> outer_first(const std::vector<std::string>& settings) {
  struct Placed {
    std::size_t place = 0;
    std::ptrdiff_t depth = 0;
    const std::string* setting = nullptr;
  };
  constexpr int most_levels = 32;  // no input has as many
  std::vector<Placed> placed;
  std::map<std::string, std::size_t, std::less<>> first_within;  // by the path of what is around it
  for (const std::string& setting : settings) {
    const std::string path = path_of_setting(setting);
    const auto within = first_within.find(path);
    const bool is_removed = setting.substr(path.size()) == "=null";  // stays where it stands
    const std::size_t place =
        within == first_within.end() || is_removed ? placed.size() : within->second;
    placed.push_back({place, std::count(path.begin(), path.end(), '.'), &setting});
    if (is_removed) first_within.erase(path);
    std::size_t end = path.find('.');
    for (int level = 0; level < most_levels && end != std::string::npos; ++level) {
      first_within.try_emplace(path.substr(0, end), placed.size() - 1);
      end = path.find('.', end + 1);
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.place, a.depth) < std::pair(b.place, b.depth);
  });
  std::vector<std::string> ordered;
  for (const Placed& one : placed) ordered.push_back(*one.setting);
  return ordered;
}

std::vector<std::string> on_top(std::vector<std::string> settings,
                                const std::vector<std::string>& later) {
  const std::size_t before = settings.size();
  for (const std::string& setting : later) {
    const std::string path = path_of_setting(setting);
    const bool is_around =
        std::any_of(settings.begin(), settings.begin() + static_cast<std::ptrdiff_t>(before),
                    [&](const std::string& earlier) { return earlier.starts_with(path + "."); });
    if (is_around) settings.push_back(path + "=null");
    settings.push_back(setting);
  }
  return settings;
}

void apply_settings(Json& json, const std::vector<std::string>& given) {
  for (const std::string& setting : outer_first(given)) {
    const std::size_t equals = setting.find('=');
    const std::string where = "--set " + setting.substr(0, 80);
    if (equals == std::string::npos || equals == 0)
      throw InputError(where, "expected path=value, as in nodes=64");
    const std::string text = setting.substr(equals + 1);
    set_field(json, steps_of(setting.substr(0, equals), where), value_in(text, where), where);
  }
}

Json cluster_json(const std::string& name_or_file, const std::vector<std::string>& settings) {
  Json json = cluster_document(name_or_file).root().json();
  apply_settings(json, settings);
  return json;
}

}  // namespace sgdsim
