// Reading options, and simulating each method: its times and its update log.
#include "study/learn/learn_question.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/learning/registry.h"
#include "models/step/asynchronous_workers.h"
#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "sim/core/refusal.h"
#include "sim/core/worked_on.h"
#include "study/learn/absent_workers.h"
#include "study/learn/lesson_times.h"
#include "study/learn/lost_packets.h"
#include "study/step/digest.h"
#include "study/step/override.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int most_workers = 1024;
constexpr double most_memory_B = 4e9;
constexpr double usual_adam_rate = 0.001;  // PyTorch's
constexpr char dense_label[] = "dense";
constexpr char own_label[] = "as it is";

// An option as a field, so that it is read and refused as one.
template <class Read>
auto read_option(const std::string& name, const std::string& text, const Read& read) {
  const Json json = value_in(text, name);
  return read(Value(json, name, ""));
}
int64_t whole_option(const std::string& name, const std::string& text, int64_t least,
                     int64_t most) {
  return read_option(name, text, [&](const Value& value) { return value.whole(least, most); });
}

void read_optimizer(const LearnWords& words, learning::Optimizer& optimizer) {
  if (words.optimizer != "sgd" && words.optimizer != "adamw")
    throw InputError("--optimizer", "expected sgd or adamw, got \"" + words.optimizer + '"');
  if (words.momentum_of != "sum" && words.momentum_of != "workers")
    throw InputError("--momentum-of", "expected sum or workers, got \"" + words.momentum_of + '"');
  optimizer.adam = words.optimizer == "adamw";
  optimizer.momentum_on_worker = words.momentum_of == "workers";
  optimizer.momentum = read_option("--momentum", words.momentum,
                                   [](const Value& value) { return value.number(0, 0.9999); });
  if (optimizer.adam && optimizer.momentum > 0)
    throw InputError("--momentum",
                     "adamw has moments of its own: leave --momentum out, or choose "
                     "--optimizer sgd");
  if (optimizer.momentum_on_worker && optimizer.momentum == 0)
    throw InputError("--momentum-of", "there is no momentum: add --momentum 0.9");
}

void read_numbers(const LearnWords& words, LearnQuestion& question) {
  question.task_json = value_in(words.task, "--task");
  question.task = learning::read_task(Value(question.task_json, "--task", ""));
  const std::vector<LearnTarget> targets = read_targets(words.target, question.task);
  if (targets.size() > 1 && words.batches.empty())
    throw InputError("--target", "several targets go with --batches: choose one");
  if (!targets.empty()) question.target = targets.front();
  read_optimizer(words, question.optimizer);
  question.wants_best_rate = words.rate == "best";
  question.rate = question.optimizer.adam ? usual_adam_rate : question.task.rate;
  if (words.rate != "best" && words.rate != "base") {
    if (!value_in(words.rate, "--rate").is_number())
      throw InputError("--rate", "expected base, best or a number, got \"" + words.rate + '"');
    question.rate = read_option("--rate", words.rate,
                                [](const Value& value) { return value.number(1e-12, 1e6); });
  }
  const int64_t first = whole_option("--seed", words.first_seed, 0, int64_t{1} << 53);
  const int64_t seeds = whole_option("--seeds", words.seeds, 1, 1000);
  for (int64_t i = 0; i < seeds; ++i) question.seeds.push_back(static_cast<uint64_t>(first + i));
  question.iterations = question.task.iterations;
  if (!words.iterations.empty())
    question.iterations = whole_option("--iterations", words.iterations, 2, 1'000'000);
  question.evaluate = std::max<int64_t>(1, question.iterations / 50);
  question.threads = all_cores();
  if (!words.threads.empty())
    question.threads = static_cast<int>(whole_option("--jobs", words.threads, 1, 1024));
}

// Every gradient of every worker, with its residual, is in memory.
void check_size(const LearnQuestion& question, const std::string& file) {
  if (question.workers > most_workers)
    throw InputError(file, std::to_string(question.workers) + " workers: a lesson has at most " +
                               std::to_string(most_workers) +
                               "; choose fewer with --set cluster.nodes=...");
  const double bytes = 5 * 4. * question.workers * static_cast<double>(question.task.weights()) *
                       question.threads * (question.task.learns_in_double ? 2 : 1);
  if (bytes > most_memory_B)
    throw InputError("--task", "the gradients of " + std::to_string(question.workers) +
                                   " workers, " + std::to_string(question.task.weights()) +
                                   " weights each, would need more than 4 GB: choose a smaller "
                                   "task, fewer workers or fewer --jobs");
}

// With other numbers of lists the loss would not be the mean of those that workers descend.
void check_lists(const LearnQuestion& question) {
  for (const learning::WorkerLists& lists : question.task.lists)
    if (lists.count != 1 && lists.count != static_cast<std::size_t>(question.workers))
      Value(question.task_json, "--task", "")
          .child(lists.field)
          .fail("expected 1 list, or one for each of the " + std::to_string(question.workers) +
                " workers, got " + std::to_string(lists.count) +
                ": write as many, or choose as many workers with --set cluster.nodes=...");
}

void play(const ResolvedExperiment& resolved, LearnMethod& method, const LearnQuestion& question,
          Stopper* stopper) {
  const Experiment experiment = read_experiment(resolved);
  if (const Json accumulation = resolved.json.value("accumulation", Json());
      accumulation.is_number() && accumulation.get<double>() > 1)
    throw InputError("accumulation", "\"" + method.label +
                                         "\": steps take the time of several micro-batches, and "
                                         "lessons have the samples of one; leave it out, and say "
                                         "--samples or --batches");
  method.log.workers = experiment.cluster.network.workers();
  if (method.log.workers != question.workers)
    throw InputError("--also", "\"" + method.label + "\" changes the number of workers");
  method.optimizer = question.optimizer;
  take_rules(experiment, method);
  method.ends_us = {0};
  const bool is_asynchronous = asynchronous_rule(experiment.question()) != nullptr;
  check_absences(method, is_asynchronous);
  if (is_asynchronous) {
    if (!method.compressing.densities.empty() && method.compressing.densities.size() > 1)
      throw not_together("--also", "\"" + method.label +
                                       "\": phases of density are not timed "
                                       "where workers do not wait for each other");
    play_in_order(experiment, method, question.iterations, stopper);
  } else {
    play_in_common(resolved, method, question.iterations, stopper);
  }
  check_losses(method, is_asynchronous);
  method.iteration_us = method.ends_us.back() / static_cast<double>(question.iterations);
  method.log_hash = hash_of(method.log);
}

// What a method does not name, it does not have.
LearnMethod method_beside(const std::vector<std::string>& plain, const Method& method) {
  LearnMethod result{.label = method.label, .settings = plain};
  Method of_experiment{method.label, {}};
  Json of_lesson = Json::object();
  for (const auto& [field, value] : method.fields) {
    const std::vector<std::string> steps = steps_of(field, "--also");
    if (steps.front() == "lost" || steps.front() == "absent")
      sgdsim::set_field(of_lesson, steps, value, "--also");
    else
      of_experiment.fields.emplace_back(field, value);
  }
  for (const std::string& setting : settings_of(of_experiment)) result.settings.push_back(setting);
  if (of_lesson.contains("lost")) state_losses(of_lesson["lost"], result);
  if (of_lesson.contains("absent")) state_absences(of_lesson["absent"], result);
  return result;
}

}  // namespace

std::vector<LearnTarget> read_targets(const std::string& text, const learning::Task& task) {
  if (text.empty()) return {};
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos || (name != "accuracy" && name != "loss"))
    throw InputError("--target", "expected accuracy=0.66 or loss=0.9, got \"" + text + '"');
  const bool is_accuracy = name == "accuracy";
  if (is_accuracy && !task.has_accuracy)
    throw InputError("--target", task.name + " has no accuracy: say loss=...");
  std::vector<LearnTarget> targets;
  for (std::string one : split_list(text.substr(equals + 1))) {
    const bool in_percent = is_accuracy && one.ends_with('%');
    if (in_percent) one.pop_back();
    const double greatest = in_percent ? 100 : is_accuracy ? 1 : 1e12;
    const double value =
        read_option("--target", one, [&](const Value& given) { return given.number(0, greatest); });
    targets.push_back({is_accuracy, in_percent ? value / 100 : value});
  }
  return targets;
}

LearnMethod unplayed_method(const Experiment* experiment, const LearnQuestion& question) {
  LearnMethod method;
  method.label = dense_label;
  method.optimizer = question.optimizer;
  if (experiment != nullptr) take_rules(*experiment, method);
  method.log.workers = question.workers;
  method.log_hash = hash_of(method.log);
  for (int64_t t = 0; t <= question.iterations; ++t)
    method.ends_us.push_back(static_cast<double>(t));
  return method;
}

void take_rules(const Experiment& experiment, LearnMethod& method) {
  method.log.workers = experiment.cluster.network.workers();
  method.compressing = experiment.numbers;
  const StepQuestion step = experiment.question();
  if (const AsynchronousRule* rule = asynchronous_rule(step))
    method.optimizer.divides_by_staleness = rule->divides_by_staleness;
  if (const PipelineRule* rule = pipeline_rule(step)) {
    method.log.width = rule->width;
    method.log.synchronous = rule->synchronous;
    method.log.every = rule->every;
    method.optimizer.outer_rate = rule->outer_rate;
    method.optimizer.outer_momentum = rule->outer_momentum;
  }
}

std::string hash_of(const learning::UpdateLog& log) {
  Json json = {{"workers", log.workers}};
  if (log.is_asynchronous()) {
    std::string text;
    for (const learning::Visit& visit : log.visits)
      text += std::to_string(visit.worker) + ':' + std::to_string(visit.part) +
              (visit.reads ? visit.changes ? "" : "r" : "w") + ' ';
    json["parts"] = log.parts;
    json["pushes"] = text;
  } else {
    for (const learning::Absence& one : log.absences)
      json["absences"].push_back({one.worker, one.from, one.until});
    json["width"] = log.width;
    json["every"] = log.every;
    if (log.width > 1) json["synchronous"] = log.synchronous;
  }
  return "sha256:" + sha256_of(json.dump());
}

Fields learn_fields(LearnWords& words) {
  return {
      Field("experiment", words.experiment,
            "an experiment file, a profile, or a trace (a file or a name) with --cluster")
          .needed()
          .option("EXPERIMENT"),
      Field("cluster", words.cluster,
            "cluster: a file, or a name of `sgdsim list clusters`; in place of the experiment's")
          .option("-c,--cluster"),
      {"set", words.settings, "change a field: cluster.nodes=8, strategy=wfbp"},
      {"axis", words.axes,
       "values of a field, at each of which the methods learn: cluster.nodes=4..64, "
       "cluster.nic.bandwidth=1Gbps..100Gbps"},
      {"also", words.also,
       "one more method, beside dense and the experiment's own: compression=gtopk, or \"late: "
       "synchronization=pipe_sgd, width=4\""},
      {"task", words.task,
       "what is learned: one of `sgdsim list tasks` (default: teacher_mlp), or its JSON"},
      {"target", words.target,
       "accuracy=0.66 or loss=0.9 (default: the loss that dense has after half of its "
       "iterations); with --batches also several: accuracy=0.6,0.66"},
      {"rate", words.rate,
       "learning rate: base (default), a number, or best: of five rates, each method its own"},
      {"optimizer", words.optimizer, "sgd (default), or adamw, whose base rate is 0.001"},
      {"momentum", words.momentum, "momentum of sgd (default: 0)"},
      {"momentum_of", words.momentum_of,
       "sum (default), or workers: each adds up its gradients before they are selected, and "
       "forgets what it has sent (momentum correction)"},
      {"seeds", words.seeds, "number of seeds (default: 5)"},
      {"seed", words.first_seed, "the first seed (default: 1)"},
      {"iterations", words.iterations, "most iterations (default: the task's, 1,000)"},
      {"samples", words.samples,
       "samples of a worker in an iteration (default: 64 of all workers)"},
      {"batches", words.batches,
       "samples of all workers together, at each of which dense training learns: 8..256; says how "
       "iterations follow, and the critical batch"},
      {"batch_rate", words.batch_rate,
       "with --batches: how the learning rate grows with the samples: sqrt (default), linear or "
       "fixed"},
      {"noise_scale", words.noise_scale,
       "say how noisy dense gradients are, and what more or fewer samples would do"},
      Field("jobs", words.threads, "threads (default: all cores)").option("-j,--jobs")};
}

LearnQuestion begin_learn_question(const LearnWords& words) {
  LearnQuestion question;
  if (words.batches.empty() && !words.batch_rate.empty())
    throw no_effect("--batch-rate", "without --batches");
  read_numbers(words, question);
  question.samples = 0;
  if (!words.samples.empty())
    question.samples = static_cast<int>(whole_option("--samples", words.samples, 1, 1'000'000));
  for (const std::string& text : words.also) question.also.push_back(method_in(text, "--also"));
  if (!question.also.empty()) check_distinct(question.also, "--also");
  for (const Method& method : question.also)
    if (method.label == dense_label || method.label == own_label)
      throw InputError("--also", "\"" + method.label + "\" is already there: choose another label");
  question.measures_noise = words.noise_scale;
  return question;
}

LearnQuestion for_experiment(LearnQuestion question, const std::string& file,
                             const ResolvedExperiment& resolved) {
  const Experiment own = read_experiment(resolved);
  question.name = own.name;
  question.workers = own.cluster.network.workers();
  check_size(question, file);
  check_lists(question);
  if (question.samples == 0)
    question.samples = std::max(1, question.task.samples / question.workers);
  if (question.measures_noise && question.workers < 2)
    throw InputError("--noise-scale",
                     "one worker has no second number of samples to compare with: add --set "
                     "cluster.nodes=2");
  const std::vector<std::string> plain = {"compression=null", "synchronization=null"};
  question.methods.push_back({.label = dense_label, .settings = plain});
  if (!own.compression.empty() || own.synchronization)
    question.methods.push_back({.label = own_label});
  for (const Method& method : question.also)
    question.methods.push_back(method_beside(plain, method));
  return question;
}

void play_methods(LearnQuestion& question, const ResolvedExperiment& resolved, Stopper* stopper) {
  for (LearnMethod& method : question.methods)
    play(with_settings(resolved, method.settings), method, question, stopper);
}

LearnQuestion read_learn_question(const LearnWords& words, Stopper* stopper,
                                  std::vector<std::string>& inputs) {
  LearnQuestion question = begin_learn_question(words);
  const ResolvedExperiment resolved =
      resolve_experiment(words.experiment, words.settings, words.cluster);
  inputs = resolved.inputs;
  question = for_experiment(std::move(question), words.experiment, resolved);
  play_methods(question, resolved, stopper);
  return question;
}

}  // namespace sgdsim
