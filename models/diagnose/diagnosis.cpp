// Every answer is the same work played with other lengths.
#include "models/diagnose/diagnosis.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "models/diagnose/usual.h"

namespace sgdsim::diagnose {
namespace {

using Chosen = std::function<bool(const Node&)>;

// One length for a node: `inside` where it is chosen, else `outside`.
std::vector<Duration> mixed(const StepWork& work, const std::vector<Duration>& inside,
                            const std::vector<Duration>& outside, const Chosen& chosen) {
  std::vector<Duration> lengths = outside;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (chosen(work.nodes[i])) lengths[i] = inside[i];
  return lengths;
}

// Sends and receives of a direction are one.
std::string kind_name(Recorded kind) {
  if (kind == Recorded::forward_send || kind == Recorded::forward_receive) return "forward-pp-comm";
  if (kind == Recorded::backward_send || kind == Recorded::backward_receive)
    return "backward-pp-comm";
  return std::string(name_of(kind));
}

class Asker {
 public:
  Asker(const StepWork& work, Diagnosis& answer)
      : work_(work), answer_(answer), ideal_(ideal_lengths(work)) {
    answer.ideal_s = played_s(work, ideal_);
    const std::vector<Duration> times = play(work, work.recorded);
    for (const Duration time : times) answer.steps_s.push_back(time.s());
    answer.played_s = mean(answer.steps_s);
    std::vector<double> measured;
    for (const Duration time : work.measured) measured.push_back(time.s());
    answer.measured_s = mean(measured);
  }

  void ask() {
    for (int stage = 0; stage < work_.stages; ++stage)
      answer_.stages.push_back({std::to_string(stage), only([&](const Node& node) {
                                  return work_.stage_of(node.worker) == stage;
                                })});
    for (int replica = 0; replica < work_.replicas; ++replica)
      answer_.replicas.push_back({std::to_string(replica), only([&](const Node& node) {
                                    return work_.replica_of(node.worker) == replica;
                                  })});
    ask_kinds();
    ask_workers();
    const int last = work_.stages - 1;
    if (work_.stages > 1)
      answer_.last_stage =
          explained([&](const Node& node) { return work_.stage_of(node.worker) == last; });
    answer_.slow_workers = explained([&](const Node& node) {
      return std::find(answer_.slowest.begin(), answer_.slowest.end(), node.worker) !=
             answer_.slowest.end();
    });
  }

 private:
  static double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
  }
  // S with only these as they were recorded.
  double only(const Chosen& chosen) const {
    if (!(answer_.ideal_s > 0)) return 1;
    return played_s(work_, mixed(work_, work_.recorded, ideal_, chosen)) / answer_.ideal_s;
  }
  // How much of T - T_ideal goes if these are ideal.
  std::optional<double> explained(const Chosen& chosen) const {
    const double all_s = answer_.played_s - answer_.ideal_s;
    if (all_s == 0) return std::nullopt;
    const double without_s = played_s(work_, mixed(work_, ideal_, work_.recorded, chosen));
    return (answer_.played_s - without_s) / all_s;
  }
  void ask_kinds() {
    std::array<bool, recorded_kinds> is_there{};
    for (const Node& node : work_.nodes) is_there[static_cast<std::size_t>(node.kind)] = true;
    std::vector<std::string> asked;
    for (std::size_t i = 0; i < recorded_kinds; ++i) {
      const std::string name = kind_name(static_cast<Recorded>(i));
      if (!is_there[i] || std::find(asked.begin(), asked.end(), name) != asked.end()) continue;
      asked.push_back(name);
      answer_.kinds.push_back(
          {name, only([&](const Node& node) { return kind_name(node.kind) == name; })});
    }
  }
  void ask_workers() {
    for (int worker = 0; worker < work_.workers(); ++worker) {
      const auto stage = static_cast<std::size_t>(work_.stage_of(worker));
      const auto replica = static_cast<std::size_t>(work_.replica_of(worker));
      answer_.workers.push_back(
          {worker, std::min(answer_.stages[stage].slowdown, answer_.replicas[replica].slowdown)});
    }
    // Of equally slow ones the first of the job's ranks, which count replicas within a stage.
    const auto rank = [&](int worker) {
      return work_.stage_of(worker) * work_.replicas + work_.replica_of(worker);
    };
    std::sort(answer_.workers.begin(), answer_.workers.end(),
              [&](const WorkerSlowdown& a, const WorkerSlowdown& b) {
                if (a.slowdown != b.slowdown) return a.slowdown > b.slowdown;
                return rank(a.worker) < rank(b.worker);
              });
    const std::size_t count = (answer_.workers.size() * 3 + 99) / 100;
    for (std::size_t i = 0; i < count; ++i) answer_.slowest.push_back(answer_.workers[i].worker);
  }

  const StepWork& work_;
  Diagnosis& answer_;
  std::vector<Duration> ideal_;
};

// A layer of the last stage moves to the stage that computes least.
void move_a_layer(const StepWork& work, int layers, Diagnosis& answer) {
  if (layers < work.stages || work.stages < 2) return;
  const StageTimes times = stage_times(work);
  const int last = work.stages - 1;
  int least = 0;
  for (int stage = 1; stage < last; ++stage)
    if (times.total(stage) < times.total(least)) least = stage;
  const double of_stage = static_cast<double>(layers) / work.stages;
  std::vector<Duration> lengths = work.recorded;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Node& node = work.nodes[i];
    if (!is_pass(node.kind)) continue;
    const int stage = work.stage_of(node.worker);
    if (stage != last && stage != least) continue;
    // A layer takes what the other stages take for one; what is left of a pass is at least nothing.
    const double layer_ps = times.mean_of_others(last, node.kind) / of_stage;
    const double length_ps = static_cast<double>(lengths[i].ps());
    lengths[i] =
        Duration::nearest_ps(std::max(0., length_ps + (stage == last ? -layer_ps : layer_ps)));
  }
  answer.fewer_layers_s = played_s(work, lengths);
  answer.receiving_stage = least;
}

double scaled_s(const StepWork& work, const WhatIf& what_if) {
  std::vector<Duration> lengths = work.recorded;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] =
        Duration::nearest_ps(static_cast<double>(lengths[i].ps()) *
                             what_if.factors[static_cast<std::size_t>(work.nodes[i].kind)]);
  return played_s(work, lengths);
}

double changed_s(const StepWork& work, const WhatIf& what_if) {
  return what_if.replicas == 0 ? scaled_s(work, what_if)
                               : scaled_s(with_replicas(work, what_if.replicas), what_if);
}

}  // namespace

std::vector<Duration> ideal_lengths(const StepWork& work) {
  std::vector<std::vector<double>> lengths(work.types.size());
  for (std::size_t i = 0; i < work.nodes.size(); ++i)
    lengths[static_cast<std::size_t>(work.nodes[i].type)].push_back(
        static_cast<double>(work.recorded[i].ps()));
  std::vector<Duration> ideal(work.types.size());
  for (std::size_t type = 0; type < work.types.size(); ++type) {
    const std::vector<double>& all = lengths[type];
    ideal[type] = Duration::nearest_ps(is_communication(work.types[type])
                                           ? median(all)
                                           : std::accumulate(all.begin(), all.end(), 0.) /
                                                 static_cast<double>(all.size()));
  }
  std::vector<Duration> result;
  result.reserve(work.nodes.size());
  for (const Node& node : work.nodes) result.push_back(ideal[static_cast<std::size_t>(node.type)]);
  return result;
}

Diagnosis diagnose(const StepWork& work, const DiagnoseOptions& options) {
  Diagnosis answer;
  Asker(work, answer).ask();
  answer.parts = parts_of(work, answer.played_s);
  move_a_layer(work, options.layers, answer);
  for (const WhatIf& one : options.what_ifs)
    answer.what_ifs.push_back({one.words, changed_s(work, one)});
  return answer;
}

}  // namespace sgdsim::diagnose
