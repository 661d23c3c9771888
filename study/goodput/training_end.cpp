// The question is completed and asked; nothing is computed here.
#include "study/goodput/training_end.h"

#include <algorithm>

#include "models/goodput/runs.h"
#include "sim/core/error.h"
#include "study/goodput/plan_formulas.h"
#include "study/goodput/spans.h"
#include "study/shell_word.h"
#include "study/step/override.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int64_t usual_runs = 400;

TrainingEnd end_of(const GoodputQuestion& question, const std::function<void()>& look) {
  const bool has_formula = has_closed_form(question.plan);
  goodput::Runs runs;
  if (!has_formula || question.power || question.until_s)
    runs = goodput::play_runs(question.plan, {question.runs, question.seed, 1, look});
  const double wall_s = has_formula ? closed_form_s(question.plan) : goodput::to_s(runs.wall);
  TrainingEnd end{wall_s / seconds_of_day,
                  std::min(1.0, question.work_s() / wall_s),  // rounded, where nothing stops it
                  question.interval_s(),
                  question.plan.stall_s,
                  {}};
  if (question.gpu_hour)
    end.cost = *question.gpu_hour * static_cast<double>(question.gpus() + question.spare_gpus()) *
               wall_s / seconds_of_hour;
  if (question.power) {
    const CostAnswer cost = cost_of(question, runs);
    end.kWh = cost.kWh;
    end.kg = cost.kg;
  }
  if (question.until_s) end.deadline = meet_deadline(question, runs, 1, look);
  return end;
}

}  // namespace

std::string beyond_days(const TrainingEnd& end) {
  std::string text;
  if (end.cost) text += ", " + rounded(*end.cost, 4) + " to pay";
  if (end.kWh) text += ", " + rounded(*end.kWh, 3) + " kWh";
  if (end.kg) text += ", " + rounded(*end.kg, 3) + " kg CO2";
  if (end.deadline)
    text += ", later than " + span_text(end.deadline->until_s) + " with " +
            (end.deadline->at_most ? "at most " + part_text(*end.deadline->at_most, 1)
                                   : part_text(end.deadline->late, 2));
  return text;
}

Fields fields_of(const TrainingEnd& end) {
  return {Field("days", end.days, "days until it ends, in the mean").at_least(0),
          Field("productive", end.productive, "productive part of the days").from(0, 1),
          Field("interval_s", end.interval_s, "seconds of work between saves").at_least(0),
          Field("stall_s", end.stall_s, "for how long each save stops it").at_least(0),
          Field("cost", end.cost,
                "cost of all GPUs, those of spares with them, if the question has a price")
              .at_least(0),
          {"energy_kWh", end.kWh, "of the machine and its building, if the question has `power`"},
          {"carbon_kg", end.kg, "for that energy"},
          {"until", end.deadline, "the date that was asked about"}};
}

FailingTraining::FailingTraining(std::string file_or_json, const std::vector<Known>& known)
    : asked_(std::move(file_or_json)) {
  const Document document = Document::read(asked_);
  const Value root = document.root();
  json_ = root.json();
  file_ = root.file();
  if (!json_.is_object()) root.fail("expected a question of `sgdsim goodput`, an object");
  for (const Known& one : known) {
    if (json_.contains(one.field))
      root.child(one.field).fail("leave it out: " + one.who + " says it");
    if (!one.value.is_null()) settings_.push_back(std::string(one.field) + "=" + one.value.dump());
  }
  if (!json_.contains("runs")) settings_.push_back("runs=" + std::to_string(usual_runs));
  apply_settings(json_, settings_);
}

std::vector<std::string> FailingTraining::with_step(
    Duration step, const std::vector<std::string>& settings) const {
  std::vector<std::string> all = {"step=" + std::to_string(step.ps()) + " ps"};
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

bool FailingTraining::needs_replicas() const {
  return json_.value("policy", Json()) == "shrink" &&
         !json_.value("shrink", Json::object()).contains("replicas");
}

Json FailingTraining::copied() const {
  const Json save = json_.value("save", Json());
  return save.is_object() ? save.value("copy", Json()) : Json();
}

bool FailingTraining::needs_bytes() const {
  const Json copy = copied();
  return copy.is_object() && !copy.contains("bytes");
}

bool FailingTraining::keeps_copies_on_gpus() const {
  return needs_bytes() && copied().contains("on_gpu") && !copied().contains("free");
}

GoodputQuestion FailingTraining::question(Duration step,
                                          const std::vector<std::string>& settings) const {
  Json json = json_;
  apply_settings(json, with_step(step, settings));
  return read_goodput_question(Value(json, file_, ""));
}

TrainingEnd FailingTraining::end(Duration step, const std::vector<std::string>& settings,
                                 const std::function<void()>& look) const {
  return end_of(question(step, settings), look);
}

std::string FailingTraining::command(Duration step,
                                     const std::vector<std::string>& settings) const {
  std::vector<std::string> all = settings_;
  const std::vector<std::string> more = with_step(step, settings);
  all.insert(all.end(), more.begin(), more.end());
  return shell_command("goodput", asked_, "", all);
}

}  // namespace sgdsim
