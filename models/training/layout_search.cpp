// Nested loops over divisors; what else must hold is asked of misfit_of, so that the rules stand in
// one place.
#include "models/training/layout_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "models/training/link_load.h"
#include "models/training/memory.h"
#include "models/training/near_layouts.h"
#include "sim/core/worked_on.h"

namespace sgdsim {
namespace {

// With sizes of the groups set: the choices that remain.
void for_each_choice(const Transformer& model, const LayoutSpace& space, Layout layout,
                     const std::function<void(const Layout&)>& f) {
  // No rule parts layouts that compute everything again from those that compute nothing again, or
  // modules.
  const Recompute least =
      space.base.recompute == Recompute::modules ? Recompute::modules : Recompute::none;
  layout.recompute = least;
  for (layout.zero = 0; layout.zero <= 3; ++layout.zero) {
    if (!misfit_of(model, layout, space.sequence).empty()) continue;
    for (const Recompute recompute : {least, Recompute::full}) {
      Layout chosen = layout;
      chosen.recompute = recompute;
      if (recompute == Recompute::full) chosen.recompute_modules = {};
      if (can_do(space.program, chosen)) f(chosen);
    }
  }
}

// With tp, pp, cp and dp set.
void for_each_inner(const Transformer& model, const LayoutSpace& space, Layout layout,
                    const std::function<void(const Layout&)>& f) {
  spread_layers(model, layout);
  const int64_t of_replica = space.batch / layout.replicas;
  const std::vector<int64_t> chunks = chunks_of_search(model, layout);
  const std::vector<int64_t> groups =
      model.experts ? divisors_of(model.experts->count) : std::vector<int64_t>{1};
  for (const int64_t v : chunks)
    for (const int64_t e : groups)
      for (int64_t b = 1; b <= std::min(of_replica, most_micro_batch); b *= 2) {
        if (of_replica % b != 0 || of_replica / b > most_micro_batches) continue;
        layout.chunks = v;
        layout.expert = e;
        // Words about experts mean nothing where each rank has all of them.
        const bool has_all = model.experts && layout.expert == 1;
        layout.dispatch =
            has_all && layout.expert_tensor == 1 ? Dispatch::direct : space.base.dispatch;
        layout.experts = has_all ? ExpertsUnder::alone : space.base.experts;
        layout.micro_batch = b;
        layout.micro_batches = of_replica / b;
        if (layout.pairs_passes() && layout.pipeline == 1 && layout.micro_batches == 1)
          layout.experts = ExpertsUnder::alone;
        for (const bool sp : {false, true}) {
          layout.sequence_parallel = sp;
          for_each_choice(model, space, layout, f);
        }
      }
}

}  // namespace

std::vector<int64_t> divisors_of(int64_t number) {
  std::vector<int64_t> all;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    all.push_back(d);
    if (d * d != number) all.push_back(number / d);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Virtual stages: divisors, or where layers are spread, powers of two.
std::vector<int64_t> chunks_of_search(const Transformer& model, const Layout& layout) {
  if (layout.pipeline == 1) return {1};
  const int64_t units = model.layers + (layout.ends_are_layers ? 2 : 0);
  if (!layout.stages.is_spread) return divisors_of(units / layout.pipeline);
  std::vector<int64_t> all;
  for (int64_t v = 1; can_be_spread(model.layers, v * layout.pipeline); v *= 2) all.push_back(v);
  return all;
}

void spread_layers(const Transformer& model, Layout& layout) {
  const bool divides = model.layers % layout.pipeline == 0;
  layout.ends_are_layers = !divides && (model.layers + 2) % layout.pipeline == 0;
  layout.stages.is_spread = !divides && !layout.ends_are_layers;
}

namespace {

// How many GPUs share a layer, a copy of the model and a sequence; each by itself, so that threads
// may share them out.
struct Divided {
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t context = 1;
};

std::vector<Divided> divisions(const Transformer& model, const LayoutSpace& space) {
  std::vector<Divided> all;
  for (const int64_t tensor : divisors_of(space.gpus)) {
    if (model.heads % tensor != 0) continue;
    for (const int64_t pipeline : divisors_of(space.gpus / tensor)) {
      if (pipeline > model.layers + 2) continue;
      for (const int64_t context : divisors_of(space.gpus / tensor / pipeline))
        if (space.batch % (space.gpus / tensor / pipeline / context) == 0)
          all.push_back({tensor, pipeline, context});
    }
  }
  return all;
}

void for_each_divided(const Transformer& model, const LayoutSpace& space, const Divided& by,
                      const std::function<void(const Layout&)>& f) {
  Layout layout = space.base;
  if (space.half_gradients) layout.half_gradients = true;
  if (layout.kernels == Kernels::fused) layout.kernels = kernels_of(space.program);
  layout.tensor = by.tensor;
  layout.pipeline = by.pipeline;
  layout.context = by.context;
  layout.replicas = space.gpus / by.tensor / by.pipeline / by.context;
  for_each_inner(model, space, layout, f);
}

// What a part of the space holds; parts are added up in order.
class PartOfSearch {
 public:
  PartOfSearch(const Transformer& model, const Gpu& gpu, Precision precision,
               const LayoutSpace& space, GroupTimes& groups, std::function<void()> look)
      : model_(model),
        gpu_(gpu),
        precision_(precision),
        space_(space),
        groups_(groups),
        look_(std::move(look)),
        room_B_(static_cast<double>(space.memory.count()) -
                static_cast<double>(space.reserve.count())) {}

  void take(const Layout& layout) {
    constexpr int64_t between_looks = 1024;
    if (found_.candidates++ % between_looks == 0 && look_) look_();
    // Of what fits nowhere, only the smallest is of interest.
    const double enough_B = found_.smallest_B == 0 ? std::numeric_limits<double>::infinity()
                                                   : std::max(room_B_, found_.smallest_B);
    const double memory_B = largest_memory(model_, layout, space_.sequence, enough_B).total_B();
    if (memory_B > room_B_) return take_smallest(layout, memory_B, found_);
    try {
      const HybridStep step = step_on_links({model_, layout, space_.sequence, gpu_, precision_,
                                             space_.documents.get(), space_.all_sites()},
                                            groups_);
      found_.fitting.push_back({layout, step.time, step.mfu, memory_B, step.limit});
    } catch (const UnfitGroup& unfit) {
      ++found_.left_out;
      found_.why_left_out = unfit.what();
    }
  }
  LayoutSearch found() { return std::move(found_); }

  static void add(LayoutSearch&& part, LayoutSearch& all) {
    all.candidates += part.candidates;
    std::move(part.fitting.begin(), part.fitting.end(), std::back_inserter(all.fitting));
    if (part.smallest_B > 0) take_smallest(part.smallest, part.smallest_B, all);
    all.left_out += part.left_out;
    if (part.left_out > 0) all.why_left_out = std::move(part.why_left_out);
  }

 private:
  static void take_smallest(const Layout& layout, double memory_B, LayoutSearch& all) {
    if (all.smallest_B != 0 && memory_B >= all.smallest_B) return;
    all.smallest = layout;
    all.smallest_B = memory_B;
  }

  const Transformer& model_;
  const Gpu& gpu_;
  Precision precision_;
  const LayoutSpace& space_;
  GroupTimes& groups_;
  std::function<void()> look_;
  double room_B_;
  LayoutSearch found_;
};

}  // namespace

void for_each_layout(const Transformer& model, const LayoutSpace& space,
                     const std::function<void(const Layout&)>& f) {
  if (space.near) return for_each_near(model, space, *space.near, f);
  for (const Divided& by : divisions(model, space)) for_each_divided(model, space, by, f);
}

LayoutSearch search_layouts(const Transformer& model, const Gpu& gpu, Precision precision,
                            const Cluster& cluster, const LayoutSpace& space,
                            const AlgorithmChoice& algorithms, const Stopper* stopper) {
  const std::vector<Divided> parts = space.near ? std::vector<Divided>(1) : divisions(model, space);
  const WorkOn how{.look = [stopper] { look(stopper); }};
  GroupsOfThreads groups(cluster, space.gpus, algorithms, how.threads);
  LayoutSearch search;
  for (LayoutSearch& found : worked_on<LayoutSearch>(
           parts.size(), how,
           [&](int thread, std::size_t number, const std::function<void()>&look) {
             PartOfSearch part(model, gpu, precision, space, groups.of(thread), look);
             const auto take = [&](const Layout& layout) { part.take(layout); };
             if (space.near)
               for_each_near(model, space, *space.near, take);
             else
               for_each_divided(model, space, parts[number], take);
             return part.found();
           }))
    PartOfSearch::add(std::move(found), search);
  std::stable_sort(search.fitting.begin(), search.fitting.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return search;
}

}  // namespace sgdsim
