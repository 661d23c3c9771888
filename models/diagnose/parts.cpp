// What every node would take after a repair of its worker, its stage, ...; then each part is
// played.
#include "models/diagnose/parts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "models/diagnose/usual.h"

namespace sgdsim::diagnose {
namespace {

constexpr std::size_t most_played = 16;  // parts of a kind
constexpr double least_saving = 1e-3;    // of a step
constexpr double counts_as_slow = 1.2;   // times the length after the repair
constexpr double nearly = 0.9;           // of what a part saves, by one that it includes
constexpr double most_uneven = 20;       // micro-batches; beyond that it is something else
constexpr double often = 0.05;           // of operations that are slow

using Lengths = std::vector<Duration>;
using Chosen = std::function<bool(const Node&)>;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Duration divided(Duration length, double factor) {
  return Duration::nearest_ps(static_cast<double>(length.ps()) / factor);
}

class Repairs {
 public:
  explicit Repairs(const StepWork& work)
      : work_(work), medians_(work), micro_batches_(micro_batch_factors()) {}

  Lengths of_workers() const;
  Lengths of_stages() const;
  // The work of a step divided evenly over micro-batches.
  Lengths of_sequences() const;
  Lengths of_pauses() const;
  Lengths of_exchanges() const;

 private:
  double usual(const Node& node) const { return medians_.of(node.worker, node.type); }
  // What the same stage of the other replicas usually takes; without others: as it does itself.
  double usual_of_likes(const Node& node) const {
    std::vector<double> likes;
    for (int replica = 0; replica < work_.replicas; ++replica) {
      const int like = replica * work_.stages + work_.stage_of(node.worker);
      if (like != node.worker && medians_.has(like, node.type))
        likes.push_back(medians_.of(like, node.type));
    }
    return likes.empty() ? usual(node) : median(std::move(likes));
  }
  double usual_of_stage(const Node& node, int stage) const {
    std::vector<double> replicas;
    for (int replica = 0; replica < work_.replicas; ++replica)
      replicas.push_back(std::max(0., medians_.of(replica * work_.stages + stage, node.type)));
    return median(std::move(replicas));
  }
  double factor_of_stage(const Node& node) const {
    double others = 0;
    const int stage = work_.stage_of(node.worker);
    for (int other = 0; other < work_.stages; ++other)
      if (other != stage) others += usual_of_stage(node, other);
    if (!(others > 0)) return 1;
    return usual_of_stage(node, stage) * (work_.stages - 1) / others;
  }
  // As recorded, but what took much longer than its worker usually does takes what is usual.
  // `by_micro_batch`: what is usual of this micro-batch.
  Lengths without_slow_ones(bool by_micro_batch) const;
  // Of each node's micro-batch: how many times as long as usual its passes take, on all stages.
  std::vector<double> micro_batch_factors() const;

  const StepWork& work_;
  WorkerMedians medians_;
  std::vector<double> micro_batches_;
};

std::vector<double> Repairs::micro_batch_factors() const {
  using Key = std::tuple<int32_t, int32_t, int32_t, int32_t>;
  std::vector<std::pair<Key, double>> ratios;
  std::vector<Key> keys(work_.nodes.size());
  for (std::size_t i = 0; i < work_.nodes.size(); ++i) {
    const Node& node = work_.nodes[i];
    if (!is_pass(node.kind) || !(usual(node) > 0)) continue;
    keys[i] = {node.step, work_.replica_of(node.worker), node.micro_batch, 0};
    ratios.emplace_back(keys[i], static_cast<double>(work_.recorded[i].ps()) / usual(node));
  }
  std::sort(ratios.begin(), ratios.end());
  std::map<Key, double> factors;
  for (std::size_t from = 0; from < ratios.size();) {
    std::size_t to = from;
    while (to < ratios.size() && ratios[to].first == ratios[from].first) ++to;
    const double middle = ratios[from + (to - from - 1) / 2].second;  // the lower median
    factors[ratios[from].first] = std::clamp(middle, 1 / most_uneven, most_uneven);
    from = to;
  }
  std::vector<double> result(work_.nodes.size(), 1);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (const auto found = factors.find(keys[i]);
        found != factors.end() && found->second > 0 && is_pass(work_.nodes[i].kind))
      result[i] = found->second;
  return result;
}

Lengths Repairs::of_sequences() const {
  const std::vector<double>& factors = micro_batches_;
  std::vector<double> sums(work_.steps.size());
  std::vector<double> counts(work_.steps.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!is_pass(work_.nodes[i].kind)) continue;
    sums[at(work_.nodes[i].step)] += factors[i];
    ++counts[at(work_.nodes[i].step)];
  }
  Lengths lengths = work_.recorded;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (!is_pass(work_.nodes[i].kind)) continue;
    const std::size_t step = at(work_.nodes[i].step);
    lengths[i] = divided(lengths[i], factors[i] * counts[step] / sums[step]);
  }
  return lengths;
}

Lengths Repairs::without_slow_ones(bool by_micro_batch) const {
  const auto expected = [&](std::size_t i) {
    return usual(work_.nodes[i]) * (by_micro_batch ? micro_batches_[i] : 1);
  };
  std::vector<std::vector<double>> ratios(work_.types.size());
  for (std::size_t i = 0; i < work_.nodes.size(); ++i)
    if (is_own_time(work_.nodes[i].kind) && expected(i) > 0)
      ratios[at(work_.nodes[i].type)].push_back(static_cast<double>(work_.recorded[i].ps()) /
                                                expected(i));
  std::vector<double> slow_from;
  for (std::vector<double>& some : ratios) slow_from.push_back(1 + margin_of_slow(std::move(some)));
  Lengths lengths = work_.recorded;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (is_own_time(work_.nodes[i].kind) &&
        static_cast<double>(lengths[i].ps()) > slow_from[at(work_.nodes[i].type)] * expected(i))
      lengths[i] = Duration::nearest_ps(expected(i));
  return lengths;
}

// Slow always: as its likes usually are. Slow now and then: as it usually is itself. With one stage
// nobody else has its micro-batches, so that these excuse nothing.
Lengths Repairs::of_workers() const {
  Lengths lengths = without_slow_ones(work_.stages > 1);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Node& node = work_.nodes[i];
    if (!is_own_time(node.kind)) continue;
    const double own = usual(node);
    if (const double likes = usual_of_likes(node); own > likes)
      lengths[i] = Duration::nearest_ps(static_cast<double>(lengths[i].ps()) * (likes / own));
  }
  return lengths;
}

Lengths Repairs::of_stages() const {
  Lengths lengths = work_.recorded;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (is_pass(work_.nodes[i].kind))
      if (const double by = factor_of_stage(work_.nodes[i]); by > 1)
        lengths[i] = divided(lengths[i], by);
  return lengths;
}

Lengths Repairs::of_pauses() const {
  Lengths lengths = without_slow_ones(true);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (work_.nodes[i].kind == Recorded::collection) lengths[i] = Duration();
  return lengths;
}

// At most the median of its kind; what replicas exchange is compared piece by piece.
Lengths Repairs::of_exchanges() const {
  std::vector<int32_t> next(at(work_.workers()) * recorded_kinds);
  int32_t step = -1;
  std::map<std::pair<int32_t, int32_t>, std::vector<double>> all;  // by type and piece
  std::vector<int32_t> pieces(work_.nodes.size());
  for (std::size_t i = 0; i < work_.nodes.size(); ++i) {
    const Node& node = work_.nodes[i];
    if (!is_communication(node.kind)) continue;
    if (node.step != step) std::fill(next.begin(), next.end(), 0);
    step = node.step;
    if (!is_between_stages(node.kind))
      pieces[i] = next[at(node.worker) * recorded_kinds + static_cast<std::size_t>(node.kind)]++;
    all[{node.type, pieces[i]}].push_back(static_cast<double>(work_.recorded[i].ps()));
  }
  std::map<std::pair<int32_t, int32_t>, Duration> usual;
  for (auto& [key, some] : all) usual[key] = Duration::nearest_ps(median(std::move(some)));
  Lengths lengths = work_.recorded;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (is_communication(work_.nodes[i].kind))
      lengths[i] = std::min(lengths[i], usual[{work_.nodes[i].type, pieces[i]}]);
  return lengths;
}

struct Candidate {
  Part part;
  const Lengths* repaired = nullptr;
  Chosen includes;
  double reduced_ps = 0;  // of all its nodes
};

bool is_of_replicas(Recorded kind) {
  return kind == Recorded::gather || kind == Recorded::reduce || kind == Recorded::separate;
}

class Search {
 public:
  Search(const StepWork& work, double played_s)
      : work_(work), played_s_(played_s), repairs_(work) {}

  std::vector<Part> found() {
    add_computing();
    add_exchanges();
    std::vector<Part> parts;
    for (auto& [kind, some] : candidates_) {
      std::stable_sort(some.begin(), some.end(), [](const Candidate& a, const Candidate& b) {
        return a.reduced_ps > b.reduced_ps;
      });
      some.resize(std::min(some.size(), most_played));
      for (const Candidate& one : some) play_one(one, parts);
    }
    // A card is blamed before a link of its own if all that it does is slow now and then; else its
    // link comes first, unless that saves much less.
    std::vector<std::pair<double, Part>> weighed;
    for (const Part& part : parts) {
      const double weight = part.kind != PartKind::card       ? 1
                            : is_slow_everywhere(part.worker) ? 1 / nearly
                                                              : nearly;
      weighed.emplace_back(weight * part.saved_s, part);
    }
    std::stable_sort(weighed.begin(), weighed.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = weighed[i].second;
    blame_one_worker_for_pauses(parts);
    return parts;
  }

 private:
  void add(Part part, const Lengths& repaired, Chosen includes, double reduced_ps) {
    candidates_[part.kind].push_back({part, &repaired, std::move(includes), reduced_ps});
  }
  double reduced(const Lengths& repaired, std::size_t node) const {
    return static_cast<double>((work_.recorded[node] - repaired[node]).ps());
  }
  void add_computing();
  void add_exchanges();
  void add_cards(const std::map<std::pair<int, int>, double>& links,
                 const std::vector<double>& of_stage);
  // Pauses that are nearly all of one worker: the worker comes first.
  static void blame_one_worker_for_pauses(std::vector<Part>& parts);
  void play_one(const Candidate& one, std::vector<Part>& parts) const;
  bool is_slow(std::size_t node, Duration repaired) const {
    return static_cast<double>(work_.recorded[node].ps()) >
           counts_as_slow * static_cast<double>(repaired.ps());
  }
  bool is_slow_everywhere(int worker) const;

  const StepWork& work_;
  double played_s_ = 0;
  Repairs repairs_;
  Lengths workers_;
  Lengths stages_;
  Lengths sequences_;
  Lengths pauses_;
  Lengths exchanges_;
  std::map<PartKind, std::vector<Candidate>> candidates_;
};

void Search::add_computing() {
  workers_ = repairs_.of_workers();
  stages_ = repairs_.of_stages();
  sequences_ = repairs_.of_sequences();
  pauses_ = repairs_.of_pauses();
  std::vector<double> by_worker(at(work_.workers()));
  std::vector<double> by_stage(at(work_.stages));
  for (std::size_t i = 0; i < work_.nodes.size(); ++i) {
    by_worker[at(work_.nodes[i].worker)] += reduced(workers_, i);
    by_stage[at(work_.stage_of(work_.nodes[i].worker))] += reduced(stages_, i);
  }
  for (int worker = 0; worker < work_.workers(); ++worker)
    if (by_worker[at(worker)] > 0)
      add(
          {.kind = PartKind::worker, .worker = worker}, workers_,
          [worker](const Node& node) { return node.worker == worker; }, by_worker[at(worker)]);
  for (int stage = 0; stage < work_.stages; ++stage)
    if (by_stage[at(stage)] > 0)
      add(
          {.kind = PartKind::stage, .stage = stage}, stages_,
          [this, stage](const Node& node) { return work_.stage_of(node.worker) == stage; },
          by_stage[at(stage)]);
  const Chosen everything = [](const Node&) { return true; };
  add({.kind = PartKind::sequences}, sequences_, everything, 0);
  add({.kind = PartKind::pauses}, pauses_, everything, 0);
}

void Search::add_exchanges() {
  exchanges_ = repairs_.of_exchanges();
  std::map<std::pair<int, int>, double> links;
  std::vector<double> of_stage(at(work_.stages));
  std::vector<double> of_embedding(at(work_.replicas));
  double of_clipping = 0;
  for (std::size_t i = 0; i < work_.nodes.size(); ++i) {
    const Node& node = work_.nodes[i];
    const double by = reduced(exchanges_, i);
    if (node.peer >= 0)
      links[{std::min(node.worker, node.peer), std::max(node.worker, node.peer)}] += by;
    if (is_of_replicas(node.kind)) of_stage[at(work_.stage_of(node.worker))] += by;
    if (node.kind == Recorded::embedding) of_embedding[at(work_.replica_of(node.worker))] += by;
    if (node.kind == Recorded::clip) of_clipping += by;
  }
  for (const auto& [pair, by] : links)
    if (by > 0)
      add(
          {.kind = PartKind::link, .worker = pair.first, .peer = pair.second}, exchanges_,
          [pair = pair](const Node& node) {
            return node.peer >= 0 && std::min(node.worker, node.peer) == pair.first &&
                   std::max(node.worker, node.peer) == pair.second;
          },
          by);
  for (int stage = 0; stage < work_.stages; ++stage)
    if (of_stage[at(stage)] > 0)
      add(
          {.kind = PartKind::replicas, .stage = stage}, exchanges_,
          [this, stage](const Node& node) {
            return is_of_replicas(node.kind) && work_.stage_of(node.worker) == stage;
          },
          of_stage[at(stage)]);
  for (int replica = 0; replica < work_.replicas; ++replica)
    if (of_embedding[at(replica)] > 0)
      add(
          {.kind = PartKind::embedding, .replica = replica}, exchanges_,
          [this, replica](const Node& node) {
            return node.kind == Recorded::embedding && work_.replica_of(node.worker) == replica;
          },
          of_embedding[at(replica)]);
  if (of_clipping > 0)
    add(
        {.kind = PartKind::clipping}, exchanges_,
        [](const Node& node) { return node.kind == Recorded::clip; }, of_clipping);
  if (work_.stages > 1) add_cards(links, of_stage);
}

// With one stage, all cards of a group of replicas would explain the same.
void Search::add_cards(const std::map<std::pair<int, int>, double>& links,
                       const std::vector<double>& of_stage) {
  for (int worker = 0; worker < work_.workers(); ++worker) {
    const int stage = work_.stage_of(worker);
    double by = 0;
    for (const auto& [pair, of_link] : links)
      if (pair.first == worker || pair.second == worker) by += of_link;
    if (!(by > 0)) continue;
    add(
        {.kind = PartKind::card, .worker = worker}, exchanges_,
        [this, worker, stage](const Node& node) {
          return node.worker == worker || node.peer == worker ||
                 (is_of_replicas(node.kind) && work_.stage_of(node.worker) == stage);
        },
        by + of_stage[at(stage)]);
  }
}

// Each of its links and the exchange of its stage's replicas.
bool Search::is_slow_everywhere(int worker) const {
  std::map<int, std::pair<double, double>> counts;  // by peer; -1: replicas. All, and slow ones
  for (std::size_t i = 0; i < work_.nodes.size(); ++i) {
    const Node& node = work_.nodes[i];
    const bool is_of_stage =
        is_of_replicas(node.kind) && work_.stage_of(node.worker) == work_.stage_of(worker);
    if (!is_of_stage && (node.peer < 0 || (node.worker != worker && node.peer != worker))) continue;
    auto& [all, slow] = counts[is_of_stage ? -1 : node.worker == worker ? node.peer : node.worker];
    ++all;
    if (is_slow(i, exchanges_[i])) ++slow;
  }
  return counts.size() > 1 && std::all_of(counts.begin(), counts.end(), [](const auto& one) {
           return one.second.second >= often * one.second.first;
         });
}

void Search::blame_one_worker_for_pauses(std::vector<Part>& parts) {
  const auto is_of = [](PartKind kind) {
    return [kind](const Part& part) { return part.kind == kind; };
  };
  const auto pauses = std::find_if(parts.begin(), parts.end(), is_of(PartKind::pauses));
  const auto worker = std::find_if(pauses, parts.end(), is_of(PartKind::worker));
  if (worker != parts.end() && worker->saved_s >= nearly * pauses->saved_s)
    std::rotate(pauses, worker, worker + 1);
}

void Search::play_one(const Candidate& one, std::vector<Part>& parts) const {
  Lengths lengths = work_.recorded;
  const bool computes = one.repaired != &exchanges_;
  struct Counted {
    double all = 0;
    double slow = 0;
    double reduced_ps = 0;
  };
  Counted inside;   // exchanges, or passes
  Counted outside;  // what a worker does besides
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Node& node = work_.nodes[i];
    if (computes == is_communication(node.kind) || !one.includes(node)) continue;
    const Duration repaired = (*one.repaired)[i];
    Counted& counted = node.kind == Recorded::optimizer ? outside : inside;
    ++counted.all;
    if (is_slow(i, repaired)) ++counted.slow;
    counted.reduced_ps += reduced(*one.repaired, i);
    lengths[i] = repaired;
  }
  Part part = one.part;
  part.saved_s = played_s_ - diagnose::played_s(work_, lengths);
  if (outside.reduced_ps > 0)
    part.outside = outside.reduced_ps / (outside.reduced_ps + inside.reduced_ps);
  const Counted& shown = part.outside > 0.5 ? outside : inside;
  part.share = shown.all > 0 ? shown.slow / shown.all : 0;
  if (part.saved_s > least_saving * played_s_) parts.push_back(part);
}

}  // namespace

std::vector<Part> parts_of(const StepWork& work, double played_s) {
  return Search(work, played_s).found();
}

}  // namespace sgdsim::diagnose
