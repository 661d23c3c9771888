// Advice on a whole training: every line's days are those of `sgdsim goodput` with that line's
// fields, whatever is changed, and what formulas say.
#include <cmath>
#include <doctest/doctest.h>
#include <map>

#include "app/schema_check.h"
#include "models/goodput/closed_forms.h"
#include "sim/core/error.h"
#include "study/answer.h"
#include "tests/run_program.h"

namespace sgdsim::advise_training {
namespace {

// Saves that stop the training for a minute, as nodes of Llama 3's fail.
Json synchronous() {
  return Json::parse(R"({
    "steps": 2000000, "failures": "llama3_h100",
    "save": {"stall": "1 min"}, "restart": {"detect": "2 min", "in_place": "10 min"}
  })");
}

std::vector<std::string> words_for(const Json& question, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"advise",    "resnet50_v100", "-c",       "25gbe_16",
                                    "--goodput", question.dump(), "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json advice_on(const Json& question, const std::vector<std::string>& more = {}) {
  const Ran ran = call_sgdsim(words_for(question, more));
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json advice = Json::parse(ran.out);
  for (const std::string& fault : faults_of_value(embedded_shelf(), "sgdsim/advice/1", advice))
    FAIL_CHECK(fault);
  return advice;
}

std::string refusal_of(const std::vector<std::string>& words) {
  const Ran ran = call_sgdsim(words);
  CHECK(ran.exit_code == 2);
  return ran.log;
}

const Json* line_of(const Json& advice, const std::string& change) {
  for (const Json& line : advice["lines"])
    if (line["change"] == change) return &line;
  return nullptr;
}
double days_of(const Json& advice, const std::string& change) {
  const Json* line = line_of(advice, change);
  INFO(change);
  REQUIRE(line != nullptr);
  return (*line)["end"]["days"];
}

std::string why_left_out(const Json& advice, const std::string& change) {
  for (const Json& one : advice["left_out"])
    if (one["change"] == change) return one["why"];
  return "";
}

// What the command of a line says of the training.
double days_by_command(const Json& end) {
  const Ran ran = run_shell_line(end["command"].get<std::string>() + " --format json");
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json wall = Json::parse(ran.out)["wall"];
  return wall.value("closed_form_days", wall["mean_days"].get<double>());
}

}  // namespace

TEST_CASE("advise --goodput: a line's days are those of sgdsim goodput with its fields") {
  Json played = synchronous();  // no formula holds: spares, planned work and slow nodes
  played["steps"] = 100'000;
  played["runs"] = 20;
  played["spares"] = 0;
  played["planned"] = {{"every", "2 h"}, {"lasts", "10 min"}};
  played["failures"] = Json::parse(R"({"causes": [
    {"name": "node", "unit": "node", "per_day": 0.05, "restart": "new_node"},
    {"name": "slow", "unit": "node", "per_day": 1, "effect": "slow", "factor": 2, "lasts": "20 min"}
  ]})");
  for (const Json& question : {synchronous(), played}) {
    const Json advice = advice_on(question);
    CHECK(days_by_command(advice["now"]["end"]) ==
          doctest::Approx(advice["now"]["end"]["days"].get<double>()).epsilon(1e-12));
    int of_training = 0;
    for (const Json& line : advice["lines"]) {
      INFO(line["change"]);
      const bool is_of_training = line["command"] == line["end"]["command"];
      of_training += is_of_training ? 1 : 0;
      if (!is_of_training && line["change"] != "twice the nodes" &&
          line["change"] != "GPUs twice as fast")
        continue;  // the same code as these
      const double days = line["end"]["days"];
      CHECK(days_by_command(line["end"]) == doctest::Approx(days).epsilon(1e-12));
      CHECK(line["days_saved"].get<double>() ==
            doctest::Approx(advice["now"]["end"]["days"].get<double>() - days));
    }
    CHECK(of_training == (question == played ? 10 : 6));
  }
}

// Copies that take a minute to the host and next to no time from there are the synchronous saves.
TEST_CASE("advise --goodput: saves by copy are those of the same times") {
  Json copied = synchronous();
  copied["save"] = {{"copy", {{"bytes", "60 GB"}, {"to_host", "1 GB/s"}, {"write", "999 TB/s"}}}};
  const Json advice = advice_on(copied);
  const Json same = advice_on(synchronous());
  REQUIRE(advice["lines"].size() == same["lines"].size());
  for (const Json& line : same["lines"]) {
    const std::string change = line["change"];
    CHECK(days_of(advice, change) == doctest::Approx(days_of(same, change)).epsilon(1e-6));
    const Json* own = line_of(advice, change);
    CHECK(days_by_command((*own)["end"]) == doctest::Approx(days_of(advice, change)));
  }
}

TEST_CASE("advise --goodput: one list, the earliest end first, and a gain is what formulas say") {
  const Json advice = advice_on(synchronous());
  double before = 0;
  for (const Json& line : advice["lines"]) {
    CHECK(line["end"]["days"].get<double>() >= before);
    before = line["end"]["days"];
  }
  // 16 workers of one GPU, where nodes of eight were counted; 412 of 419 failures are noticed in
  // 2 min, those of the watchdog in ten.
  const double mean_s = 2'048. * 8 * 54 * 86'400 / 419 / 16;
  const double step_s = advice["now"]["iteration_ps"].get<double>() * 1e-12;
  struct Row {
    const char* change;
    double stall_s = 60;
    double durable_s = 0;
    double restart_s = 600;
    double detect_s = 120;
    double rarer = 1;
    double faster = 1;
  };
  const double left = 60 * 6.3 / 148.8;  // of a stall of a minute, beside PyTorch's writing
  for (const Row& row :
       {Row{.change = "as it is"}, Row{"saves in the background", left, 60 - left},
        Row{"saves twice as fast", 30}, Row{.change = "restarts twice as fast", .restart_s = 300},
        Row{.change = "failures noticed twice as fast", .detect_s = 60},
        Row{.change = "lemons swapped for good nodes", .rarer = 0.988 / 0.87},
        Row{.change = "failures half as often", .rarer = 2}}) {
    INFO(row.change);
    const double mean = mean_s * row.rarer;
    const Json& end = (*line_of(advice, row.change))["end"];
    const goodput::Downtimes down{
        {{412. / 419, row.detect_s + row.restart_s}, {7. / 419, 600 + row.restart_s}}, true};
    const double interval_s = end["interval_s"];
    // Lambert's, in whole steps, but not shorter than a save takes.
    const double best =
        std::max(goodput::best_interval(row.stall_s, mean), row.durable_s - row.stall_s);
    CHECK(std::abs(interval_s - best) <= step_s);
    const double days =
        goodput::expected_wall(2e6 * step_s, interval_s, {row.stall_s, row.durable_s}, down, mean) /
        86'400;
    CHECK(days_of(advice, row.change) == doctest::Approx(days).epsilon(1e-9));
  }
  // Faster steps save days, too: nine of ten measured ones as many as these.
  const Json* ddp = line_of(advice, "twice the bandwidth of nic");
  REQUIRE(ddp != nullptr);
  const Json& interval = (*ddp)["days_saved_interval"];
  CHECK(interval[0] <= (*ddp)["days_saved"]);
  CHECK((*ddp)["days_saved"] <= interval[1]);
  CHECK_FALSE(line_of(advice, "saves in the background")->contains("days_saved_interval"));
  // The same question to the library.
  const Answer asked = answer({{"ask", "advise"},
                               {"file", "resnet50_v100"},
                               {"cluster", "25gbe_16"},
                               {"goodput", synchronous()}});
  CHECK(asked.json["lines"].size() == advice["lines"].size());
  CHECK(asked.json["now"]["end"]["days"] == advice["now"]["end"]["days"]);
}

TEST_CASE("advise --goodput: where nothing fails, days are steps and saves") {
  Json question = synchronous();
  question["steps"] = 1'001;
  question["save"] = {{"every_steps", 2'000}, {"stall", "0 s"}};
  question["rate_factor"] = 0;
  const Json advice = advice_on(question);
  const auto day_ps = 86'400e12;
  const double now_ps = advice["now"]["iteration_ps"];
  CHECK(days_of(advice, "as it is") == doctest::Approx(1'001 * now_ps / day_ps).epsilon(1e-12));
  // Half of the steps, rounded up: every worker has its batch.
  const Json* twice = line_of(advice, "twice the nodes");
  REQUIRE(twice != nullptr);
  CHECK(days_of(advice, "twice the nodes") ==
        doctest::Approx(501 * (*twice)["iteration_ps"].get<double>() / day_ps).epsilon(1e-12));
  CHECK(why_left_out(advice, "saves in the background") == "saves do not stop the training");
  CHECK(why_left_out(advice, "other failures") == "nothing fails");
  // One step.
  question["steps"] = 1;
  CHECK(days_of(advice_on(question), "as it is") == doctest::Approx(now_ps / day_ps).epsilon(1e-9));
}

TEST_CASE("advise --goodput: lemons are those of the source, and others are assumed") {
  const auto lemons_of = [](const Json& failures) {
    Json question = synchronous();
    question["failures"] = failures;
    const Json advice = advice_on(question);
    const Json* line = line_of(advice, "lemons swapped for good nodes");
    return line == nullptr ? Json(why_left_out(advice, "lemons swapped for good nodes")) : *line;
  };
  Json ours = Json::parse(R"({"lemons": {"of_units": 0.1, "of_failures": 0.55},
    "causes": [{"name": "node", "unit": "node", "per_day": 0.01}]})");
  CHECK(lemons_of("llama3_h100")["assumed"].dump().find("RSC-1") != std::string::npos);
  CHECK(lemons_of("rsc1_a100")["assumed"].dump().find("RSC-1") == std::string::npos);
  CHECK(lemons_of(ours)["settings"] == Json::array({"rate_factor=0.5"}));
  ours["lemons"] = {{"of_units", 0}, {"of_failures", 0}};
  CHECK(lemons_of(ours) == "no node fails more often than the others");
  ours["lemons"] = {{"of_units", 0.5}, {"of_failures", 0.4}};
  Json question = synchronous();
  question["failures"] = ours;
  CHECK(refusal_of(words_for(question)).find("/failures/lemons/of_failures: expected at least") !=
        std::string::npos);
}

TEST_CASE("advise --goodput: what is so already is left out, and what never ends is said") {
  Json question = synchronous();
  question["save"] = {{"stall", "1 s"}, {"durable", "1 min"}};
  CHECK(why_left_out(advice_on(question), "saves in the background").find("they are") == 0);
  // A save in every step leaves no time to write it behind the next one.
  question["save"] = {{"every_steps", 1}, {"stall", "10 s"}};
  const Json every = advice_on(question);
  CHECK(why_left_out(every, "saves in the background").find("durable after") != std::string::npos);
  CHECK(line_of(every, "saves at the best interval") != nullptr);

  struct Row {
    std::vector<std::string> words;
    const char* sentence;
  };
  Json with_step = synchronous();
  with_step["step"] = "1 s";
  Json with_nodes = synchronous();
  with_nodes["nodes"] = 4;
  Json without_work = synchronous();
  without_work.erase("steps");
  Json endless = synchronous();
  endless["rate_factor"] = 1e6;
  for (const Row& row : std::vector<Row>{
           {words_for(with_step), "/step: leave it out: the experiment says it"},
           {words_for(with_nodes), "/nodes: leave it out: the experiment says it"},
           {words_for(synchronous(), {"--steps", "7"}), "/steps: leave it out: --steps says it"},
           {words_for(without_work), "give --steps, as 500000"},
           {words_for(without_work, {"--steps", "0"}), "/steps"},
           {words_for(without_work, {"--steps", "many"}), "/steps"},
           {words_for(without_work, {"--tokens", "1T"}), "tokens_per_step"},
           {words_for(endless), "the run never ends"},
           {{"advise", "resnet50_v100", "-c", "25gbe_16", "--steps", "7"},
            "--steps: has no effect without --goodput"}}) {
    INFO(row.sentence);
    CHECK(refusal_of(row.words).find(row.sentence) != std::string::npos);
  }
  CHECK(advice_on(without_work, {"--steps", "2000000"})["now"]["end"]["days"] ==
        advice_on(synchronous())["now"]["end"]["days"]);
}

TEST_CASE("advise --goodput: people read one table of all sorts") {
  const Ran ran = call_sgdsim({"advise", "resnet50_v100", "-c", "25gbe_16", "--goodput",
                               synchronous().dump(), "--lines", "2"});
  CHECK(ran.exit_code == 0);
  for (const char* words :
       {"the training ends after ", "ends after", "saves in the background", "other hardware",
        "settings", "alters learning", "operation", "never measured",
        "Of saves, restarts and repairs, most is saved", "sgdsim goodput"})
    CHECK(ran.out.find(words) != std::string::npos);
}

}  // namespace sgdsim::advise_training
