// Reading the sweep again, and trying two points.
#include "app/report/reproduce.h"

#include "sim/core/error.h"
#include "study/beside.h"
#include "study/step/override.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {
namespace {

// A text that would be read as JSON is quoted, so that it stays a text.
std::string setting_of(const std::string& field, const Json& value) {
  if (!value.is_string()) return field + "=" + value.dump();
  const std::string text = value;
  return field + "=" + (Json::accept(text) ? value.dump() : text);
}

struct BaseOfRun {
  std::string experiment;
  std::vector<std::string> settings;
};

// What `sgdsim run` needs before the settings of a point; nothing if it stands inside the sweep.
std::optional<BaseOfRun> base_of(const AskedSweep& asked) {
  const Document document = Document::read(asked.file);
  const Json& json = document.root().json();
  if (!json.contains("base")) return BaseOfRun{asked.file, asked.settings};
  if (!json["base"].is_string()) return std::nullopt;
  BaseOfRun base{beside(asked.file, json["base"]), {}};
  if (json.contains("set"))
    for (const auto& [field, value] : json["set"].items())
      base.settings.push_back(setting_of(field, value));
  base.settings.insert(base.settings.end(), asked.settings.begin(), asked.settings.end());
  return base;
}

bool gives(const BaseOfRun& base, const Json& point) {
  std::vector<std::string> settings = base.settings;
  for (const auto& [field, value] : point["axes"].items())
    settings.push_back(setting_of(field, value));
  try {
    const Experiment experiment = read_experiment(resolve_experiment(base.experiment, settings));
    return id_of(experiment.inputs) == point["id"];
  } catch (const InputError&) {
    return false;  // a trace named from the sweep's folder, a field of a word
  }
}

}  // namespace

std::optional<Json> reproduction_of(const AnswerRows& rows, const AskedSweep& asked) {
  const Sweep sweep = read_sweep(asked.file, asked.settings, asked.axes);
  if (sweep.id != rows.sweep) return std::nullopt;
  Json words = Json::array({asked.file});
  for (const std::string& axis : asked.axes) words.insert(words.end(), {"--axis", axis});
  for (const std::string& setting : asked.settings) words.insert(words.end(), {"--set", setting});
  Json commands = {{"sweep", words}};
  const std::optional<BaseOfRun> base = base_of(asked);
  if (!base || rows.first.is_null()) return commands;
  if (!gives(*base, rows.first) || !gives(*base, rows.last)) return commands;
  Json run = Json::array({base->experiment});
  for (const std::string& setting : base->settings) run.insert(run.end(), {"--set", setting});
  commands["run"] = run;
  return commands;
}

}  // namespace sgdsim
