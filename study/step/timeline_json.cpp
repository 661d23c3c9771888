// A process per worker, a thread for its computation and one per channel.
#include "study/step/timeline_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/core/error.h"
#include "study/table.h"
#include "study/trace_events.h"

namespace sgdsim {
namespace {

constexpr int compute_thread = 1;
constexpr int first_channel_thread = 2;

bool carries(Activity activity) {
  return activity == Activity::message || activity == Activity::broadcast;
}

int thread_of(const Slice& slice) {
  return carries(slice.activity) || slice.activity == Activity::waiting
             ? first_channel_thread + slice.channel
             : compute_thread;
}

class Writer {
 public:
  // `prefix`: of the names of processes, whose numbers begin with `first`.
  Writer(TraceEvents& events, const TimelineOfJob& job, const std::string& prefix, int first)
      : events_(events),
        experiment_(*job.experiment),
        start_(job.start),
        prefix_(prefix),
        first_(first) {}

  void write(const Timeline& timeline) {
    name_tracks(timeline);
    // Where the backward of a layer ended: by worker, iteration and layer.
    std::map<std::tuple<int, int, int>, const Slice*> backward;
    for (const Slice& one : timeline.slices) {
      slice(one);
      if (one.activity == Activity::backward)
        backward[{one.worker, one.iteration, one.index}] = &one;
    }
    for (const Slice& one : timeline.slices) {
      if (one.activity != Activity::message) continue;
      // A layer without backward time has no slice; the next one towards the loss then stands for
      // it.
      for (int layer = one.first_layer; layer <= one.last_layer; ++layer) {
        const auto found = backward.find({one.worker, one.iteration, layer});
        if (found == backward.end()) continue;
        arrow(*found->second, one);
        break;
      }
    }
  }

 private:
  void name_tracks(const Timeline& timeline) {
    std::set<std::pair<int, int>> tracks;
    for (const Slice& slice : timeline.slices) tracks.insert({slice.worker, thread_of(slice)});
    std::set<int> workers;
    for (const auto& [worker, thread] : tracks) {
      if (workers.insert(worker).second)
        events_.name_process(first_ + worker, prefix_ + "worker " + std::to_string(worker));
      const std::string name = thread == compute_thread
                                   ? "compute"
                                   : "channel " + std::to_string(thread - first_channel_thread);
      events_.name_thread({first_ + worker, thread}, name);
    }
  }

  void slice(const Slice& slice) {
    events_.slice(track_of(slice), slice.start + start_, slice.end + start_, name_of(slice),
                  category_of(slice.activity), arguments_of(slice));
  }

  // From the end of the backward of the message's last gradient to the message.
  void arrow(const Slice& backward, const Slice& message) {
    const Time inside = std::max(backward.start, backward.end - Duration::ps(1));
    events_.arrow("gradient", track_of(backward), inside + start_, track_of(message),
                  message.start + start_);
  }

  static std::string category_of(Activity activity) {
    switch (activity) {
      case Activity::forward:
        return "forward";
      case Activity::backward:
        return "backward";
      case Activity::compress:
      case Activity::decompress:
        return "compression";
      case Activity::update:
        return "update";
      case Activity::message:
      case Activity::broadcast:
        return "comm";
      case Activity::waiting:
        return "wait";
      case Activity::begin:
      case Activity::load:
        break;
    }
    return "";
  }

  std::string layer_name(int layer) const {
    return experiment_.trace.layers[static_cast<std::size_t>(layer)].name;
  }

  std::string name_of(const Slice& slice) const {
    switch (slice.activity) {
      case Activity::forward:
        return "fwd " + layer_name(slice.index);
      case Activity::backward:
        return "bwd " + layer_name(slice.index);
      case Activity::compress:
        return "compress from " + layer_name(slice.index);
      case Activity::decompress:
        return "decompress";
      case Activity::update:
        return "update";
      case Activity::message:
        return "message " + std::to_string(slice.index);
      case Activity::broadcast:
        return "broadcast " + layer_name(slice.index);
      case Activity::waiting:
        return "waiting for others";
      case Activity::begin:
      case Activity::load:
        break;
    }
    return "";
  }

  Json arguments_of(const Slice& slice) const {
    Json arguments = {{"iteration", slice.iteration}};
    if (slice.activity == Activity::forward || slice.activity == Activity::backward)
      arguments["layer"] = slice.index;
    if (slice.activity == Activity::backward) arguments["size_B"] = slice.size.count();
    if (carries(slice.activity)) {
      arguments["size_B"] = slice.size.count();
      arguments["layers"] = {slice.first_layer, slice.last_layer};
      arguments["collective"] = experiment_.collective;
    }
    return arguments;
  }

  TraceEvents::Track track_of(const Slice& slice) const {
    return {first_ + slice.worker, thread_of(slice)};
  }

  TraceEvents& events_;
  const Experiment& experiment_;
  Duration start_;
  std::string prefix_;
  int first_ = 0;
};

// Of one worker and channel.
struct Lane {
  std::vector<std::pair<Time, Time>> messages;
  std::vector<Slice> waits;
};

// Messages of a lane do not overlap.
void add_clipped(Lane& lane, std::vector<Slice>& clipped) {
  std::sort(lane.messages.begin(), lane.messages.end());
  std::stable_sort(lane.waits.begin(), lane.waits.end(),
                   [](const Slice& a, const Slice& b) { return a.start < b.start; });
  Time until;
  for (Slice wait : lane.waits) {
    const Time end = wait.end;
    wait.start = std::max(wait.start, until);
    auto next = std::upper_bound(
        lane.messages.begin(), lane.messages.end(), wait.start,
        [](Time start, const std::pair<Time, Time>& message) { return start < message.second; });
    for (; next != lane.messages.end() && next->first < end; ++next) {
      wait.end = next->first;
      if (wait.end > wait.start) clipped.push_back(wait);
      wait.start = next->second;
    }
    wait.end = end;
    if (wait.end > wait.start) clipped.push_back(wait);
    until = std::max(until, end);
  }
}

int64_t length_ps(const std::vector<Slice>& slices) {
  int64_t sum = 0;
  for (const Slice& slice : slices) sum += (slice.end - slice.start).ps();
  return sum;
}

// A message has an arrow, which is as long in the file.
std::size_t lines_of(const Slice& slice) { return slice.activity == Activity::message ? 2 : 1; }

// When the slice begins with which there are more than `most`; the last moment if there is none.
Time first_beyond(const Timeline& timeline, std::size_t most) {
  std::vector<std::pair<Time, std::size_t>> begun;
  begun.reserve(timeline.slices.size());
  for (const Slice& slice : timeline.slices) begun.emplace_back(slice.start, lines_of(slice));
  std::sort(begun.begin(), begun.end());
  std::size_t lines = 0;
  for (const auto& [start, count] : begun)
    if ((lines += count) > most) return start;
  return Time::last();
}

}  // namespace

void clip_waiting(Timeline& timeline) {
  std::map<std::pair<int, int>, Lane> lanes;
  for (const Slice& slice : timeline.slices) {
    if (carries(slice.activity))
      lanes[{slice.worker, slice.channel}].messages.emplace_back(slice.start, slice.end);
    if (slice.activity == Activity::waiting)
      lanes[{slice.worker, slice.channel}].waits.push_back(slice);
  }
  int64_t before_ps = 0;
  std::vector<Slice> clipped;
  for (auto& [place, lane] : lanes) {
    before_ps += length_ps(lane.waits);
    add_clipped(lane, clipped);
  }
  if (length_ps(clipped) == before_ps) return;  // nothing overlapped
  std::erase_if(timeline.slices,
                [](const Slice& slice) { return slice.activity == Activity::waiting; });
  timeline.slices.insert(timeline.slices.end(), clipped.begin(), clipped.end());
}

std::string keep_shown(Timeline& timeline, std::size_t most) {
  const Time beyond = first_beyond(timeline, most);
  if (beyond == Time::last()) return "";
  const std::size_t all = timeline.slices.size();
  std::erase_if(timeline.slices, [&](const Slice& slice) { return slice.start >= beyond; });
  return "the timeline has " + std::to_string(all) + " slices, more than are shown (" +
         std::to_string(most) + " with the arrows of messages): it has the " +
         std::to_string(timeline.slices.size()) + " that begin before " +
         short_duration((beyond - Time()).us(), 5) +
         "; choose fewer workers with --timeline-workers, or iterations with "
         "--timeline-iterations, or larger messages";
}

std::string timeline_json(const Experiment& experiment, const Timeline& timeline) {
  TraceEvents events("run", id_of(experiment.inputs));
  Writer(events, {"", &experiment, &timeline, {}}, "", 0).write(timeline);
  return events.finish();
}

std::string timeline_json(const std::string& id, const std::vector<TimelineOfJob>& jobs) {
  TraceEvents events("jobs", id);
  int first = 0;
  for (const TimelineOfJob& job : jobs) {
    if (job.ranks != nullptr) {
      add_slices(events, *job.ranks, job.name + ": ", first);
      first += static_cast<int>(job.ranks->ranks);
      continue;
    }
    Timeline clipped = *job.timeline;
    clip_waiting(clipped);
    Writer(events, job, job.name + ": ", first).write(clipped);
    first += job.experiment->cluster.network.workers();
  }
  return events.finish();
}

}  // namespace sgdsim
