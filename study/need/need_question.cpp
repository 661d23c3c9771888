// From words to a range, a target, and who answers for one value: an experiment as a sweep plays
// it, or a layout as `sgdsim layout --axis` does.
#include "study/need/need_question.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "sim/core/stopper.h"
#include "study/beside.h"
#include "study/layout/layout_sweep.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/sweep/columns.h"
#include "study/sweep/said_twice.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_point.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

const std::vector<NamedFigureOf>& experiment_figures() {
  static const std::vector<NamedFigureOf> all = {
      {"step", "metrics.iteration_us", true},
      {"efficiency", "metrics.efficiency", false},
      {"throughput", "metrics.throughput_samples_per_s", false},
      {"speedup", "metrics.speedup", false},
      {"exposed", "metrics.comm_exposed_us", true}};
  return all;
}

const std::vector<NamedFigureOf>& layout_figures() {
  static const std::vector<NamedFigureOf> all = {{"step", "step_us", true},
                                                 {"mfu", "mfu", false},
                                                 {"throughput", "tokens_per_s", false},
                                                 {"tflops", "tflops_per_gpu", false},
                                                 {"memory", "memory_GiB", true},
                                                 {"days", "days", true},
                                                 {"gpu_hours", "gpu_hours", true}};
  return all;
}

// Fields of layouts that are said once for both, or make no sense here.
const std::set<std::string>& fields_in_common() {
  static const std::set<std::string> names = {"model",   "cluster",  "set",     "axis",
                                              "lines",   "fidelity", "routing", "transport",
                                              "traffic", "seed",     "breaks",  "margins"};
  return names;
}

Fields layout_fields_alone(LayoutWords& words) {
  Fields kept;
  for (const Field& field : layout_fields(words))
    if (!fields_in_common().contains(field.name())) kept = std::move(kept) + Fields{field};
  return kept;
}

// The first of what layouts alone have that was said.
std::string said_of_layouts(const NeedWords& words) {
  NeedWords usual;
  NeedWords given = words;
  const Fields before = layout_fields_alone(usual.layout);
  const Fields after = layout_fields_alone(given.layout);
  auto other = before.begin();
  for (const Field& field : after) {
    if (field.write() != (other++)->write()) return field.name();
  }
  return "";
}

std::string option_of(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

// All that take the value.
std::vector<std::string> fields_in(const FieldRange& range, const NeedWords& words) {
  std::vector<std::string> fields = {range.field()};
  for (const std::string& field : words.zip) {
    if (std::find(fields.begin(), fields.end(), field) != fields.end())
      throw InputError("--zip " + field.substr(0, 80), "this field takes the values already");
    fields.push_back(field);
  }
  return fields;
}

// "nic.bandwidth" is a field of the cluster, not of what is asked: its name there.
template <class Check>
void check_field(const std::string& field, const Json& cluster, const Check& check) {
  try {
    check();
  } catch (const InputError& error) {
    const std::string text = error.what();
    const bool is_of_cluster =
        cluster.is_object() && cluster.contains(field.substr(0, field.find('.')));
    if (!is_of_cluster || text.find("unknown field") == std::string::npos) throw;
    throw InputError("--axis " + field.substr(0, 80),
                     "is a field of the cluster; write cluster." + field);
  }
}

// ---- experiments, as a sweep plays them

std::string largest_part(const Json& line) {
  const auto us = [&](const char* column) {
    return number_in(line, std::string("metrics.") + column);
  };
  const std::vector<std::pair<double, const char*>> all = {
      {us("forward_us") + us("backward_us") + us("update_us"), "computing"},
      {us("comm_exposed_us"), "exposed communication"},
      {us("compression_us"), "compression"},
      {us("waiting_us"), "waiting for others"},
      {us("idle_us"), "idle time"}};
  return std::max_element(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

Sweep sweep_with(const ResolvedExperiment& base, const std::vector<std::string>& fields,
                 const std::vector<Json>& values) {
  const Json list = values;
  std::vector<Axis> axes;
  for (const std::string& field : fields)
    axes.emplace_back(field, Value(list, "--axis " + field, ""));
  return sweep_over(base, std::move(axes));
}

// Whole ends of a field that takes what is between whole numbers, too, mean all of it.
template <class Takes>
void take_fractions(FieldRange& range, const Takes& takes) {
  const std::vector<Json> fractions = range.fractions();
  if (std::any_of(fractions.begin(), fractions.end(), takes)) range.take_fractions();
}

bool can_be_read(const Sweep& sweep) {
  PointReader reader(sweep);
  try {
    reader.read(Choice(sweep.axes.size(), 0));
    return true;
  } catch (const InputError&) {
    return false;
  }
}

AskAt experiment_at(FieldRange& range, const NeedTarget& target, const NeedWords& words,
                    Stopper& stopper) {
  ResolvedExperiment base = resolve_experiment(
      words.experiment, with_options(words.settings, words.wires), words.cluster);
  note_options(base, words.wires);
  const std::vector<std::string> fields = fields_in(range, words);
  std::vector<Json> ends = range.grid();
  if (!range.is_listed()) ends = {range.first(), range.last()};
  if (ends.back() == ends.front()) ends.resize(1);
  check_field(range.field(), base.json.value("cluster", Json()), [&] {
    const Sweep sweep = sweep_with(base, fields, ends);
    check_settings(sweep, words.settings);
    check_axes(sweep);
  });
  take_fractions(range,
                 [&](const Json& value) { return can_be_read(sweep_with(base, fields, {value})); });
  return [base, fields, target, &stopper](const Json& value) -> NeedPoint {
    stopper.look();
    stopper.restart();
    const Sweep sweep = sweep_with(base, fields, {value});
    PointReader reader(sweep);
    PlayedPoint played = play_point(sweep, {0, Choice(fields.size(), 0)}, reader, false, &stopper);
    NeedPoint point{.value = value, .error = played.error, .warnings = played.warnings};
    if (!played.error.empty()) return point;
    const Json line = line_of(sweep, std::move(played));
    point.reached = figure_of(line, target, experiment_figures());
    point.limit = largest_part(line);
    return point;
  };
}

// ---- layouts, as `sgdsim layout --axis` answers

uint64_t seed_in(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, seed);
  if (problem != std::errc() || rest != end)
    throw InputError("--seed", "expected a whole number, got \"" + text.substr(0, 40) + "\"");
  return seed;
}

LayoutWords layout_words(const NeedWords& words) {
  LayoutWords layout = words.layout;
  layout.cluster = words.cluster;
  layout.settings = words.settings;
  const WireWords& wires = words.wires;
  if (!wires.fidelity.empty()) layout.fidelity = wires.fidelity;
  layout.routing = wires.routing;
  layout.transport = wires.transport;
  layout.traffic = wires.traffic;
  if (!wires.seed.empty()) layout.seed = seed_in(wires.seed);
  refuse_idle({{"--ports", !wires.ports.empty()}, {"--send-buffer", !wires.send_buffer.empty()}},
              "on layouts: it is about experiments");
  layout.lines = 1;
  return layout;
}

// Whether layouts divide it well: no prime factor is above 13.
bool is_smooth(int64_t number) {
  for (const int64_t prime : {2, 3, 5, 7, 11, 13})
    while (number % prime == 0) number /= prime;
  return number == 1;
}

// A search knows the best layout of any number of GPUs, and most numbers are bad ones: 5803 GPUs do
// worse than 5800. Those of whole machines are looked at, or of parts of one.
void take_whole_machines(FieldRange& range, const NeedWords& words) {
  const bool is_of_gpus = range.field() == "gpus";
  const bool is_of_nodes = range.field() == "cluster.nodes";
  if (range.is_listed() || !range.is_whole() || !(is_of_gpus || is_of_nodes)) return;
  constexpr double most = 1 << 20;
  if (range.high() > most) return;  // which is refused
  int64_t of_machine = 1;
  if (is_of_gpus) {
    const Json json = cluster_json(words.cluster, words.settings);
    of_machine = read_cluster(Value(json, place_of(words.cluster), "")).cluster.workers_per_node;
  }
  constexpr int64_t all_looked_at = 64;  // machines
  std::vector<double> steps;
  bool passes_over = false;
  const auto last = static_cast<int64_t>(range.high());
  for (auto count = std::max<int64_t>(1, static_cast<int64_t>(range.low())); count <= last;
       ++count) {
    const bool is_part = count < of_machine;
    if (!is_part && count % of_machine != 0) continue;
    const int64_t machines = count / of_machine;
    if (is_part || machines <= all_looked_at || is_smooth(machines))
      steps.push_back(static_cast<double>(count));
    else
      passes_over = true;
  }
  if (steps.size() > 1) range.step_by(std::move(steps), passes_over);
}

AskAt layout_at(FieldRange& range, const NeedTarget& target, const NeedWords& words,
                Stopper& stopper) {
  const LayoutWords base = layout_words(words);
  const std::vector<std::string> fields = fields_in(range, words);
  const auto sweep_at = [base, fields](const Json& value) {
    LayoutWords one = base;
    for (const std::string& field : fields)
      one.axes.push_back(field + "=" + Json::array({value}).dump());
    return LayoutSweep(one);
  };
  check_field(range.field(), cluster_document(words.cluster).root().json(),
              [&] { sweep_at(range.first()); });
  take_fractions(range, [&](const Json& value) {
    try {
      const LayoutSweep sweep = sweep_at(value);  // which reads the cluster, and no more
      return range.field().starts_with("cluster.") || !sweep.answer(0, stopper).is_failed();
    } catch (const InputError&) {
      return false;
    }
  });
  if (words.layout.layout.empty()) take_whole_machines(range, words);
  return [sweep_at, target, &stopper](const Json& value) -> NeedPoint {
    stopper.restart();
    const AnsweredPoint answered = sweep_at(value).answer(0, stopper);
    NeedPoint point{.value = value, .error = answered.error, .warnings = answered.warnings};
    if (answered.is_failed()) return point;
    Json line = answered.answer["layouts"][0];
    line["tokens_per_s"] =
        line["tokens_per_s_per_gpu"].get<double>() * answered.answer["gpus"].get<double>();
    point.reached = figure_of(line, target, layout_figures());
    point.limit = line["limit"].get<std::string>();
    point.layout = line["layout"].get<std::string>();
    return point;
  };
}

bool is_of_layouts(const NeedWords& words) {
  const bool has_model = !words.layout.model.empty();
  if (has_model && !words.experiment.empty())
    throw InputError("--model", "asks about layouts; leave the experiment out, or the model");
  if (!has_model && words.experiment.empty())
    throw InputError("need",
                     "expected an experiment (or a trace with --cluster), or for layouts --model "
                     "with --cluster, as in --model llama3.1_70b -c dgx_h100_4");
  if (has_model && words.cluster.empty()) throw needs("--model", "--cluster, as in -c dgx_h100_4");
  if (!has_model)
    if (const std::string said = said_of_layouts(words); !said.empty())
      throw InputError(option_of(said), "is about layouts; it goes with --model");
  return has_model;
}

// If nothing has an answer there is none; the first reason is as good as the others.
void check_any(const FieldRange& range, const NeedFound& found) {
  if (found.best) return;
  std::string first;
  for (const NeedPoint& point : found.points)
    if (first.empty()) first = point.error;
  throw InputError("--axis " + range.field().substr(0, 80),
                   "no value of the range has an answer; the first one: " + first);
}

}  // namespace

Fields need_fields(NeedWords& words) {
  return Fields{
             Field("experiment", words.experiment,
                   "an experiment, or a trace (a file or a name) with --cluster")
                 .option("EXPERIMENT"),
             {"model", words.layout.model,
              "in place of an experiment, for layouts: a model, as `sgdsim layout` takes it"},
             Field("cluster", words.cluster,
                   "cluster: a file, or a name of `sgdsim list clusters`; in place of the "
                   "experiment's")
                 .option("-c,--cluster"),
             Field("axis", words.axis,
                   "the field, and between which values to look: "
                   "cluster.nic.bandwidth=1Gbps..400Gbps, whole ones of fields that take only "
                   "such; 2..64:2 and a,b,c are those values alone")
                 .needed(),
             {"zip", words.zip,
              "a field that takes the same value: --axis cluster.gpus_per_node=8..72 --zip "
              "cluster.nics_per_node"},
             Field("target", words.target,
                   "what must be reached: step=120ms, efficiency=0.9, throughput=50000, mfu=0.4, "
                   "memory=60GiB; "
                   "or <= or >= of any figure of the answer, as metrics.comm_exposed_us<=5ms")
                 .needed(),
             Field("knee", words.knee,
                   "percent that doubling must gain at least, before the knee (default: 5)")
                 .from(1, 100),
             {"set", words.settings,
              "change a field of the experiment, or with --model of the cluster"}} +
         wire_fields(words.wires) + layout_fields_alone(words.layout);
}

NeedAnswer answer_need(const NeedWords& words, const Watch& watch) {
  const bool of_layouts = is_of_layouts(words);
  constexpr double percent = 100;
  NeedAnswer answer{FieldRange(words.axis),
                    target_in(words.target, of_layouts ? layout_figures() : experiment_figures()),
                    static_cast<double>(words.knee) / percent,
                    {},
                    {},
                    of_layouts};
  Stopper stopper([&] { watch(); }, limits_of(words.layout.limits));
  const AskAt ask =
      (of_layouts ? layout_at : experiment_at)(answer.range, answer.target, words, stopper);
  answer.found = look_for(answer.range, answer.target.goal, answer.gain, ask);
  check_any(answer.range, answer.found);
  answer.warnings = (answer.found.needed ? answer.found.needed : answer.found.best)->warnings;
  if (answer.range.passes_over())
    answer.warnings.push_back("of " + answer.range.field() +
                              " beyond 64 machines only numbers of machines without a prime factor "
                              "above 13 were tried; a list, as in " +
                              answer.range.field() + "=LOW..HIGH:STEP, tries all of its values");
  return answer;
}

Answer answer_need(const Value& question, const Watch& watch) {
  NeedWords words = words_of(question, need_fields);
  const NeedAnswer answer = answer_need(words, watch);
  return {to_json(answer), answer.warnings};
}

}  // namespace sgdsim
