// One function per question.
#include "app/page/page.h"

#include <array>
#include <exception>
#include <new>
#include <string_view>

#include "app/page/page_files.h"
#include "app/page/page_grid.h"
#include "app/page/page_input.h"
#include "app/page/page_training.h"
#include "models/collective/registry.h"
#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/read_files.h"
#include "study/failure.h"
#include "study/learn/learn_answer.h"
#include "study/learn/learn_fields.h"
#include "study/shell_word.h"
#include "study/step/run_question.h"
#include "study/step/timeline_json.h"
#include "study/version.h"

namespace sgdsim {
namespace {

Json named(std::string_view name, std::string_view meaning) {
  return {{"name", name}, {"meaning", meaning}};
}

// Everything that the page lets people choose from.
Json catalogue(Object&) {
  Json answer = shipped_files();
  for (const StrategyKind& kind : strategies())
    answer["strategies"].push_back(named(kind.name, kind.summary));
  for (const Algorithm& algorithm : algorithms())
    answer["algorithms"].push_back(named(algorithm.name, algorithm.summary));
  answer["algorithms"].push_back(named("auto", "the cheapest of the above"));
  answer["algorithms"].push_back(named("nccl", "NCCL's own tuning model and choice"));
  for (const CompressionKind& kind : compressions())
    answer["compressions"].push_back(named(kind.name, kind.summary));
  answer["version"] = version_number;
  answer["commit"] = version_commit;
  return answer;
}

RunWords words_of(const PageInput& input) {
  RunWords words;
  words.experiment = file_word(input);
  words.cluster = input.cluster;
  words.settings = input.settings;
  return words;
}

// The result as `sgdsim run --format json` prints it, and the command that does.
Json run(Object& fields) {
  const PageInput input = read_page_input(fields.at("input"));
  const RunWords words = words_of(input);
  const RunQuestion question = run_question(words);
  return {{"result", to_json(question, answer_run(words, question, false, {}))},
          {"command", command_of(input, "run --format json")}};
}

// The same file as `sgdsim run --timeline` writes.
Json timeline(Object& fields) {
  const PageInput input = read_page_input(fields.at("input"));
  const RunWords words = words_of(input);
  const RunQuestion question = run_question(words);
  const RunAnswer answer = answer_run(words, question, true, {});
  return {{"timeline", Json::parse(timeline_json(question.experiment, *answer.timeline))},
          {"command", command_of(input, "run --timeline=timeline.json")}};
}

Json plan(Object& fields) {
  const PageInput input = read_page_input(fields.at("input"));
  return {{"plan", to_json(answer_plan(words_of(input), {}))},
          {"command", command_of(input, "plan --format json")}};
}

Json grid(Object& fields) {
  const PageInput input = read_page_input(fields.at("input"));
  return grid_of(input, fields.at("axes"));
}

// Lessons depend on little of what the page lets people change, so they are kept.
constexpr std::size_t most_lessons = 64;
constexpr int most_taught = 64;  // workers: more take too long beside the page's other answers

// What `sgdsim learn --format json` prints for one seed.
Json learn(Object& fields) {
  static LessonMemory memory;
  const PageInput input = read_page_input(fields.at("input"));
  LearnWords words;
  words.experiment = file_word(input);
  words.cluster = input.cluster;
  words.settings = input.settings;
  words.seeds = "1";
  words.iterations = "300";
  words.threads = "1";
  for (const Value& method : fields.at("methods").items()) words.also.push_back(method.text());
  const int workers = read_experiment(resolved_of(input)).cluster.network.workers();
  if (workers > most_taught)
    throw InputError("", std::to_string(workers) + " workers: this page trains with at most " +
                             std::to_string(most_taught) + ", sgdsim learn with more");
  std::vector<std::string> inputs;
  const LearnQuestion question = read_learn_question(words, nullptr, inputs);
  if (memory.size() > most_lessons) memory.clear();
  const Json learned = learned_json(question, learn_all(question, {}, &memory));
  std::string options = "learn --seeds 1 --iterations 300";
  for (const std::string& method : words.also) options += " --also " + shell_word(method);
  return {{"learned", learned}, {"command", command_of(input, options + " --format json")}};
}

Json training(Object& fields) {
  const PageInput input = read_page_input(fields.at("input"));
  const Duration step = Duration::ps(fields.at("step_ps").whole(1, INT64_MAX));
  return training_of_page(input, step, fields.at("goodput").json());
}

Json save(Object& fields) {
  return {{"text", saved_experiment(read_page_input(fields.at("input")))}};
}

struct PageQuestion {
  std::string_view name;
  Json (*answer)(Object& fields) = nullptr;
};

constexpr std::array<PageQuestion, 8> page_questions{{{"catalogue", catalogue},
                                                      {"run", run},
                                                      {"timeline", timeline},
                                                      {"plan", plan},
                                                      {"grid", grid},
                                                      {"learn", learn},
                                                      {"training", training},
                                                      {"save", save}}};

Json answer_to(const std::string& question) {
  const Document document = Document::parse(question, "question");
  Object fields(document.root());
  const Value ask = fields.at("ask");
  for (const PageQuestion& known : page_questions) {
    if (known.name != ask.text()) continue;
    Json answer = known.answer(fields);
    fields.done();
    return answer;
  }
  ask.fail("is no question of the page");
}

template <class F>
std::string answer_or_error(const F& f) {
  auto failed = [](const std::string& sentence, int exit) {
    return Json({{"error", printable(sentence)}, {"exit", exit}}).dump();
  };
  forget_reads();  // each question is a command: a file that was read may be given again
  try {
    return f().dump();
  } catch (const InputError& error) {
    return failed(error.what(), exit_bad_input);
  } catch (const std::bad_alloc&) {
    return failed("failed: there is not enough memory", exit_failure);
  } catch (const std::exception& error) {
    return failed("failed: " + failure_text(error), exit_failure);
  }
}

}  // namespace

std::string page_answer(const std::string& question) {
  return answer_or_error([&] { return answer_to(question); });
}

std::string page_add_file(const std::string& name, const std::string& content) {
  return answer_or_error([&] { return add_file(name, content); });
}

}  // namespace sgdsim
