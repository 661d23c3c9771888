// `sgdsim advise`: what could be changed about a training step, best first.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/advise/advice.h"
#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/fit/fit_files.h"
#include "app/interrupt.h"
#include "app/step/reason.h"
#include "app/step/result_json.h"
#include "app/sweep/emit.h"
#include "app/table.h"
#include "app/tie.h"
#include "app/usage.h"
#include "app/write_text.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

struct AdviseArguments {
  std::string file;
  std::string cluster;
  std::string fidelity;
  std::string fit;
  std::string out;
  bool force = false;
  std::vector<std::string> settings;
  std::vector<std::string> own;
  int64_t lines = 10;
  std::string format = "table";
};

// The command that gives a line's figure.
std::string command_of(const AdviceQuestion& question, const Change& change) {
  std::vector<std::string> settings = question.settings;
  settings.insert(settings.end(), change.settings.begin(), change.settings.end());
  return shell_command("run", question.file, question.cluster, settings);
}

// "strategy=ddp; collective.algorithm=ring": semicolons with a blank part settings.
Change change_in(const std::string& text) {
  Change change{text, {ChangeKind::own}, {}, "", ""};
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t end = std::min(text.find("; ", from), text.size());
    change.settings.push_back(text.substr(from, end - from));
    from = end + 2;
  }
  return change;
}

// What the log says an exchange costs, as the experiment's `collective`.
std::string collective_from(const std::string& log) {
  FitArguments arguments;
  arguments.files = {log};
  arguments.operation = "allreduce";
  return "collective=" + curve_samples(answer_fit(arguments)).dump();
}

AdviceQuestion question_of(const AdviseArguments& arguments) {
  AdviceQuestion question;
  question.file = arguments.file;
  question.cluster = arguments.cluster;
  if (!arguments.fidelity.empty()) {
    fidelity_named(arguments.fidelity, "--fidelity");
    question.settings.push_back("fidelity=" + arguments.fidelity);
  }
  if (!arguments.fit.empty()) question.settings.push_back(collective_from(arguments.fit));
  question.settings.insert(question.settings.end(), arguments.settings.begin(),
                           arguments.settings.end());
  for (const std::string& text : arguments.own) question.own.push_back(change_in(text));
  return question;
}

std::vector<std::string> assumed(const AdviceLine& line) {
  std::vector<std::string> all;
  if (!line.change.assumes.empty()) all.push_back(line.change.assumes);
  all.insert(all.end(), line.warnings.begin(), line.warnings.end());
  return all;
}

bool any_of(const Change& change, bool (*is)(ChangeKind)) {
  return std::any_of(change.kinds.begin(), change.kinds.end(), is);
}

double gain_in_percent(double factor) { return 100 * (factor - 1); }

Json line_json(const AdviceQuestion& question, const AdviceLine& line) {
  Json kinds = Json::array();
  for (const ChangeKind kind : line.change.kinds) kinds.push_back(name_of(kind));
  Json json = {{"change", line.change.name},
               {"kinds", std::move(kinds)},
               {"settings", line.change.settings},
               {"iteration_ps", line.iteration_ps},
               {"iteration_us", static_cast<double>(line.iteration_ps) * 1e-6},
               {"exposed_us", line.exposed_us},
               {"gain_percent", gain_in_percent(line.factor)}};
  if (line.interval)
    json["interval_percent"] = Json::array(
        {gain_in_percent(line.interval->first), gain_in_percent(line.interval->second)});
  if (!line.measured.empty()) json["measured"] = line.measured;
  if (line.change.is_bound) json["is_bound"] = true;
  json["alters_learning"] = any_of(line.change, alters_learning);
  json["needs_hardware"] = any_of(line.change, needs_hardware);
  if (!line.change.how.empty()) json["how"] = line.change.how;
  if (const auto all = assumed(line); !all.empty()) json["assumed"] = all;
  json["command"] = command_of(question, line.change);
  return json;
}

// Of a profile that gives no gains: what was recorded, and why. The step as it is, is the recorded
// one.
Json facts_json(const AdviceQuestion& question, const RecordedTruth& truth,
                const std::string& why) {
  const profiler::Recording& recording = truth.recorded->recording;
  return {{"schema", "sgdsim/advice/1"},
          {"recorded", recorded_json(truth)},
          {"why_no_gains", why},
          {"now",
           {{"iteration_ps", recording.iteration.ps()},
            {"iteration_us", recording.iteration.us()},
            {"exposed_us", (recording.exposed + recording.others).us()},
            {"workers", recording.ranks},
            {"fidelity", "recorded"},
            {"strategy", "recorded"},
            {"collective", "recorded"},
            {"command", shell_command("advise", question.file, question.cluster, {})}}},
          {"tried", 0},
          {"lines", Json::array()},
          {"left_out", Json::array()}};
}

Json advice_json(const AdviceQuestion& question, const Advice& advice) {
  if (!advice.why_no_gains.empty()) return facts_json(question, *advice.truth, advice.why_no_gains);
  const Metrics now = metrics_of(advice.experiment, advice.now);
  Json json = {{"schema", "sgdsim/advice/1"},
               {"now",
                {{"iteration_ps", now.mean_ps},
                 {"iteration_us", now.mean_us},
                 {"exposed_us", advice.now.mean.exposed.us()},
                 {"workers", advice.experiment.cluster.network.workers()},
                 {"fidelity", name_of(advice.experiment.fidelity)},
                 {"strategy", advice.experiment.strategy.name},
                 {"collective", advice.experiment.collective},
                 {"command", command_of(question, {})}}},
               {"tried", advice.tried},
               {"lines", Json::array()},
               {"left_out", Json::array()}};
  if (!advice.now.critical.empty()) {
    json["now"]["critical"] = reason_json(advice.now);
    json["now"]["reason"] = reason_text(advice.now, advice.experiment.trace);
  }
  if (!advice.busiest.empty()) json["now"]["busiest"] = advice.busiest;
  if (advice.truth) json["recorded"] = recorded_json(*advice.truth);
  for (const AdviceLine& line : advice.lines) json["lines"].push_back(line_json(question, line));
  for (const auto& [what, why] : advice.left_out)
    json["left_out"].push_back({{"change", what}, {"why", why}});
  return json;
}

std::string gain_text(double factor) {
  const double gain = gain_in_percent(factor);
  return (gain < 0 ? "" : "+") + rounded(std::abs(gain) < 5e-4 ? 0 : gain, 3) + " %";
}

bool is_free(const AdviceLine& line) {
  return !any_of(line.change, alters_learning) && !any_of(line.change, needs_hardware);
}

// Changes of one sort: what settings do, what alters learning, what has to be bought.
struct Section {
  const char* title;
  bool (*has)(const AdviceLine& line);
  const char* note;  // below its table
};
constexpr Section sections[] = {
    {"settings", is_free, ""},
    {"alters learning", [](const AdviceLine& line) { return any_of(line.change, alters_learning); },
     "These may need more iterations to the same loss, which can cost more than they gain: "
     "`sgdsim\n"
     "learn --also NAME` counts them on small models.\n"},
    {"other hardware", [](const AdviceLine& line) { return any_of(line.change, needs_hardware); },
     ""}};

void print_section(std::ostream& out, const Advice& advice, const Section& section,
                   std::size_t most) {
  Table table({section.title, "iteration", "samples/s", "measured ones would be"});
  std::size_t count = 0;
  for (const AdviceLine& line : advice.lines) {
    if (!section.has(line) || ++count > most) continue;
    const bool is_base = line.change.kinds.empty();
    table.add({line.change.name, short_duration(static_cast<double>(line.iteration_ps) * 1e-6, 5),
               gain_text(line.factor),
               is_base ? "-"
               : line.interval
                   ? gain_text(line.interval->first) + " to " + gain_text(line.interval->second)
                   : "never measured"});
  }
  if (count == 0) return;
  table.print(out);
  if (count > most) out << "and " << count - most << " more; --lines shows them\n";
  out << section.note << '\n';
}

// One line for each reason.
void print_left_out(std::ostream& out, const Advice& advice) {
  std::vector<std::pair<std::string, std::string>> reasons;  // why, and what
  for (const auto& left : advice.left_out) {
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& one) { return one.first == left.second; });
    if (same == reasons.end())
      reasons.emplace_back(left.second, left.first);
    else
      same->second += ", " + left.first;
  }
  for (const auto& [why, what] : reasons) out << "left out: " << what << ": " << why << '\n';
}

// `told`: what was assumed or measured for settings above.
void print_setting(std::ostream& out, const AdviceQuestion& question, const AdviceLine& line,
                   std::vector<std::string>& told) {
  out << line.change.name;
  if (!line.change.how.empty()) out << " (" << line.change.how << ")";
  out << ":\n  " << command_of(question, line.change) << '\n';
  std::vector<std::string> reasons;
  for (const std::string& one : assumed(line)) reasons.push_back("assumed: " + one);
  if (!line.measured.empty()) reasons.push_back("measured: " + line.measured);
  for (const std::string& reason : reasons) {
    if (std::find(told.begin(), told.end(), reason) != told.end()) continue;
    out << "  " << reason << '\n';
    told.push_back(reason);
  }
}

// The best setting; where its gain is within the error of such changes, the best one that is not.
void print_verdict(std::ostream& out, const AdviceQuestion& question, const Advice& advice) {
  const auto can_be_set = [](const AdviceLine& line) {
    return is_free(line) && !line.change.is_bound;
  };
  const auto best = std::find_if(advice.lines.begin(), advice.lines.end(), can_be_set);
  if (best->change.kinds.empty() || is_tie(best->factor, 1)) {
    out << "\nNo setting is better than what it has.\n";
    return;
  }
  const auto sure = std::find_if(best, advice.lines.end(), [&](const AdviceLine& line) {
    return can_be_set(line) && line.interval && line.interval->first > 1;
  });
  std::vector<std::string> told;
  if (sure == best) {
    out << "\nThe best setting is ";
  } else if (sure == advice.lines.end()) {
    out << "\nNothing is surely better than what it has; the likeliest is ";
  } else {
    out << "\nThe best setting that is surely better is ";
    print_setting(out, question, *sure, told);
    out << "Likely better still, but not surely, is ";
  }
  print_setting(out, question, *best, told);
}

void print_no_gains(std::ostream& out, const std::string& why) {
  out << "No gains are given: " << printable(why) << ".\n";
}

void print(std::ostream& out, const AdviceQuestion& question, const Advice& advice,
           std::size_t most) {
  if (advice.truth) print_recorded(out, *advice.truth);
  if (!advice.why_no_gains.empty()) return print_no_gains(out, advice.why_no_gains);
  const Metrics now = metrics_of(advice.experiment, advice.now);
  if (!advice.truth)
    out << "As it is: " << short_duration(now.mean_us, 5) << " an iteration on "
        << advice.experiment.cluster.network.workers() << " workers, of which "
        << short_duration(advice.now.mean.exposed.us(), 4)
        << " are communication that nothing hides\n";
  if (!advice.now.critical.empty()) out << reason_text(advice.now, advice.experiment.trace) << '\n';
  if (!advice.busiest.empty()) out << "the busiest link is " << advice.busiest << '\n';
  out << '\n';
  for (const Section& section : sections) print_section(out, advice, section, most);
  print_left_out(out, advice);
  print_verdict(out, question, advice);
}

// What was recorded is an answer, too.
void print_facts(const AdviseArguments& arguments, const AdviceQuestion& question,
                 const RecordedTruth& truth, Streams streams) {
  const std::string why = why_no_gains(truth);
  if (!arguments.out.empty()) throw InputError("--out", "there is no experiment: " + why);
  if (arguments.format == "json") {
    streams.out << facts_json(question, truth, why).dump(1) << '\n';
    return;
  }
  print_recorded(streams.out, truth);
  print_no_gains(streams.out, why);
}

void advise(const AdviseArguments& arguments, Streams streams) {
  if (arguments.out == "-") throw InputError("--out", "commands name the file: expected one");
  Interrupt interrupt;
  AdviceQuestion question = question_of(arguments);
  Stopper stopper([&] { interrupt.throw_if_asked(); });
  question.stopper = &stopper;
  question.tell = [&](std::size_t changes, double seconds) {
    constexpr double long_s = 10;
    if (static_cast<double>(changes) * seconds > long_s)
      streams.log << "sgdsim: note: " << changes << " changes will be simulated, and the step took "
                  << rounded(seconds, 2) << " s; --fidelity closed_form is faster\n";
  };
  OutputGuard({arguments.file, arguments.cluster, arguments.fit}, arguments.force)
      .claim("--out", arguments.out, {.schema = "sgdsim/experiment/1", .beginning = {}});
  ResolvedExperiment base;
  try {
    base = base_of(question);
  } catch (const NoReplay& none) {
    return print_facts(arguments, question, {none.recorded, 0, 0, {}}, streams);
  }
  if (!arguments.out.empty()) {
    // Everything in one file, so that commands are short.
    Json whole = {{"schema", "sgdsim/experiment/1"}};
    whole.update(base.json);
    write_text(whole.dump(1) + "\n", arguments.out, streams.out);
    question.file = arguments.out;
    question.cluster.clear();
    question.settings.clear();
  }
  const Advice advice = advice_on(question, std::move(base));
  if (arguments.format == "json")
    streams.out << advice_json(question, advice).dump(1) << '\n';
  else
    print(streams.out, question, advice, static_cast<std::size_t>(arguments.lines));
}

}  // namespace

void add_advise_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "advise", "What to change about a training step, and what that would gain, best first.");
  auto arguments = std::make_shared<AdviseArguments>();
  command
      ->add_option("FILE", arguments->file,
                   "an experiment file, a profile (or a folder of one per rank), or a trace with "
                   "--cluster")
      ->required();
  command->add_option("-c,--cluster", arguments->cluster,
                      "cluster file, in place of the experiment's");
  make_repeatable(command->add_option("--set", arguments->settings,
                                      "change a field before anything is asked: strategy=ddp"));
  command->add_option("--fidelity", arguments->fidelity,
                      "closed_form (default for a trace), message, flow or packet");
  command->add_option("--fit", arguments->fit,
                      "a log of all-reduces on this cluster: what an exchange costs");
  make_repeatable(
      command->add_option("--try", arguments->own,
                          "a change of your own: settings, parted by a semicolon and a blank"));
  command->add_option("-o,--out", arguments->out,
                      "write the experiment as it is, for the commands of all lines");
  add_force_option(*command, arguments->force);
  command->add_option("--lines", arguments->lines, "lines of each sort to print (default: 10)")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}).description(""));
  command->add_option("--format", arguments->format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
  command->footer(std::string("Example:\n  sgdsim advise resnet50_v100 -c 25gbe_16\n") +
                  which_command);
  command->callback([arguments, streams] { advise(*arguments, streams); });
}

}  // namespace sgdsim
