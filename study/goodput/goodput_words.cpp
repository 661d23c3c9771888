// Words on top of a file.
#include "study/goodput/goodput_words.h"

#include <algorithm>
#include <iterator>

#include "sim/core/error.h"
#include "sim/core/worked_on.h"
#include "study/goodput/goodput_answer.h"
#include "study/goodput/goodput_output.h"
#include "study/goodput/goodput_sweep.h"
#include "study/step/override.h"

namespace sgdsim {
namespace {

constexpr int most_threads = 256;

// A word that stands for a field; those that are no text are JSON.
struct WordOfField {
  const char* field;
  std::string GoodputWords::*word;
  bool is_text;
};
constexpr WordOfField words_of_fields[] = {
    {"step", &GoodputWords::step, true},
    {"steps", &GoodputWords::steps, false},
    {"tokens", &GoodputWords::tokens, true},
    {"tokens_per_step", &GoodputWords::tokens_per_step, true},
    {"nodes", &GoodputWords::nodes, false},
    {"failures", &GoodputWords::failures, true},
    {"spares", &GoodputWords::spares, false},
    {"until", &GoodputWords::until, true},
    {"risk", &GoodputWords::risk, false},
    {"runs", &GoodputWords::runs, false},
    {"seed", &GoodputWords::seed, false},
    {"save.interval", &GoodputWords::interval, true}};

// Whether a setting says the field: by its name, or within an object.
bool says(const std::string& setting, const std::string& field) {
  const std::string path = path_of_setting(setting);
  if (path == field) return true;
  if (!field.starts_with(path + ".")) return false;
  Json said = Json::object();
  apply_settings(said, {setting});
  return said.at(path).contains(field.substr(path.size() + 1));
}

std::string written_option(const std::string& field) {
  if (field == "save.interval") return "--interval";
  std::string option = "--" + field;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

// Whether the command line gives a field a value.
bool gives(const GoodputWords& words, const std::string& field) {
  for (const WordOfField& one : words_of_fields)
    if (field == one.field && !(words.*one.word).empty()) return true;
  return std::any_of(words.settings.begin(), words.settings.end(),
                     [&](const std::string& setting) {
                       return says(setting, field) && !setting.ends_with("=null");
                     }) ||
         std::any_of(words.axes.begin(), words.axes.end(),
                     [&](const std::string& axis) { return path_of_setting(axis) == field; });
}

void erase_field(Json& json, const std::string& path) {
  const std::size_t dot = path.find('.');
  if (!json.is_object()) return;
  if (dot == std::string::npos)
    json.erase(path);
  else if (json.contains(path.substr(0, dot)))
    erase_field(json[path.substr(0, dot)], path.substr(dot + 1));
}

// What a file says in one way, the command line may say in the other one.
void remove_other_ways(const GoodputWords& words, Json& json) {
  using Ways = std::vector<std::string>;
  const std::vector<std::pair<Ways, Ways>> all = {{{"save.interval"}, {"save.every_steps"}},
                                                  {{"steps"}, {"tokens", "tokens_per_step"}}};
  // A way is said whole, by words and the file.
  const auto replace = [&](const Ways& given, const Ways& others) {
    const auto is_given = [&](const std::string& field) { return gives(words, field); };
    const auto is_there = [&](const std::string& field) {
      return is_given(field) || (json.is_object() && json.contains(field));
    };
    if (std::any_of(given.begin(), given.end(), is_given) &&
        std::all_of(given.begin(), given.end(), is_there))
      for (const std::string& field : others) erase_field(json, field);
  };
  for (const auto& [one, other] : all) {
    replace(one, other);
    replace(other, one);
  }
}

}  // namespace

Fields goodput_fields(GoodputWords& words) {
  return {
      Field("question", words.file, "a question (JSON); - is standard input").option("QUESTION"),
      {"step", words.step, "time of a step, as 8.2 s"},
      {"steps", words.steps, "number of steps"},
      {"tokens", words.tokens, "number of tokens, as 15T, with --tokens-per-step"},
      {"tokens_per_step", words.tokens_per_step, "tokens of all GPUs together, as 16M"},
      {"nodes", words.nodes, "number of nodes; each is replaced as a whole"},
      {"failures", words.failures, "a name of `sgdsim list failures`, or a file"},
      {"spares", words.spares, "nodes that wait to replace others (default: always one)"},
      {"until", words.until, "a time from the start: how likely is the end before it?"},
      {"risk", words.risk, "risk that spares are not enough (default: 0.01)"},
      {"runs", words.runs, "number of runs to simulate (default: 10000)"},
      {"seed", words.seed, "seed of what is drawn (default: 1)"},
      {"interval", words.interval, "time between saves, or best (default)"},
      {"set", words.settings, "change a field of the question: save.stall=30s"},
      {"axis", words.axes,
       "values of a field, each of which is asked: nodes=256..4096, save.stall=1s,10s,1min"},
      Field("threads", words.threads, "number of threads (default: all cores)")
          .from(1, most_threads)
          .option("-j,--threads")};
}

// Paths in words count from here, and those in the file from its folder.
Json goodput_json(const GoodputWords& words, std::string& file) {
  Json json = Json::object();
  if (!words.file.empty()) {
    const Document document = Document::read(words.file);
    json = document.root().json();
    file = document.root().file();  // "inline" of JSON itself
  }
  // An object that is set whole goes before an option that is within it.
  const auto is_around_option = [&](const std::string& setting) {
    const std::string path = path_of_setting(setting) + ".";
    return std::any_of(
        std::begin(words_of_fields), std::end(words_of_fields), [&](const WordOfField& one) {
          return !(words.*one.word).empty() && std::string_view(one.field).starts_with(path);
        });
  };
  for (const WordOfField& one : words_of_fields)
    for (const std::string& setting : words.settings)
      if (!(words.*one.word).empty() && says(setting, one.field))
        throw InputError(written_option(one.field),
                         "--set says " + std::string(one.field) + ", too; give one of them");
  std::vector<std::string> settings = words.settings;
  const auto rest = std::stable_partition(settings.begin(), settings.end(), is_around_option);
  remove_other_ways(words, json);
  apply_settings(json, {settings.begin(), rest});
  for (const WordOfField& one : words_of_fields) {
    const std::string& text = words.*one.word;
    const std::string option = written_option(one.field);
    if (!text.empty())
      set_field(json, sgdsim::steps_of(one.field, option),
                one.is_text && !text.starts_with('{') ? Json(text) : value_in(text, option),
                option);
  }
  apply_settings(json, {rest, settings.end()});
  if (!json.is_object())
    throw InputError(file, "expected a JSON object, as {\"step\": \"8 s\", ...}");
  return json;
}

GoodputQuestion goodput_question(const GoodputWords& words, const std::function<void()>& look) {
  std::string file = "options";
  const Json json = goodput_json(words, file);
  return read_goodput_question(Value(json, file, ""), look);
}

int threads_of(const GoodputWords& words) {
  constexpr int most = 16;  // more find no work
  return words.threads > 0 ? words.threads : std::min(most, all_cores());
}

Answer answer_goodput(const Value& asked, const Watch& watch) {
  GoodputWords words = words_of(asked, goodput_fields);
  if (!words.axes.empty()) {
    const GoodputSweep sweep(words);
    return answer_points(sweep.points(),
                         [&](int64_t number) { return sweep.answer(number, watch); });
  }
  const GoodputQuestion question = goodput_question(words, watch);
  const GoodputAnswer answer = answer_goodput(question, threads_of(words), watch);
  return {to_json(question, answer), answer.warnings};
}

}  // namespace sgdsim
