// A process per worker, a thread for its computation and one per channel.
#include "app/step/timeline_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "app/trace_events.h"
#include "sim/core/error.h"

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
  explicit Writer(const Experiment& experiment)
      : experiment_(experiment), events_(id_of(experiment.inputs)) {}

  void name_tracks(const Timeline& timeline) {
    std::set<std::pair<int, int>> tracks;
    for (const Slice& slice : timeline.slices) tracks.insert({slice.worker, thread_of(slice)});
    std::set<int> workers;
    for (const auto& [worker, thread] : tracks) {
      if (workers.insert(worker).second)
        events_.name_process(worker, "worker " + std::to_string(worker));
      const std::string name = thread == compute_thread
                                   ? "compute"
                                   : "channel " + std::to_string(thread - first_channel_thread);
      events_.name_thread({worker, thread}, name);
    }
  }

  void slice(const Slice& slice) {
    events_.slice(track_of(slice), slice.start, slice.end, name_of(slice),
                  category_of(slice.activity), arguments_of(slice));
  }

  // From the end of the backward of the message's last gradient to the message.
  void arrow(const Slice& backward, const Slice& message) {
    const Time inside = std::max(backward.start, backward.end - Duration::ps(1));
    events_.arrow("gradient", track_of(backward), inside, track_of(message), message.start);
  }

  std::string finish() { return events_.finish(); }

 private:
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

  static TraceEvents::Track track_of(const Slice& slice) {
    return {slice.worker, thread_of(slice)};
  }

  const Experiment& experiment_;
  TraceEvents events_;
};

}  // namespace

std::string timeline_json(const Experiment& experiment, const Timeline& timeline) {
  Writer writer(experiment);
  writer.name_tracks(timeline);
  // Where the backward of a layer ended: by worker, iteration and layer.
  std::map<std::tuple<int, int, int>, const Slice*> backward;
  for (const Slice& slice : timeline.slices) {
    writer.slice(slice);
    if (slice.activity == Activity::backward)
      backward[{slice.worker, slice.iteration, slice.index}] = &slice;
  }
  for (const Slice& slice : timeline.slices) {
    if (slice.activity != Activity::message) continue;
    // A layer without backward time has no slice; the next one towards the loss then stands for it.
    for (int layer = slice.first_layer; layer <= slice.last_layer; ++layer) {
      const auto found = backward.find({slice.worker, slice.iteration, layer});
      if (found == backward.end()) continue;
      writer.arrow(*found->second, slice);
      break;
    }
  }
  return writer.finish();
}

}  // namespace sgdsim
