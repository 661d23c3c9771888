// Words, JSON and text of advice.
#include "study/advise/advise_question.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/refusal.h"
#include "study/fit/fit_files.h"
#include "study/goodput/spans.h"
#include "study/shell_word.h"
#include "study/step/override.h"
#include "study/step/reason.h"
#include "study/step/result_json.h"
#include "study/table.h"
#include "study/tie.h"

namespace sgdsim {
namespace {

// "strategy=ddp; collective.algorithm=ring": semicolons with a blank part settings.
Change change_in(const std::string& text) {
  Change change{text, {ChangeKind::own}, {}, "", ""};
  change.is_own = true;
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

AdviceQuestion question_of(const AdviseWords& words) {
  AdviceQuestion question;
  question.file = words.file;
  question.cluster = words.cluster;
  question.settings = with_options(words.settings, words.wires);
  question.wires = words.wires;
  if (!words.fit.empty())
    question.settings.insert(question.settings.begin(), collective_from(words.fit));
  question.learns = words.learn;
  for (const std::string& text : words.own) question.own.push_back(change_in(text));
  const TrainingWords& training = words.training;
  if (!training.goodput.empty()) question.training = training;
  if (!question.training)
    refuse_idle({{"--steps", !training.steps.empty()}, {"--tokens", !training.tokens.empty()}},
                "without --goodput");
  return question;
}

std::string gain_text(double factor) {
  const double gain = gain_in_percent(factor);
  return (gain < 0 ? "" : "+") + rounded(std::abs(gain) < 5e-4 ? 0 : gain, 3) + " %";
}

bool is_free(const AdviceLine& line) {
  return !any_change_of(line.change, alters_learning) &&
         !any_change_of(line.change, needs_hardware);
}

// Of a whole training: how it saves, restarts and is repaired, with what there is.
bool is_of_operation(const AdviceLine& line) { return is_free(line) && line.change.is_of_training; }

// Changes of one sort: what settings do, what alters learning, what has to be bought.
struct Section {
  const char* title;
  bool (*has)(const AdviceLine& line);
  const char* note;  // below its table
};
constexpr Section sections[] = {
    {"operation", is_of_operation, ""},
    {"settings", [](const AdviceLine& line) { return is_free(line) && !is_of_operation(line); },
     ""},
    {"alters learning",
     [](const AdviceLine& line) { return any_change_of(line.change, alters_learning); },
     "These may need more iterations to the same loss, which can cost more than they gain: "
     "--learn asks\nsmall models how many, `sgdsim learn --also NAME` one by one.\n"},
    {"other hardware",
     [](const AdviceLine& line) { return any_change_of(line.change, needs_hardware); }, ""}};

std::string factors_text(double least, double most) {
  if (!std::isfinite(least)) return "not reached";
  return "x " + rounded(least, 3) + " to " +
         (std::isfinite(most) ? "x " + rounded(most, 3) : std::string("not reached"));
}

// Iterations to the same loss, and what becomes of the time to it.
void print_learning(std::ostream& out, const Advice& advice, const Section& section,
                    std::size_t most) {
  Table table({"learned by small models", "iterations to the same loss", "time to it"});
  std::size_t count = 0;
  std::size_t learned = 0;
  for (const AdviceLine& line : advice.lines) {
    if (!section.has(line) || ++count > most || !line.learning) continue;
    table.add({line.change.name, factors_text(line.learning->least, line.learning->most),
               factors_text(line.least_time(), line.most_time())});
    ++learned;
  }
  if (learned == 0) return;
  out << '\n';
  table.print(out);
  out << "by " << learned_by()
      << ":\na band, not a forecast for this model; ranks above are those of iterations alone\n";
}

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
  print_learning(out, advice, section, most);
  out << section.note << '\n';
}

// "12.3 days", "-3.41 h"; a tenth of a second is nothing.
std::string saved_text(double days) {
  const double seconds = std::abs(days) * seconds_of_day;
  return seconds < 0.1 ? "0" : (days < 0 ? "-" : "") + span_text(seconds);
}

// Changes of all sorts, the earliest end first; of each sort so many.
void print_ranked(std::ostream& out, const Advice& advice, std::size_t most) {
  Table table({"the whole training", "sort", "iteration", "ends after", "saves",
               "measured ones would save"});
  std::array<std::size_t, std::size(sections)> counts{};
  std::size_t hidden = 0;
  for (const AdviceLine& line : advice.lines) {
    const auto* section = std::find_if(std::begin(sections), std::end(sections),
                                       [&](const Section& one) { return one.has(line); });
    if (++counts[static_cast<std::size_t>(section - std::begin(sections))] > most) {
      ++hidden;
      continue;
    }
    const AdvisedEnd& training = *line.training;
    const bool is_base = line.change.kinds.empty();
    std::string measured = is_base ? "-" : "never measured";
    if (!is_base && training.saved_interval)
      measured = saved_text(training.saved_interval->first) + " to " +
                 saved_text(training.saved_interval->second);
    table.add({line.change.name, is_base ? "-" : section->title,
               short_duration(static_cast<double>(line.iteration_ps) * 1e-6, 5),
               span_text(training.end.days * seconds_of_day, 4), saved_text(training.saved_days),
               measured});
  }
  table.print(out);
  if (hidden > 0) out << "and " << hidden << " more; --lines shows them\n";
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) out << sections[i].note;
  out << '\n';
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
  out << ":\n  " << command_of(question, line.change, line.training) << '\n';
  std::vector<std::string> reasons;
  for (const std::string& one : assumed(line)) reasons.push_back("assumed: " + one);
  if (!line.measured.empty()) reasons.push_back("measured: " + line.measured);
  for (const std::string& reason : reasons) {
    if (std::find(told.begin(), told.end(), reason) != told.end()) continue;
    out << "  " << reason << '\n';
    told.push_back(reason);
  }
}

void print_best_operation(std::ostream& out, const AdviceQuestion& question, const Advice& advice) {
  const auto best = std::find_if(advice.lines.begin(), advice.lines.end(), is_of_operation);
  if (best == advice.lines.end() || saved_text(best->training->saved_days) == "0") return;
  std::vector<std::string> told;
  out << "\nOf saves, restarts and repairs, most is saved ("
      << saved_text(best->training->saved_days) << " of "
      << span_text(advice.training->end.days * seconds_of_day) << ") by ";
  print_setting(out, question, *best, told);
}

// The best setting; where another one gains more at the lower end of its interval, that one before
// it: a gain of 17 % that may be 1 % is no reason to change more than a gain of 16 % that is 12.
void print_verdict(std::ostream& out, const AdviceQuestion& question, const Advice& advice) {
  const auto can_be_set = [](const AdviceLine& line) {
    return is_free(line) && !is_of_operation(line) && !line.change.is_bound;
  };
  const auto best = std::find_if(advice.lines.begin(), advice.lines.end(), can_be_set);
  if (best->change.kinds.empty() || is_tie(best->factor, 1)) {
    out << "\nNo setting is better than what it has.\n";
    return;
  }
  auto sure = advice.lines.end();
  double least = 1;
  for (auto line = best; line != advice.lines.end(); ++line) {
    if (!can_be_set(*line) || !line->interval || line->interval->first <= least) continue;
    least = line->interval->first;
    sure = line;
  }
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

}  // namespace

Fields advise_fields(AdviseWords& words) {
  return Fields{
             Field("file", words.file,
                   "an experiment file, a profile (or a folder of one per rank), or a trace with "
                   "--cluster")
                 .needed()
                 .option("FILE"),
             Field("cluster", words.cluster, "cluster file, in place of the experiment's")
                 .option("-c,--cluster"),
             {"set", words.settings, "change a field before anything is asked: strategy=ddp"},
             {"fit", words.fit, "a log of all-reduces on this cluster: what an exchange costs"},
             {"try", words.own,
              "a change of your own: settings, parted by a semicolon and a blank"},
             {"learn", words.learn,
              "let small models say how many more iterations changes need that alter learning"},
             {"goodput", words.training.goodput,
              "a question of `sgdsim goodput` without step and nodes, a file or JSON itself: gains "
              "in days of the whole training, with changes of saves, restarts and repairs"},
             {"steps", words.training.steps, "with --goodput: how many, as 500000"},
             {"tokens", words.training.tokens,
              "with --goodput: tokens to train on, as 15T, where the question has "
              "`tokens_per_step`"}} +
         wire_fields(words.wires);
}

std::string command_of(const AdviceQuestion& question, const Change& change,
                       const std::optional<AdvisedEnd>& training) {
  if (change.is_of_training) return training->command;
  return shell_command("run", question.file, question.cluster,
                       on_top(question.settings, change.settings));
}

std::vector<std::string> assumed(const AdviceLine& line) {
  std::vector<std::string> all;
  if (!line.change.assumes.empty()) all.push_back(line.change.assumes);
  all.insert(all.end(), line.warnings.begin(), line.warnings.end());
  return all;
}

bool any_change_of(const Change& change, bool (*is)(ChangeKind)) {
  return std::any_of(change.kinds.begin(), change.kinds.end(), is);
}

double gain_in_percent(double factor) { return 100 * (factor - 1); }

AdviceQuestion advice_question(const AdviseWords& words) { return question_of(words); }

AdviceBase base_or_facts(AdviceQuestion& question) {
  try {
    return {base_of(question), {}};
  } catch (const NoReplay& none) {
    return {{}, RecordedTruth{none.recorded, 0, 0, {}}};
  }
}

void print_facts(std::ostream& out, const RecordedTruth& truth) {
  print_recorded(out, truth);
  print_no_gains(out, why_no_gains(truth));
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
  if (advice.training) {
    const TrainingEnd& end = advice.training->end;
    out << "the training ends after " << span_text(end.days * seconds_of_day, 4) << ", "
        << part_text(end.productive) << " of which are productive, with saves every "
        << span_text(end.interval_s) << " of work" << beyond_days(end) << "\n\n";
    print_ranked(out, advice, most);
  } else {
    out << '\n';
    for (const Section& section : sections) print_section(out, advice, section, most);
  }
  print_left_out(out, advice);
  if (advice.training) print_best_operation(out, question, advice);
  print_verdict(out, question, advice);
}

Answer answer_advise(const Value& asked, const Watch& watch) {
  AdviseWords words = words_of(asked, advise_fields);
  AdviceQuestion question = question_of(words);
  Stopper stopper(watch);
  question.stopper = &stopper;
  AdviceBase base = base_or_facts(question);
  if (base.facts) return {facts_json(question, *base.facts)};
  return {advice_json(question, advice_on(question, std::move(base.experiment)))};
}

}  // namespace sgdsim
