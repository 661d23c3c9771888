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
#include "study/import/profile_trace.h"
#include "study/layout/layout_answer.h"
#include "study/layout/layout_files.h"
#include "study/layout/usual_reach.h"
#include "study/need/experiment_breaks.h"
#include "study/shipped_inputs.h"
#include "study/step/experiment.h"
#include "study/step/override.h"
#include "study/step/simulated.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

constexpr double least_step_s = 1e-9;
constexpr int64_t most_nodes_of_step = 10'000'000;

std::vector<std::string> settings_in(Object& fields) {
  std::vector<std::string> settings;
  if (const auto set = fields.find("set"))
    for (const Value& one : set->items()) settings.push_back(one.text());
  return settings;
}

double experiment_step_s(const ResolvedExperiment& resolved,
                         const std::vector<std::string>& settings,
                         const std::function<void()>& look) {
  const Experiment experiment = read_experiment(with_settings(resolved, settings));
  Stopper stopper(look);
  const StepResult result = simulated(experiment, nullptr, &stopper);
  return result.total().s() / static_cast<double>(result.iterations.size());
}

// A name that ships, or the file as it is found from here.
std::string place_beside(const Value& value, bool ships) {
  return ships ? value.text() : beside(value.file(), value.text());
}

bool is_trace_file(const std::string& place) {
  return !is_profile(place) &&
         Document::read(place).root().json().value("schema", Json()) == trace_schema;
}

struct ExperimentStep {
  Value experiment;
  std::string cluster = {};  // in place of its own; empty: its own
  std::vector<std::string> settings = {};
};

ExperimentStep experiment_in(const Value& step) {
  if (step.json().is_string()) return {step};
  Object of(step);
  ExperimentStep said{of.at("experiment")};
  if (const auto cluster = of.find("cluster"))
    said.cluster = place_beside(*cluster, shipped_cluster(cluster->text()).has_value());
  said.settings = settings_in(of);
  of.done();
  return said;
}

ResolvedExperiment resolved_of(const ExperimentStep& said) {
  const Value& of = said.experiment;
  if (!of.json().is_string()) return resolve_experiment(of, said.settings);
  const bool ships = shipped_trace(of.text()).has_value();
  const std::string place = place_beside(of, ships);
  const bool has_cluster =
      !said.cluster.empty() ||
      std::any_of(said.settings.begin(), said.settings.end(),
                  [](const std::string& one) { return one.starts_with("cluster="); });
  if (!has_cluster && (ships || is_trace_file(place)))
    of.fail("is a trace: say on which cluster, as {\"experiment\": \"" + of.text() +
            "\", \"cluster\": \"dgx1_v100_2\"}");
  return resolve_experiment(place, said.settings, said.cluster);
}

StepMachine machine_with(int64_t gpus, const Cluster& cluster) {
  const int64_t of_node = std::clamp<int64_t>(cluster.workers_per_node, 1, gpus);
  return {(gpus + of_node - 1) / of_node, of_node};
}

StepMachine machine_of(const ResolvedExperiment& resolved) {
  const Cluster cluster = read_experiment(resolved).cluster;
  return machine_with(cluster.network.workers(), cluster);
}

// Data-parallel steps are of as many nodes as their cluster has.
ResolvedExperiment on_nodes(ResolvedExperiment resolved, StepMachine& machine, const Value& nodes) {
  const int64_t count = nodes.whole(1, most_nodes_of_step);
  if (count == machine.nodes) return resolved;
  const std::string is = "the step is simulated on " + std::to_string(machine.nodes) + " nodes";
  if (resolved.recorded) nodes.fail(is + ", on which it was recorded: leave `nodes` out");
  try {
    resolved = with_settings(resolved, {"cluster.nodes=" + std::to_string(count)});
    machine = machine_of(resolved);
  } catch (const StatedCosts& stated) {
    throw StatedCosts(nodes.where(), stated.field(),
                      R"(, as in "step": {"experiment": FILE, "set": ["collective=ring"]})");
  } catch (const InputError& error) {
    nodes.fail(is + ", and cannot be on " + std::to_string(count) + ": " + error.what());
  }
  if (machine.nodes != count)
    nodes.fail(is + ", and stays so where cluster.nodes is " + std::to_string(count) +
               ": leave `nodes` out");
  return resolved;
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
  const std::string file =
      is_named ? place_beside(said, shipped_cluster(said.text()).has_value()) : said.file();
  Json cluster = is_named ? cluster_document(file).root().json() : said.json();
  add_usual_reach(cluster);
  const Value read(cluster, file, is_named ? "" : said.path());
  ClusterFile of_file = cluster_in(read, given.layout.gpus());
  const auto said_gpu = fields.find("gpu");
  FoundGpu gpu = said_gpu ? FoundGpu{gpu_in(*said_gpu)} : gpu_for("", of_file.cluster);
  LayoutStep step{{.model = model, .cluster = std::move(of_file), .gpu = std::move(gpu.gpu)},
                  given.layout};
  LayoutQuestion& question = step.question;
  if (!gpu.note.empty()) question.notes.push_back(gpu.note);
  if (std::string note = settle_attention(question.gpu, model, given.says_attention, step.layout);
      !note.empty())
    question.notes.push_back(std::move(note));
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
  question.space.reserve = usual_reserve;
  if (const auto fidelity = fields.find("fidelity")) {
    question.fidelity = fidelity_named(fidelity->text(), fidelity->where());
    if (question.fidelity != Fidelity::message && question.fidelity != Fidelity::closed_form)
      fidelity->fail("a layout is simulated at closed_form or message here");
  }
  return step;
}

double layout_step_s(LayoutStep step, double gpu_speed, int64_t replicas_away, bool is_played,
                     const std::function<void()>& look) {
  if (replicas_away >= step.layout.replicas)
    throw InputError("", "the layout has " + std::to_string(step.layout.replicas) + " replicas");
  step.layout.replicas -= replicas_away;
  step.question.space.gpus = step.layout.gpus();
  step.question.space.batch = step.layout.batch();
  if (is_played) step.question.fidelity = Fidelity::message;
  Stopper stopper(look);
  step.question.play.stopper = &stopper;
  if (gpu_speed != 1) {
    const Json slow = {{"slow", {{{"worker", 0}, {"factor", 1 / gpu_speed}}}}};
    step.question.play.workers = read_workers(Value(slow, "degraded", ""));
  }
  return price_layout(step.question, step.layout, false).best.front().step.time.s();
}

// A layout is of so many GPUs; more replicas are another one, with more samples in a step.
void check_nodes(const LayoutStep& step, const StepMachine& machine, const Value& nodes) {
  const int64_t count = nodes.whole(1, most_nodes_of_step);
  if (count == machine.nodes) return;
  std::string sentence = "the layout is one of " +
                         std::to_string(machine.nodes * machine.gpus_per_node) + " GPUs, " +
                         std::to_string(machine.nodes) + " nodes: leave `nodes` out";
  const int64_t of_replica = step.layout.gpus() / step.layout.replicas;
  const int64_t gpus = count * machine.gpus_per_node;
  if (gpus % of_replica == 0) {
    Layout wider = step.layout;
    wider.replicas = gpus / of_replica;
    sentence += ", or say the layout of " + std::to_string(count) + " nodes, as \"" +
                to_text(wider) + "\", which has " + std::to_string(wider.batch()) +
                " samples a step in place of " + std::to_string(step.layout.batch());
  }
  nodes.fail(sentence);
}

bool is_a_time(const Value& step) {
  const std::string text = step.text();
  return !text.ends_with(".json") && !shipped_trace(text);
}

}  // namespace

StepSource StepSource::read(const Value& step, const std::optional<Value>& nodes,
                            const std::function<void()>& look) {
  StepSource source;
  const Json& json = step.json();
  if (json.is_string() && is_a_time(step))
    source.step_s_ = span_of(step);
  else if (json.is_object() && json.contains("layout"))
    source.read_layout(step, nodes, look);
  else
    source.read_experiment_of(step, nodes, look);
  if (source.simulate_) source.step_s_ = source.simulate_({});
  if (source.step_s_ < least_step_s) step.fail("expected a step of at least 1 ns");
  return source;
}

void StepSource::read_layout(const Value& value, const std::optional<Value>& nodes,
                             const std::function<void()>& look) {
  Object of(value);
  const LayoutStep step = layout_of(of);
  of.done();
  is_layout_ = true;
  notes_ = step.question.notes;
  from_ = "layout " + to_text(step.layout) + " of " + step.question.model.name;
  machine_ = machine_with(step.layout.gpus(), step.question.cluster.cluster);
  if (nodes) check_nodes(step, *machine_, *nodes);
  simulate_ = [step, look](const Play& play) {
    return layout_step_s(step, play.gpu_speed, play.replicas_away, play.is_played, look);
  };
}

void StepSource::read_experiment_of(const Value& value, const std::optional<Value>& nodes,
                                    const std::function<void()>& look) {
  const ExperimentStep said = experiment_in(value);
  ResolvedExperiment resolved = resolved_of(said);
  from_ =
      "experiment " + (said.experiment.json().is_string() ? said.experiment.text() : value.path());
  if (!resolved.recorded || !said.cluster.empty()) {
    machine_ = machine_of(resolved);
    const int64_t own_nodes = machine_->nodes;
    if (nodes) resolved = on_nodes(std::move(resolved), *machine_, *nodes);
    has_other_samples_ = machine_->nodes != own_nodes;
  }
  simulate_ = [resolved, look](const Play& play) {
    std::vector<std::string> changes = play.settings;
    if (play.gpu_speed != 1)
      changes.push_back(slow_worker_setting(resolved.json, 1 / play.gpu_speed));
    return experiment_step_s(resolved, changes, look);
  };
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
