// Experiments are changed by settings, as `--set` does it; layouts by their own fields. A
// comparison is between two steps of the same fidelity: links have a bandwidth of their own at
// fidelities flow and packet only.
#include "study/goodput/step_source.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/stopper.h"
#include "sim/net/stuck.h"
#include "study/beside.h"
#include "study/goodput/spans.h"
#include "study/layout/layout_answer.h"
#include "study/layout/layout_files.h"
#include "study/layout/usual_reach.h"
#include "study/need/experiment_breaks.h"
#include "study/shipped_inputs.h"
#include "study/step/experiment.h"
#include "study/step/override.h"
#include "study/step/simulated.h"

namespace sgdsim {
namespace {

constexpr double least_step_s = 1e-9;

std::vector<std::string> settings_in(Object& fields) {
  std::vector<std::string> settings;
  if (const auto set = fields.find("set"))
    for (const Value& one : set->items()) settings.push_back(one.text());
  return settings;
}

double experiment_step_s(const ResolvedExperiment& resolved,
                         const std::vector<std::string>& settings) {
  const Experiment experiment = read_experiment(with_settings(resolved, settings));
  Stopper stopper([] {});
  const StepResult result = simulated(experiment, nullptr, &stopper);
  return result.total().s() / static_cast<double>(result.iterations.size());
}

ResolvedExperiment experiment_of(const Value& value, const std::vector<std::string>& settings) {
  if (value.json().is_string())
    return resolve_experiment(beside(value.file(), value.text()), settings);
  return resolve_experiment(value, settings);
}

// A layout and what it is on.
struct LayoutStep {
  LayoutQuestion question;
  Layout layout;
};

LayoutStep layout_of(Object& fields) {
  const Value text = fields.at("layout");
  const Value model_name = fields.at("model");
  const Transformer model = model_in(model_name);
  const ForeignLayout given = load_layout(text.text(), text.where(), {}, model);
  const Value said = fields.at("cluster");
  const bool is_named = said.json().is_string();
  const std::string file = is_named ? beside(said.file(), said.text()) : said.file();
  Json cluster = is_named ? cluster_document(file).root().json() : said.json();
  add_usual_reach(cluster);
  const Value read(cluster, file, is_named ? "" : said.path());
  LayoutStep step{
      {.model = model, .cluster = cluster_in(read, given.layout.gpus()), .gpu = load_gpu("h100")},
      given.layout};
  LayoutQuestion& question = step.question;
  if (const auto gpu = fields.find("gpu")) question.gpu = gpu_in(*gpu);
  if (const auto precision = fields.find("precision"))
    question.precision = precision_named(precision->text(), precision->where());
  question.space.gpus = given.layout.gpus();
  question.space.batch = given.layout.batch();
  question.space.sequence = given.sequence.value_or(model.sequence);
  if (const auto sequence = fields.find("sequence"))
    question.space.sequence = sequence->whole(1, 1 << 24);
  check_sequence(model, question.space.sequence, text.where());
  if (const auto documents = fields.find("documents"))
    question.space.documents = load_documents(documents->text(), model, question.space.sequence,
                                              question.space.batch, documents->where());
  question.space.memory = question.gpu.memory;
  question.space.reserve = Bytes(int64_t{2} << 30);
  if (const auto fidelity = fields.find("fidelity")) {
    question.fidelity = fidelity_named(fidelity->text(), fidelity->where());
    if (question.fidelity != Fidelity::message && question.fidelity != Fidelity::closed_form)
      fidelity->fail("a layout is simulated at closed_form or message here");
  }
  return step;
}

double layout_step_s(LayoutStep step, double gpu_speed, int64_t replicas_away, bool is_played) {
  if (replicas_away >= step.layout.replicas)
    throw InputError("", "the layout has " + std::to_string(step.layout.replicas) + " replicas");
  step.layout.replicas -= replicas_away;
  step.question.space.gpus = step.layout.gpus();
  step.question.space.batch = step.layout.batch();
  if (is_played) step.question.fidelity = Fidelity::message;
  if (gpu_speed != 1) {
    const Json slow = {{"slow", {{{"worker", 0}, {"factor", 1 / gpu_speed}}}}};
    step.question.play.workers = read_workers(Value(slow, "degraded", ""));
  }
  return price_layout(step.question, step.layout, false).best.front().step.time.s();
}

bool is_a_path(const std::string& text) { return text.ends_with(".json"); }

}  // namespace

StepSource StepSource::read(const Value& value) {
  StepSource source;
  const bool is_text = value.json().is_string();
  if (is_text && !is_a_path(value.text())) {
    source.step_s_ = span_of(value);
  } else if (!is_text && value.json().is_object() && value.json().contains("layout")) {
    Object of(value);
    const LayoutStep step = layout_of(of);
    of.done();
    source.is_layout_ = true;
    source.from_ = "layout " + to_text(step.layout) + " of " + step.question.model.name;
    source.simulate_ = [step](const Play& play) {
      return layout_step_s(step, play.gpu_speed, play.replicas_away, play.is_played);
    };
    source.step_s_ = source.simulate_({});
  } else {
    std::vector<std::string> settings;
    std::optional<Value> experiment;
    if (is_text) {
      experiment = value;
    } else {
      Object of(value);
      experiment = of.at("experiment");
      settings = settings_in(of);
      of.done();
    }
    const ResolvedExperiment resolved = experiment_of(*experiment, settings);
    source.from_ =
        "experiment " + (experiment->json().is_string() ? experiment->text() : value.path());
    source.simulate_ = [resolved](const Play& play) {
      std::vector<std::string> changes = play.settings;
      if (play.gpu_speed != 1)
        changes.push_back(slow_worker_setting(resolved.json, 1 / play.gpu_speed));
      return experiment_step_s(resolved, changes);
    };
    source.step_s_ = source.simulate_({});
  }
  if (source.step_s_ < least_step_s) value.fail("expected a step of at least 1 ns");
  return source;
}

StepSource::Play StepSource::play_of(const Value& value) const {
  const auto degraded = read_record<Degraded>(value);
  const bool is_wire = !degraded.link.empty() || !degraded.vertex.empty();
  if (degraded.bandwidth.has_value() != is_wire)
    value.fail("`bandwidth`, the part that is left, goes with `link` or `vertex`");
  if (is_layout_ && (is_wire || !degraded.set.empty()))
    value.fail(
        "the step is a layout: say {\"gpu\": 0.5} or {\"replicas_away\": 1}; links need an "
        "experiment");
  if (!is_layout_ && degraded.replicas_away > 0)
    value.child("replicas_away")
        .fail("the step is an experiment: say {\"set\": [\"cluster.nodes=15\"]}");
  Play play;
  play.gpu_speed = degraded.gpu.value_or(1);
  play.is_played = is_layout_ && degraded.gpu;
  play.replicas_away = degraded.replicas_away;
  play.settings = degraded.set;
  if (is_wire) {
    Json change = {{"at", "0 s"}, {"bandwidth", *degraded.bandwidth}};
    for (const char* name : {"link", "vertex"})
      if (value.json().contains(name)) change[name] = value.json()[name];
    play.settings = {"fidelity=flow", "traffic=" + Json({{"changes", {change}}}).dump()};
  }
  return play;
}

double StepSource::factor_of(const Value& degraded) {
  if (!simulate_)
    degraded.fail(
        "the step is a number: give `factor`, or let `step` be an experiment or a layout that is "
        "simulated");
  const std::string what = degraded.json().dump();
  if (const auto found = remembered_.find(what); found != remembered_.end()) return found->second;
  const Play play = play_of(degraded);
  Play whole;
  if (!play.settings.empty() && play.settings.front() == "fidelity=flow")
    whole.settings = {"fidelity=flow"};
  whole.is_played = play.is_played;
  double factor = 1;
  try {
    factor =
        simulate_(play) / (whole.settings.empty() && !whole.is_played ? step_s_ : simulate_(whole));
  } catch (const NetworkStuck& stuck) {
    degraded.fail(std::string("with that the step never ends: ") + stuck.what() +
                  "; a cause with \"effect\": \"stop\" says so");
  } catch (const InputError& error) {
    degraded.fail(std::string("cannot be simulated: ") + error.what());
  }
  return remembered_[what] = factor;
}

}  // namespace sgdsim
