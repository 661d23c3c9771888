// Writing trace events, one line each.
#include "app/step/timeline_json.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "app/version.h"
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

// Microseconds with all six decimals of a picosecond clock.
std::string us_text(int64_t ps) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%" PRId64 ".%06" PRId64, ps / 1'000'000,
                ps % 1'000'000);
  return buffer.data();
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

class Writer {
 public:
  explicit Writer(const Experiment& experiment) : experiment_(experiment) {
    const Json about = {{"version", version_number}, {"config", id_of(experiment.inputs)}};
    text_ = timeline_beginning + about.dump().substr(1) + ",\"traceEvents\":[";
  }

  void name_tracks(const Timeline& timeline) {
    std::set<std::pair<int, int>> tracks;
    for (const Slice& slice : timeline.slices) tracks.insert({slice.worker, thread_of(slice)});
    std::set<int> workers;
    for (const auto& [worker, thread] : tracks) {
      if (workers.insert(worker).second) {
        metadata("process_name", worker, 0, "\"name\":\"worker " + std::to_string(worker) + "\"");
        metadata("process_sort_index", worker, 0, "\"sort_index\":" + std::to_string(worker));
      }
      const std::string name = thread == compute_thread
                                   ? "compute"
                                   : "channel " + std::to_string(thread - first_channel_thread);
      metadata("thread_name", worker, thread, "\"name\":\"" + name + "\"");
    }
  }

  void slice(const Slice& slice) {
    event("{\"ph\":\"X\"," + place(slice) + ",\"ts\":" + us_text(slice.start.ps()) + ",\"dur\":" +
          us_text((slice.end - slice.start).ps()) + ",\"name\":" + quoted(name_of(slice)) +
          ",\"cat\":\"" + category_of(slice.activity) + "\",\"args\":" + arguments_of(slice) + "}");
  }

  // From the end of the backward of the message's last gradient to the message.
  void arrow(const Slice& backward, const Slice& message) {
    const std::string id = std::to_string(++arrows_);
    const int64_t inside_ps = std::max(backward.start.ps(), backward.end.ps() - 1);
    event("{\"ph\":\"s\",\"id\":" + id + "," + place(backward) + ",\"ts\":" + us_text(inside_ps) +
          ",\"name\":\"gradient\",\"cat\":\"flow\"}");
    event("{\"ph\":\"f\",\"bp\":\"e\",\"id\":" + id + "," + place(message) +
          ",\"ts\":" + us_text(message.start.ps()) + ",\"name\":\"gradient\",\"cat\":\"flow\"}");
  }

  std::string finish() { return text_ + "\n]}\n"; }

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

  std::string arguments_of(const Slice& slice) const {
    Json arguments = {{"iteration", slice.iteration}};
    if (slice.activity == Activity::forward || slice.activity == Activity::backward)
      arguments["layer"] = slice.index;
    if (slice.activity == Activity::backward) arguments["size_B"] = slice.size.count();
    if (carries(slice.activity)) {
      arguments["size_B"] = slice.size.count();
      arguments["layers"] = {slice.first_layer, slice.last_layer};
      arguments["collective"] = experiment_.collective;
    }
    return arguments.dump();
  }

  static std::string place(const Slice& slice) {
    return "\"pid\":" + std::to_string(slice.worker) +
           ",\"tid\":" + std::to_string(thread_of(slice));
  }

  void metadata(const std::string& name, int worker, int thread, const std::string& arguments) {
    event("{\"ph\":\"M\",\"name\":\"" + name + "\",\"pid\":" + std::to_string(worker) +
          ",\"tid\":" + std::to_string(thread) + ",\"args\":{" + arguments + "}}");
  }

  void event(const std::string& event) {
    text_ += (first_ ? "\n" : ",\n") + event;
    first_ = false;
  }

  const Experiment& experiment_;
  std::string text_;
  bool first_ = true;
  int arrows_ = 0;
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
