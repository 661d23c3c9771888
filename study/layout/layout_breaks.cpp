// The same question on other clusters.
#include "study/layout/layout_breaks.h"

#include <algorithm>
#include <map>

#include "models/training/group_times.h"
#include "models/training/layout_search.h"
#include "models/training/link_load.h"
#include "sim/core/error.h"
#include "study/layout/layout_answer.h"
#include "study/layout/layout_files.h"
#include "study/need/crossing.h"
#include "study/need/link_classes.h"

namespace sgdsim {
namespace {

constexpr double half = 0.5;
constexpr double least_part = 0.05;
constexpr std::size_t most_added = 20;
constexpr double us_of_s = 1e6;

ClusterFile cluster_with(const LayoutQuestion& question, const Json& cluster) {
  return cluster_in(Value(cluster, question.cluster_place, ""), question.space.gpus);
}

// By kind of parallelism.
PartTimes exposed_in(const StepParts& parts) {
  return {{"computing", us_of_s * (parts.products + parts.attention + parts.element_wise +
                                   parts.offload + parts.host)},
          {"tp", us_of_s * parts.tensor},
          {"cp", us_of_s * parts.context},
          {"ep", us_of_s * parts.expert},
          {"pp", us_of_s * (parts.sends + parts.bubble)},
          {"dp", us_of_s * parts.data},
          {"optimizer", us_of_s * parts.optimizer},
          {"sites", us_of_s * parts.sites},
          {"communication", us_of_s * parts.communication}};
}

StepTaken taken_in(const LayoutLine& line) {
  return {line.step.time.us(), exposed_in(line.step.parts)};
}

LayoutLine line_of(const LayoutQuestion& question, const Layout& layout) {
  return price_layout(question, layout, false).best.front();
}

StepTaken taken_by(const LayoutQuestion& question, const Layout& layout) {
  return taken_in(line_of(question, layout));
}

StepTaken taken_on(const LayoutQuestion& question, const Layout& layout, const Json& cluster) {
  LayoutQuestion changed = question;
  changed.cluster = cluster_with(question, cluster);
  return taken_by(changed, layout);
}

StepTaken taken_without(LayoutQuestion question, const Layout& layout, const SpareLink& link) {
  close_link(question.traffic, link);
  return taken_by(question, layout);
}

// GPU 0 at half of its speed. On wires all others only wait for it: what grew is what grew of it.
StepTaken with_slow_gpu(LayoutQuestion question, const Layout& layout, const LayoutLine& usual) {
  const StepTaken base = taken_in(usual);
  const bool is_formula = !question.plays();
  if (is_formula) question.fidelity = Fidelity::message;
  const StepTaken whole = is_formula ? taken_by(question, layout) : base;
  const Json slow = {{"slow", {{{"worker", 0}, {"factor", 1 / half}}}}};
  question.play.workers = read_workers(Value(slow, "breaks", ""));
  const LayoutLine slower = line_of(question, layout);
  StepTaken taken = taken_in(slower);
  if (slower.on_wires && usual.on_wires) {
    taken.parts = exposed_in(slower.on_wires->first_parts);
    const PartTimes before = exposed_in(usual.on_wires->first_parts);
    for (std::size_t i = 0; i < before.size(); ++i)
      taken.parts[i].second += base.parts[i].second - before[i].second;
  }
  if (!is_formula) return taken;
  const double scale = base.step_us / whole.step_us;
  for (std::size_t i = 0; i < taken.parts.size(); ++i)
    taken.parts[i].second =
        base.parts[i].second + scale * (taken.parts[i].second - whole.parts[i].second);
  taken.step_us *= scale;
  return taken;
}

// What is away is a replica, whose GPUs stand idle; the others stay where they are. Rings of one
// member less take no longer than before; packed onto the first GPUs they may lie across more
// nodes.
void add_gone_gpu(const LayoutQuestion& question, Layout layout, const StepTaken& base,
                  BreakList& list) {
  if (layout.replicas < 2 || layout.shard_copies > 1) return list.add_stop("a GPU");
  const auto replicas = static_cast<double>(layout.replicas * question.sites());
  --layout.replicas;
  LayoutQuestion smaller = question;
  smaller.space.gpus = layout.gpus();
  smaller.space.batch = layout.batch();
  try {
    StepTaken taken = taken_by(smaller, layout);
    if (taken.step_us > base.step_us) taken = base;
    taken.work = (replicas - 1) / replicas;
    list.add("gpu", "a GPU, and its replica with it", "gone", taken);
  } catch (const InputError&) {  // fewer shards do not fit, or do not divide
    list.add_stop("a GPU");
  }
}

double seconds_of(const LayoutQuestion& question, GroupTimes& groups, const Layout& layout) {
  return step_on_links(question.step_of(layout), groups).parts.all();
}

ClusterFile cluster_at(const LayoutQuestion& question, const LinkClass& link, double part) {
  return cluster_with(question, with_slower(question.cluster_json, link.name, part));
}

// Among these layouts, of which the first one is the fastest.
Margin margin_among(const LayoutQuestion& question, const std::vector<FoundLayout>& layouts,
                    const LinkClass& link) {
  const auto at = [&](const Json& part) -> NeedPoint {
    const ClusterFile file = cluster_at(question, link, part.get<double>());
    GroupTimes groups(file.cluster, question.space.gpus, question.algorithms);
    const double first = seconds_of(question, groups, layouts.front().layout);
    NeedPoint point{.value = part};
    for (std::size_t i = 1; i < layouts.size(); ++i) {
      const double other = seconds_of(question, groups, layouts[i].layout) / first;
      if (point.reached && other >= *point.reached) continue;
      point.reached = other;
      point.layout = to_text(layouts[i].layout);
    }
    look(question.play.stopper);
    return point;
  };
  const NeedFound found = look_for(FieldRange("part", least_part, 1), {1, false}, 0, at);
  Margin margin{link.name, link.says, {}, {}};
  if (!found.needed || found.is_largest) return margin;
  // The last stretch is the one with the whole rate.
  margin.left = found.met.back().from.value.get<double>();
  for (const NeedPoint& point : found.points)
    if (point.value.get<double>() < *margin.left) margin.layout = point.layout;
  return margin;
}

// Those that a search finds with the link at this part, if the fastest of them is faster than the
// first of these layouts and none of them.
std::vector<FoundLayout> faster_at(const LayoutQuestion& question,
                                   const std::vector<FoundLayout>& layouts, const LinkClass& link,
                                   double part) {
  const ClusterFile file = cluster_at(question, link, part);
  std::vector<FoundLayout> found =
      search_layouts(question.model, question.gpu, question.precision, file.cluster, question.space,
                     question.algorithms, question.play.stopper)
          .fitting;
  if (found.empty()) return {};
  const Layout& fastest = found.front().layout;
  const auto is_fastest = [&](const FoundLayout& one) { return one.layout == fastest; };
  if (std::any_of(layouts.begin(), layouts.end(), is_fastest)) return {};
  GroupTimes groups(file.cluster, question.space.gpus, question.algorithms);
  if (seconds_of(question, groups, fastest) >= seconds_of(question, groups, layouts.front().layout))
    return {};
  found.resize(std::min(found.size(), most_added));
  return found;
}

// A search just above the margin must find the first layout again; what else it finds is compared,
// too.
Margin margin_of(const LayoutQuestion& question, std::vector<FoundLayout> layouts,
                 const LinkClass& link) {
  for (;;) {
    Margin margin = margin_among(question, layouts, link);
    const std::vector<FoundLayout> faster =
        faster_at(question, layouts, link, margin.left.value_or(least_part));
    if (faster.empty()) return margin;
    layouts.insert(layouts.end(), faster.begin(), faster.end());
  }
}

}  // namespace

Breaks breaks_of(const LayoutQuestion& question, const LayoutLine& line) {
  const Layout& layout = line.found.layout;
  const StepTaken base = taken_in(line);
  BreakList list(base, question.step_size().gpus);
  for (const LinkClass& link : link_classes(question.cluster_json)) {
    const auto at = [&](double part) {
      return taken_on(question, layout, with_slower(question.cluster_json, link.name, part));
    };
    const StepTaken at_half = at(half);
    list.add(link.name, link.says, "half", at_half);
    if (const auto gone = with_one_gone(question.cluster_json, link.name))
      list.add(link.name, gone->says, "gone", taken_on(question, layout, gone->cluster));
    else if (const auto spare = spare_link(question.cluster, link);
             spare && is_on_wires(question.fidelity))
      list.add(link.name, spare->says, "gone", taken_without(question, layout, *spare));
    else if (list.is_used(at_half.step_us, [&] { return at(crawling_rate); }))
      spare ? list.add_carried(link.says) : list.add_stop(link.says);
  }
  if (question.space.sites) {
    LayoutQuestion slower = question;
    slower.space.sites->bandwidth = question.space.sites->bandwidth * half;
    list.add("sites", "the ways between sites", "half", taken_by(slower, layout));
    list.add_stop("the ways between sites");
  }
  if (question.play.workers.all_alike()) {
    list.add("gpu", "a GPU", "half", with_slow_gpu(question, layout, line));
    add_gone_gpu(question, layout, base, list);
  }
  return std::move(list).breaks();
}

std::vector<Margin> margins_of(const LayoutQuestion& question,
                               const std::vector<FoundLayout>& layouts) {
  std::vector<Margin> margins;
  if (layouts.size() < 2) return margins;
  for (const LinkClass& link : link_classes(question.cluster_json))
    margins.push_back(margin_of(question, layouts, link));
  return margins;
}

}  // namespace sgdsim
