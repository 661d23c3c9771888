// Each change is settings of `sgdsim goodput`, so that its command gives the line's figures.
#include "study/advise/training.h"

#include <algorithm>
#include <cmath>

#include "models/goodput/closed_forms.h"
#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/goodput/goodput_answer.h"
#include "study/step/override.h"

namespace sgdsim {
namespace {

using Kind = ChangeKind;

// PyTorch's asynchronous checkpoints (blog, June 2024): a save of a 7B model stopped its training
// for 148.8 s, and then for 6.3 s, in which the state is copied to the host.
constexpr double left_of_stall = 6.3 / 148.8;

// Of a cluster that nobody has counted: 24 of about 2,000 nodes of RSC-1 (HPCA 2025).
constexpr LemonShare lemons_of_rsc{0.012, 0.13};

std::string seconds_text(double seconds) { return Json(seconds).dump() + " s"; }

FailingTraining training_of(const TrainingWords& words, int workers, int workers_per_node) {
  const std::string who = "the experiment";
  std::vector<FailingTraining::Known> known = {
      {"step", {}, who},
      {"nodes", (workers + workers_per_node - 1) / workers_per_node, who},
      {"gpus_per_node", workers_per_node, who}};
  if (!words.steps.empty()) known.push_back({"steps", value_in(words.steps, "--steps"), "--steps"});
  if (!words.tokens.empty()) known.push_back({"tokens", words.tokens, "--tokens"});
  FailingTraining training(words.goodput, known);
  if (!training.json().contains("steps") && !training.json().contains("tokens"))
    throw InputError("--goodput",
                     "the question does not say how much work there is; give --steps, as 500000");
  return training;
}

class TrainingLister {
 public:
  TrainingLister(const GoodputQuestion& now, const Json& json, const std::string& file)
      : now_(now), plan_(now.plan), json_(json), file_(file) {}

  ChangeList list() {
    add_saving();
    add_restarting();
    add_failures();
    add_repairing();
    return std::move(list_);
  }

 private:
  void add(std::string name, Kind kind, std::vector<std::string> settings, std::string how = "",
           std::string assumes = "") {
    list_.changes.push_back({.name = std::move(name),
                             .kinds = {kind},
                             .settings = std::move(settings),
                             .how = std::move(how),
                             .assumes = std::move(assumes),
                             .is_of_training = true});
  }
  void leave_out(const std::string& name, const std::string& why) {
    list_.left_out.emplace_back(name, why);
  }
  // Times that are 0 already are left.
  void add_half(const std::string& name, Kind kind,
                const std::vector<std::pair<std::string, double>>& times,
                const std::string& how = "") {
    std::vector<std::string> settings = halves_of(times);
    if (!settings.empty()) add(name, kind, std::move(settings), how);
  }
  static std::vector<std::string> halves_of(
      const std::vector<std::pair<std::string, double>>& times) {
    std::vector<std::string> settings;
    for (const auto& [field, seconds] : times)
      if (seconds > 0) settings.push_back(field + "=" + seconds_text(seconds / 2));
    return settings;
  }
  // Times of saves in place of those that copies take.
  std::vector<std::string> without_copies(std::vector<std::string> settings) const {
    if (now_.saves_by_copy && plan_.stall_s > 0) settings.emplace_back("save.copy=null");
    return settings;
  }

  void add_saving() {
    if (!now_.wants_best_interval && !plan_.shrink)
      add("saves at the best interval", Kind::saving,
          {"save.every_steps=null", "save.interval=best"});
    add_background();
    std::vector<std::pair<std::string, double>> times = {{"save.stall", plan_.stall_s},
                                                         {"save.durable", plan_.durable_s}};
    if (plan_.store_every > 0) {
      times.emplace_back("save.store.stall", plan_.store_stall_s);
      times.emplace_back("save.store.durable", plan_.store_durable_s);
    }
    std::vector<std::string> settings = without_copies(halves_of(times));
    if (!settings.empty()) add("saves twice as fast", Kind::storage, std::move(settings));
  }
  void add_background() {
    const char* name = "saves in the background";
    if (plan_.stall_s <= plan_.durable_s)
      return leave_out(name, plan_.stall_s > 0 ? "they are: most of a save is after its stall"
                                               : "saves do not stop the training");
    const double rest = plan_.stall_s * (1 - left_of_stall);
    add(name, Kind::saving,
        without_copies({"save.stall=" + seconds_text(plan_.stall_s - rest),
                        "save.durable=" + seconds_text(plan_.durable_s + rest)}),
        "torch.distributed.checkpoint.async_save in place of save",
        "6.3 s of 148.8 s of a save still stop the training, as PyTorch measured with 7B "
        "parameters; the rest is written while it goes on");
  }

  void add_restarting() {
    add_half("restarts twice as fast", Kind::restarting,
             {{"restart.in_place", plan_.restart_s}, {"restart.new_node", plan_.node_restart_s}});
    add_half("failures noticed twice as fast", Kind::restarting,
             {{"restart.detect", now_.defaults.detect_s}},
             "init_process_group(timeout=...), of hangs");
  }

  void add_rate(const std::string& name, Kind kind, double factor, const std::string& assumes) {
    add(name, kind,
        {"rate_factor=" + number_text(with_digits(now_.defaults.rate_factor * factor, 9))}, "",
        assumes);
  }
  void add_failures() {
    const bool fails = std::any_of(plan_.causes.begin(), plan_.causes.end(), [](const auto& cause) {
      return !cause.at_s.empty() || cause.mean_s < goodput::never_s;
    });
    if (!fails) return leave_out("other failures", "nothing fails");
    const char* lemons = "lemons swapped for good nodes";
    const LemonShare share = now_.source.lemons.value_or(lemons_of_rsc);
    const double rate = goodput::rate_without_lemons(share.of_units, share.of_failures);
    if (rate < 1)
      add_rate(lemons, Kind::repairing, rate,
               now_.source.lemons ? ""
                                  : "1.2 % of the nodes have 13 % of the failures, as RSC-1 "
                                    "counted; `sgdsim fit` counts those of a log of yours");
    else
      leave_out(lemons, "no node fails more often than the others");
    add_rate("failures half as often", Kind::reliability, 0.5, "");
  }

  void add_repairing() {
    if (plan_.spares) {
      const auto enough = spares_for(now_);
      const std::string name = "as many spares as are needed";
      if (enough && enough->spares > *plan_.spares)
        add(name, Kind::spares, {"spares=" + std::to_string(enough->spares)});
      else
        leave_out(name, "there are " + std::to_string(*plan_.spares));
    }
    if (plan_.spares || plan_.shrink)
      add_half("repairs twice as fast", Kind::repairing, {{"repair", now_.defaults.repair_s}});
    add_half("planned work in half the time", Kind::repairing,
             {{"planned.lasts", plan_.planned_every_s > 0 ? plan_.planned_s : 0}});
    add_slow();
  }
  void add_slow() {
    const bool slows = std::any_of(plan_.causes.begin(), plan_.causes.end(), [](const auto& cause) {
      return cause.effect == goodput::Effect::slow && cause.lasts_s > 0;
    });
    if (!slows) return;
    const Value given(json_["failures"], file_, "/failures");
    Json failures =
        given.json().is_string() ? failures_document(given).root().json() : given.json();
    for (std::size_t i = 0; i < plan_.causes.size(); ++i)
      if (plan_.causes[i].effect == goodput::Effect::slow)
        failures["causes"][i]["lasts"] = seconds_text(plan_.causes[i].lasts_s / 2);
    add("slow nodes swapped in half the time", Kind::repairing, {"failures=" + failures.dump()});
  }

  const GoodputQuestion& now_;
  const goodput::Plan& plan_;
  const Json& json_;
  const std::string& file_;
  ChangeList list_;
};

}  // namespace

AdvisedTraining::AdvisedTraining(const TrainingWords& words, const Cluster& cluster, Duration step)
    : workers_(cluster.network.workers()),
      workers_per_node_(std::clamp(cluster.workers_per_node, 1, workers_)),
      training_(training_of(words, workers_, workers_per_node_)),
      now_(training_.question(step)) {}

// The work is so many samples: more workers, or larger batches, have them in fewer steps.
std::vector<std::string> AdvisedTraining::settings_for(int workers, double batch,
                                                       std::vector<std::string> settings) const {
  if (workers == workers_ && batch == 1) return settings;
  const double samples = static_cast<double>(now_.plan.steps) * workers_;
  const auto steps = static_cast<int64_t>(std::ceil(samples / (workers * batch) - 1e-9));
  settings.insert(settings.end(), {"tokens=null", "tokens_per_step=null",
                                   "steps=" + std::to_string(std::max<int64_t>(1, steps)),
                                   "nodes=" + std::to_string((workers + workers_per_node_ - 1) /
                                                             workers_per_node_)});
  return settings;
}

TrainingEnd AdvisedTraining::end(Duration step, int workers,
                                 const std::vector<std::string>& settings,
                                 const std::function<void()>& look, double batch) const {
  return training_.end(step, settings_for(workers, batch, settings), look);
}

std::string AdvisedTraining::command(Duration step, int workers,
                                     const std::vector<std::string>& settings, double batch) const {
  return training_.command(step, settings_for(workers, batch, settings));
}

ChangeList AdvisedTraining::changes() const {
  return TrainingLister(now_, training_.json(), training_.file()).list();
}

}  // namespace sgdsim
