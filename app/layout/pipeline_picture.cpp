// Slices by rank: passes, what goes to the next rank, and what replicas exchange.
#include "app/layout/pipeline_picture.h"

#include <algorithm>
#include <set>

#include "app/lane_picture.h"
#include "study/table.h"
#include "study/trace_events.h"

namespace sgdsim {
namespace {

// Threads of a rank, and lanes of a picture.
enum Thread : int { passes = 1, to_next = 2, to_last = 3, exchanges = 4 };

int thread_of(const PassSlice& slice) {
  switch (slice.kind) {
    case PassSlice::Kind::pass:
    case PassSlice::Kind::optimizer:
      return passes;
    case PassSlice::Kind::send:
      return slice.pass == Pass::forward ? to_next : to_last;
    case PassSlice::Kind::gather:
    case PassSlice::Kind::reduce:
      return exchanges;
  }
  return passes;
}

const char* name_of(int thread) {
  switch (thread) {
    case to_next:
      return "sends of outputs";
    case to_last:
      return "sends of gradients";
    case exchanges:
      return "replicas";
    default:
      return "passes";
  }
}

std::string name_of(const PassSlice& slice) {
  const std::string which =
      " " + std::to_string(slice.micro_batch) + " chunk " + std::to_string(slice.chunk);
  switch (slice.kind) {
    case PassSlice::Kind::pass:
      return pass_name(slice.pass) + which;
    case PassSlice::Kind::send:
      return "send" + which;
    case PassSlice::Kind::gather:
      return "gather weights";
    case PassSlice::Kind::reduce:
      return "reduce gradients";
    case PassSlice::Kind::optimizer:
      return "optimizer";
  }
  return "";
}

const char* category_of(const PassSlice& slice) {
  switch (slice.kind) {
    case PassSlice::Kind::pass:
      return slice.pass == Pass::forward ? "forward" : "backward";
    case PassSlice::Kind::optimizer:
      return "update";
    default:
      return "comm";
  }
}

// Kinds of a picture, by what they show.
const std::vector<LaneKind> kinds = {
    {'F', 'f', "\033[34m"}, {'B', 'b', "\033[36m"}, {'I', 'i', "\033[36m"}, {'W', 'w', "\033[35m"},
    {'X', 'x', "\033[34m"}, {'U', 'u', "\033[35m"}, {'G', 'g', "\033[32m"}, {'R', 'r', "\033[32m"}};

std::size_t kind_of(const PassSlice& slice) {
  switch (slice.kind) {
    case PassSlice::Kind::pass:
      return static_cast<std::size_t>(slice.pass);
    case PassSlice::Kind::optimizer:
      return 5;
    case PassSlice::Kind::gather:
      return 6;
    default:
      return 7;
  }
}

}  // namespace

const char* pass_name(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward:
      return "backward";
    case Pass::inputs:
      return "backward, inputs";
    case Pass::weights:
      return "backward, weights";
    case Pass::both:
      return "forward and backward";
  }
  return "";
}

namespace {

// What replicas do together, and the optimizer, is recorded once: here it is of each of them.
std::vector<PassSlice> of_each_replica(std::vector<PassSlice> slices, int64_t replicas) {
  const std::size_t recorded = slices.size();
  for (std::size_t i = 0; i < recorded; ++i) {
    PassSlice slice = slices[i];
    if (slice.kind == PassSlice::Kind::pass || slice.kind == PassSlice::Kind::send) continue;
    for (slice.replica = 1; slice.replica < replicas; ++slice.replica) slices.push_back(slice);
  }
  return slices;
}

int64_t replicas_in(const std::vector<PassSlice>& slices) {
  int64_t replicas = 1;
  for (const PassSlice& slice : slices) replicas = std::max(replicas, slice.replica + 1);
  return replicas;
}

}  // namespace

std::string pipeline_timeline(const Layout& layout, const std::vector<PassSlice>& recorded) {
  TraceEvents events("layout", to_text(layout));
  const int64_t replicas = replicas_in(recorded);
  const std::vector<PassSlice> slices = of_each_replica(recorded, replicas);
  // Of replicas that are alike one is played, so that their numbers are those of kinds.
  const bool are_kinds = replicas > 1 && replicas < layout.replicas;
  const std::string kinds_of = are_kinds ? " of " + std::to_string(replicas) + " unlike ones" : "";
  const auto process_of = [&](const PassSlice& slice) {
    return static_cast<int>(slice.replica * layout.pipeline + slice.rank);
  };
  std::set<std::pair<int, int>> tracks;
  for (const PassSlice& slice : slices) tracks.insert({process_of(slice), thread_of(slice)});
  int named = -1;
  for (const auto& [process, thread] : tracks) {
    if (process != named)
      events.name_process(process, "rank " + std::to_string(process % layout.pipeline) +
                                       ", replica " + std::to_string(process / layout.pipeline) +
                                       kinds_of);
    named = process;
    events.name_thread({process, thread}, name_of(thread));
  }
  for (const PassSlice& slice : slices) {
    Json arguments = {{"chunk", slice.chunk}, {"micro_batch", slice.micro_batch}};
    if (slice.kind == PassSlice::Kind::optimizer) arguments = Json::object();
    events.slice({process_of(slice), thread_of(slice)}, slice.start, slice.end, name_of(slice),
                 category_of(slice), arguments);
  }
  return events.finish();
}

std::string pipeline_gantt(const std::vector<PassSlice>& slices, const Terminal& terminal) {
  Time end;
  int64_t ranks = 0;
  for (const PassSlice& slice : slices) {
    end = std::max(end, slice.end);
    ranks = std::max(ranks, slice.rank + 1);
  }
  LanePicture picture(kinds, Time(), end, terminal);
  for (const PassSlice& slice : slices)
    if (slice.replica == 0 && slice.rank < most_ranks_shown &&
        slice.kind != PassSlice::Kind::send && slice.end > slice.start)
      picture.add({static_cast<int>(slice.rank), thread_of(slice)}, kind_of(slice), 0, slice.start,
                  slice.end);
  std::string text = "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
                     "; F forward, B backward (I inputs, W weights), X both at once,\n"
                     "U optimizer, G gather weights, R reduce gradients; small letters fill less "
                     "than half of a column\n";
  if (ranks > most_ranks_shown)
    text += "the first " + std::to_string(most_ranks_shown) + " of " + std::to_string(ranks) +
            " ranks\n";
  int rank = -1;
  return text + '\n' + picture.text([&](LanePicture::Place place) {
    std::string name = place.first != rank ? "rank " + std::to_string(place.first) : "";
    rank = place.first;
    name.resize(std::max<std::size_t>(14, name.size()), ' ');
    return name + name_of(place.second);
  });
}

}  // namespace sgdsim
