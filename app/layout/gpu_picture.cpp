// Slices by GPU and kind.
#include "app/layout/gpu_picture.h"

#include <algorithm>
#include <array>

#include "app/lane_picture.h"
#include "app/layout/pipeline_picture.h"
#include "study/lane_timeline.h"
#include "study/table.h"

namespace sgdsim {
namespace {

using Kind = GpuPart::Kind;

// How parts of a kind are shown: on which thread, and in which lane of a text.
struct Shown {
  Kind kind;
  const char* thread;
  const char* name;
  const char* category;
  int lane;  // less than 0: not in a text
  LaneKind letter;
};
enum Lane : int { computing, inside, replicas };
constexpr std::array<const char*, 3> lane_names = {"computing", "in layers", "replicas"};
constexpr std::array<Shown, 9> shown_parts{{
    {Kind::compute, "computing", "", "", computing, {}},
    {Kind::tensor, "tensor parallel", "tensor parallel", "comm", inside, {'T', 't', "\033[33m"}},
    {Kind::context, "context parallel", "context parallel", "comm", inside, {'C', 'c', "\033[33m"}},
    {Kind::experts, "experts", "experts", "comm", inside, {'E', 'e', "\033[33m"}},
    {Kind::send, "sends to stages", "send", "comm", -1, {}},
    {Kind::receive, "receives from stages", "receive", "comm", -1, {}},
    {Kind::gather, "replicas", "gather weights", "comm", replicas, {'G', 'g', "\033[32m"}},
    {Kind::reduce, "replicas", "reduce gradients", "comm", replicas, {'R', 'r', "\033[32m"}},
    {Kind::optimizer, "computing", "optimizer", "update", computing, {'U', 'u', "\033[35m"}},
}};
const Shown& shown(Kind kind) { return shown_parts[static_cast<std::size_t>(kind)]; }

// Behind those of the parts: passes.
constexpr std::array<LaneKind, 4> pass_letters{{{'F', 'f', "\033[34m"},
                                                {'B', 'b', "\033[36m"},
                                                {'I', 'i', "\033[36m"},
                                                {'W', 'w', "\033[35m"}}};

// Gathers and reductions are on one thread, and the optimizer is where passes are.
std::size_t thread_of(Kind kind) {
  if (kind == Kind::optimizer) return 0;
  return static_cast<std::size_t>(kind == Kind::reduce ? Kind::gather : kind);
}

std::vector<GpuSlice> in_order(std::vector<GpuSlice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const GpuSlice& a, const GpuSlice& b) {
    return std::pair(a.gpu, a.start) < std::pair(b.gpu, b.start);
  });
  return slices;
}

}  // namespace

std::string gpu_timeline(const Layout& layout, const std::vector<GpuSlice>& slices) {
  std::vector<std::string> threads;
  for (std::size_t kind = 0; kind <= static_cast<std::size_t>(Kind::gather); ++kind)
    threads.emplace_back(shown_parts[kind].thread);
  TraceEvents events("layout", to_text(layout));
  LaneTimeline timeline(events, "GPU", threads);
  const int64_t of_stage = layout.gpus() / layout.pipeline;
  for (const GpuSlice& slice : in_order(slices)) {
    const Shown& how = shown(slice.part.kind);
    const bool computes = slice.part.kind == Kind::compute;
    const bool is_of_pass =
        thread_of(slice.part.kind) < thread_of(Kind::gather) && slice.part.kind != Kind::optimizer;
    const Json pass = {{"pass", pass_name(slice.part.pass)},
                       {"chunk", slice.part.chunk},
                       {"micro_batch", slice.part.micro_batch}};
    const std::string which =
        " " + std::to_string(slice.part.micro_batch) + " chunk " + std::to_string(slice.part.chunk);
    const bool is_forward = slice.part.pass == Pass::forward;
    timeline.add(static_cast<int>(slice.gpu), thread_of(slice.part.kind), slice.start, slice.end,
                 computes ? pass_name(slice.part.pass) + which : how.name,
                 computes ? (is_forward ? "forward" : "backward") : how.category,
                 is_of_pass ? pass : Json::object(),
                 ", stage " + std::to_string(slice.gpu / of_stage));
  }
  return events.finish();
}

std::string gpu_gantt(const Layout& layout, const std::vector<GpuSlice>& slices,
                      const Terminal& terminal) {
  std::vector<LaneKind> kinds;
  for (const Shown& how : shown_parts) kinds.push_back(how.letter);
  kinds.insert(kinds.end(), pass_letters.begin(), pass_letters.end());
  Time end;
  for (const GpuSlice& slice : slices) end = std::max(end, slice.end);
  LanePicture picture(kinds, Time(), end, terminal);
  for (const GpuSlice& slice : slices) {
    const Shown& how = shown(slice.part.kind);
    if (slice.gpu >= most_gpus_shown || how.lane < 0) continue;
    const std::size_t kind = slice.part.kind == Kind::compute
                                 ? shown_parts.size() + static_cast<std::size_t>(slice.part.pass)
                                 : static_cast<std::size_t>(slice.part.kind);
    picture.add({static_cast<int>(slice.gpu), how.lane}, kind, 0, slice.start, slice.end);
  }
  std::string text = "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
                     "; F forward, B backward (I inputs, W weights), U optimizer, T tensor,\n"
                     "C context, E experts, G gather weights, R reduce gradients; small letters "
                     "fill less than half of a column\n";
  if (layout.gpus() > most_gpus_shown)
    text += "the first " + std::to_string(most_gpus_shown) + " of " +
            std::to_string(layout.gpus()) + " GPUs\n";
  int gpu = -1;
  return text + '\n' + picture.text([&](LanePicture::Place place) {
    std::string name = place.first != gpu ? "GPU " + std::to_string(place.first) : "";
    gpu = place.first;
    name.resize(std::max<std::size_t>(14, name.size()), ' ');
    return name + lane_names[static_cast<std::size_t>(place.second)];
  });
}

}  // namespace sgdsim
