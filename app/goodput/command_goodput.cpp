// `sgdsim goodput`: the whole run, with its failures, saves and spares: days, cost and risk.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <thread>

#include "app/commands.h"
#include "app/goodput/goodput_output.h"
#include "app/interrupt.h"
#include "app/step/override.h"
#include "app/usage.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr int most_threads = 256;

struct GoodputArguments {
  std::string file;
  // Options that stand for fields, with what was typed.
  std::vector<std::pair<std::string, std::string>> fields = {
      {"step", ""},  {"steps", ""},    {"tokens", ""}, {"tokens_per_step", ""},
      {"nodes", ""}, {"failures", ""}, {"spares", ""}, {"until", ""},
      {"risk", ""},  {"runs", ""},     {"seed", ""},   {"save.interval", ""}};
  std::vector<std::string> settings;
  int threads = 0;
  std::string format = "table";
};

std::string option_of(const std::string& field) {
  if (field == "save.interval") return "--interval";
  std::string option = "--" + field;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

// Words and times stay text; what reads as a number is one where the field counts.
Json value_of_option(const std::string& field, const std::string& text) {
  const bool is_text = field == "step" || field == "tokens" || field == "tokens_per_step" ||
                       field == "failures" || field == "until" || field == "save.interval";
  return is_text ? Json(text) : value_in(text, option_of(field));
}

// Paths in options count from here, and those in the file from its folder.
Json merged(const GoodputArguments& arguments, std::string& file) {
  Json json = Json::object();
  if (!arguments.file.empty()) {
    json = Document::read(arguments.file).root().json();
    file = arguments.file;
  }
  for (const auto& [field, text] : arguments.fields)
    if (!text.empty())
      set_field(json, steps_of(field, option_of(field)), value_of_option(field, text),
                option_of(field));
  apply_settings(json, arguments.settings);
  return json;
}

void ask(const GoodputArguments& arguments, Streams streams) {
  std::string file = "options";
  const Json json = merged(arguments, file);
  if (!json.is_object())
    throw InputError(file, "expected a JSON object, as {\"step\": \"8 s\", ...}");
  const GoodputQuestion question = read_goodput_question(Value(json, file, ""));
  Interrupt interrupt;
  const int all = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  const GoodputAnswer answer =
      answer_goodput(question, arguments.threads > 0 ? arguments.threads : all,
                     [&] { interrupt.throw_if_asked(); });
  for (const std::string& warning : answer.warnings) streams.log << "sgdsim: " << warning << '\n';
  if (arguments.format == "json")
    streams.out << to_json(question, answer).dump(2) << '\n';
  else
    print(streams.out, question, answer);
}

}  // namespace

void add_goodput_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "goodput", "When a training ends that fails, saves and restarts, and what it costs.");
  auto arguments = std::make_shared<GoodputArguments>();
  command->add_option("QUESTION", arguments->file, "a question (JSON); - is standard input");
  const std::vector<std::pair<std::string, std::string>> helps = {
      {"step", "time of a step, as 8.2 s"},
      {"steps", "how many steps"},
      {"tokens", "how many tokens, as 15T, with --tokens-per-step"},
      {"tokens_per_step", "of all GPUs together, as 16M"},
      {"nodes", "how many nodes; each is replaced as a whole"},
      {"failures", "a name of `sgdsim list failures`, or a file"},
      {"spares", "nodes that wait to replace others (default: always one)"},
      {"until", "a time from the start: how likely is the end before it?"},
      {"risk", "that spares are not enough (default: 0.01)"},
      {"runs", "how many runs are played (default: 10000)"},
      {"seed", "of what is drawn (default: 1)"},
      {"save.interval", "time between saves, or best (default)"}};
  for (auto& [field, text] : arguments->fields) {
    const std::string& name = field;
    const auto help = std::find_if(helps.begin(), helps.end(),
                                   [&](const auto& one) { return one.first == name; });
    command->add_option(option_of(field), text, help->second);
  }
  make_repeatable(command->add_option("--set", arguments->settings,
                                      "change a field of the question: save.stall=30s"));
  command->add_option("-j,--threads", arguments->threads, "how many threads (default: all cores)")
      ->check(CLI::Range(1, most_threads));
  command->add_option("--format", arguments->format, "table or json (default: table)")
      ->check(one_of("format", {"table", "json"}));
  command->footer(
      "Examples:\n"
      "  sgdsim goodput app/goodput_questions/llama3_405b.json --until '60 days'\n"
      "  sgdsim goodput --step 8s --steps 100000 --nodes 256 --failures rsc1_a100 \\\n"
      "    --set save.stall=10s --set save.durable=1min");
  command->callback([arguments, streams] { ask(*arguments, streams); });
}

}  // namespace sgdsim
