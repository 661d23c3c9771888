// One table of questions: the name, the schema, and who answers.
#include "study/answer.h"

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <string_view>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/read_files.h"
#include "sim/core/stopper.h"
#include "sim/net/stuck.h"
#include "sim/play/schedules_in_time.h"
#include "study/advise/advise_question.h"
#include "study/collective/collective_answer.h"
#include "study/diagnose/compare_answer.h"
#include "study/failure.h"
#include "study/fit/fit_answer.h"
#include "study/goodput/goodput_words.h"
#include "study/import/profile_question.h"
#include "study/jobs/jobs_answer.h"
#include "study/layout/layout_question.h"
#include "study/layout/model_laws.h"
#include "study/layout/model_show.h"
#include "study/learn/learn_answer.h"
#include "study/need/need_question.h"
#include "study/replay/replay_answer.h"
#include "study/step/run_question.h"
#include "study/step/timeline_json.h"
#include "study/sweep/sweep_question.h"
#include "study/traffic/traffic_answer.h"
#include "study/validate/validation_answer.h"

namespace sgdsim {
namespace {

template <class Words, Fields (*fields_of)(Words&)>
Json described() {
  Words words;
  return schema_of_words(fields_of(words));
}

// Their fields are read together, so that a field of the other is refused by what to ask.
Json run_schema() {
  Json schema = described<RunWords, run_fields>();
  for (const char* name : {"timeline_workers", "timeline_iterations"})
    schema["properties"].erase(name);
  return schema;
}
Json timeline_schema() {
  Json schema = described<RunWords, run_fields>();
  schema["properties"].erase("breaks");
  return schema;
}

Answer answer_run(const Value& question, const Watch& watch) {
  const RunWords words = words_of(question, run_fields);
  check_no_timeline(words, "ask `timeline`");
  const RunQuestion asked = run_question(words);
  const RunAnswer answer = answer_run(words, asked, false, watch);
  return {to_json(asked, answer), answer.warnings};
}

// The file that `run --timeline` writes.
Answer answer_timeline(const Value& question, const Watch& watch) {
  const RunWords words = words_of(question, run_fields);
  if (words.breaks) throw InputError("--breaks", "is no part of a timeline: ask `run`");
  const RunQuestion asked = run_question(words);
  const RunAnswer answer = answer_run(words, asked, true, watch);
  return {Json::parse(timeline_json(asked.experiment, *answer.timeline)), answer.warnings};
}

Answer answer_plan(const Value& question, const Watch& watch) {
  const PlanAnswer answer = answer_plan(words_of(question, plan_fields), watch);
  return {to_json(answer), warnings_of(answer).lines("plans")};
}

struct Question {
  std::string_view name;
  int indent;        // of the JSON that the command line prints
  Json (*schema)();  // its properties
  Answer (*answer)(const Value&, const Watch&);
};

constexpr std::array<Question, 21> questions{
    {{"run", 2, run_schema, answer_run},
     {"timeline", 1, timeline_schema, answer_timeline},
     {"plan", 2, described<RunWords, plan_fields>, answer_plan},
     {"advise", 1, described<AdviseWords, advise_fields>, answer_advise},
     {"learn", 2, described<LearnWords, learn_fields>, answer_learn},
     {"sweep", 1, described<SweepQuestionWords, sweep_question_fields>, answer_sweep},
     {"tune", 2, described<TuneWords, tune_fields>, answer_tune},
     {"need", 2, described<NeedWords, need_fields>, answer_need},
     {"collective", 2, described<CollectiveArguments, collective_fields>, answer_collective},
     {"replay", 1, described<ReplayWords, replay_fields>, answer_replay},
     {"traffic", 1, described<TrafficWords, traffic_fields>, answer_traffic},
     {"jobs", 1, described<JobsWords, jobs_fields>, answer_jobs},
     {"layout", 1, described<LayoutWords, layout_fields>, answer_layout},
     {"model_show", 1, described<ModelShowWords, model_show_fields>, answer_model_show},
     {"model_laws", 1, described<ModelLawsWords, model_laws_fields>, answer_model_laws},
     {"goodput", 2, described<GoodputWords, goodput_fields>, answer_goodput},
     {"fit", 2, described<FitArguments, fit_fields>, answer_fit},
     {"import_profile", 1, described<ProfileWords, profile_question_fields>, answer_import_profile},
     {"diagnose", 2, described<DiagnoseWords, diagnose_fields>, answer_diagnose},
     {"compare", 2, described<CompareWords, compare_fields>, answer_compare},
     {"validate", 1, described<ValidateWords, validate_fields>, answer_validate}}};

const Question& question_named(const Value& ask) {
  std::vector<std::string> known;
  for (const Question& question : questions) {
    if (question.name == ask.text()) return question;
    known.emplace_back(question.name);
  }
  ask.fail(unknown_name("question", ask.text(), known));
}

// The caller's function is called by the thread that asked, and not too often; the other threads
// hear when it has ended the answer.
Watch for_threads(const Watch& watch) {
  if (!watch) return {};
  using Clock = std::chrono::steady_clock;
  struct Turns {
    std::thread::id asker = std::this_thread::get_id();
    std::atomic<bool> ended = false;
    Clock::time_point next;
  };
  const auto turns = std::make_shared<Turns>();
  Watch turned = [&watch, turns] {
    constexpr std::chrono::milliseconds between{10};
    if (std::this_thread::get_id() != turns->asker) {
      if (turns->ended) throw Interrupted();
      return;
    }
    const Clock::time_point now = Clock::now();
    if (now < turns->next) return;
    turns->next = now + between;
    try {
      watch();
    } catch (...) {
      turns->ended = true;
      throw;
    }
  };
  turned.reached = watch.reached;
  return turned;
}

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

AnswerText failed(const std::string& sentence, int code) {
  return {code, "", printable(sentence), "[]", "{}", nullptr};
}

// "cluster.json: /nodes" is a file and a field of it, "--set" a field of the question.
AnswerText refused(const InputError& error) {
  AnswerText text = failed(error.what(), exit_bad_input);
  const std::string& where = error.where();
  const std::string what = error.what();
  const std::size_t gap = where.rfind(": /");
  const bool is_field = where.starts_with("--");
  const std::string file = is_field ? "" : where.substr(0, gap);
  const std::string field = is_field                   ? where
                            : gap == std::string::npos ? ""
                                                       : where.substr(gap + 2);
  const Json place = {{"file", file},
                      {"field", field},
                      {"sentence", where.empty() ? what : what.substr(where.size() + 2)}};
  text.place = text_of(place, -1);
  return text;
}

// A question may have its own name, too, as its schema says.
Answer answer_of(const Question& question, const Value& fields, const Watch& watch) {
  if (!fields.json().is_object() || !fields.json().contains("ask"))
    return question.answer(fields, watch);
  Json others = fields.json();
  if (others["ask"] != question.name)
    Value(others["ask"], fields.file(), "/ask")
        .fail("expected \"" + std::string(question.name) + "\", which is asked, got " +
              text_of(others["ask"], -1));
  others.erase("ask");
  return question.answer(Value(others, fields.file(), ""), watch);
}

AnswerText answered(const Question& question, const std::string& fields, const Watch& watch) {
  const Document document = Document::parse(fields, "question");
  const Answer answer = answer_of(question, document.root(), for_threads(watch));
  // A table of many points is printed closer than one answer.
  const bool is_table = question.name == "collective" && answer.json.contains("points");
  const int indent = is_table ? 1 : question.indent;
  return {answer.code,
          !answer.text.empty()    ? answer.text
          : answer.json.is_null() ? ""
                                  : text_of(answer.json, indent) + "\n",
          printable(answer.problem),
          text_of(answer.warnings, -1),
          "{}",
          answer.columns};
}

}  // namespace

Answer answer(const Json& question, const Watch& watch) {
  forget_reads();
  const Value whole(question, "question", "");
  Object object(whole);
  return answer_of(question_named(object.at("ask")), whole, for_threads(watch));
}

AnswerText ask(const std::string& command, const std::string& fields, const Watch& watch) {
  forget_reads();
  try {
    const Json name = command;
    return answered(question_named(Value(name, "question", "/ask")), fields, watch);
  } catch (const NetworkStuck& stuck) {
    return failed(stuck_text(stuck), exit_stuck);
  } catch (const ScheduleStuck& stuck) {
    return failed(stuck.what(), exit_stuck);
  } catch (const InputError& error) {
    return refused(error);
  } catch (const LimitReached& limit) {
    return failed(limit.what(), exit_stuck);
  } catch (const Interrupted& interrupted) {
    return failed(interrupted.what(), exit_interrupted);
  } catch (const std::bad_alloc&) {
    return failed("failed: there is not enough memory", exit_failure);
  } catch (const std::exception& error) {
    return failed("failed: " + failure_text(error), exit_failure);
  }
}

std::vector<std::string> question_names() {
  std::vector<std::string> names;
  for (const Question& question : questions) names.emplace_back(question.name);
  return names;
}

Json question_schema(const std::string& name) {
  const Json named = name;
  const Question& question = question_named(Value(named, "question", "/ask"));
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "The question " + name},
                 {"type", "object"},
                 {"additionalProperties", false}};
  schema.update(question.schema());
  schema["properties"]["ask"] = {{"const", name}};
  return schema;
}

}  // namespace sgdsim
