// A process per worker, a thread for its computation and one per channel.
#include "study/step/timeline_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/core/error.h"
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

}  // namespace

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
    Writer(events, job, job.name + ": ", first).write(*job.timeline);
    first += job.experiment->cluster.network.workers();
  }
  return events.finish();
}

}  // namespace sgdsim
