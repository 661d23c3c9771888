// Events of a Chrome trace back into picoseconds.
#include "app/report/timeline_columns.h"

#include <cmath>
#include <limits>
#include <map>

#include "app/report/packing.h"

namespace sgdsim {
namespace {

// What picoseconds in 64 bits hold, 106 days. The file's numbers are doubles, of which those beyond
// 8589 s are rounded to a few picoseconds.
constexpr double longest_us = 9.2e12;

using TrackKey = std::pair<int64_t, int64_t>;

class SliceColumns {
 public:
  void name_track(const Value& event) {
    Object fields(event);
    const std::string what = fields.at("name").text();
    const TrackKey key = key_of(fields);
    Object arguments(fields.at("args"));
    if (what == "thread_name") track(key)["name"] = arguments.at("name").text();
    if (what == "process_name") processes_[key.first] = arguments.at("name").text();
  }

  void add_slice(const Value& event) {
    Object fields(event);
    Json& one = track(key_of(fields));
    track_.push_back(one["index"]);
    start_ps_.push_back(picoseconds(fields.at("ts")));
    length_ps_.push_back(picoseconds(fields.at("dur")));
    name_.push_back(place(names_, name_places_, fields.at("name").text()));
    category_.push_back(place(categories_, category_places_, fields.at("cat").text()));
    // Slices of a step have an iteration, those of a layout and of a schedule have none.
    const Json none = Json::object();
    const auto given = fields.find("args");
    Object arguments(given ? *given : Value(none, event.file(), event.path() + "/args"));
    const auto iteration = arguments.find("iteration");
    iteration_.push_back(iteration ? Json(iteration->whole(0, 1'000'000'000)) : Json());
    const auto size = arguments.find(arguments.has("bytes") ? "bytes" : "size_B");
    size_B_.push_back(size ? Json(size->whole(0, int64_t{1} << 62U)) : Json());
    const auto layers = arguments.find("layers");
    const auto ends = layers ? layers->items() : std::vector<Value>();
    first_layer_.push_back(ends.size() == 2 ? Json(ends[0].whole(-1, 1 << 30)) : Json());
    last_layer_.push_back(ends.size() == 2 ? Json(ends[1].whole(-1, 1 << 30)) : Json());
  }

  Json json() const {
    Json tracks = Json::array();
    for (const auto& [key, track] : tracks_) {
      tracks.push_back(track);
      if (const auto process = processes_.find(key.first); process != processes_.end())
        tracks.back()["process"] = process->second;
    }
    return {{"tracks", tracks},
            {"count", track_.size()},
            {"names", packed_text(names_)},
            {"categories", categories_},
            {"track", packed_text(track_)},
            {"start_ps", packed_text(start_ps_)},
            {"length_ps", packed_text(length_ps_)},
            {"name", packed_text(name_)},
            {"category", packed_text(category_)},
            {"iteration", packed_text(iteration_)},
            {"size_B", packed_text(for_page(size_B_))},
            {"first_layer", packed_text(first_layer_)},
            {"last_layer", packed_text(last_layer_)}};
  }

 private:
  static TrackKey key_of(Object& fields) {
    return {fields.at("pid").whole(0, 1 << 30), fields.at("tid").whole(0, 1 << 30)};
  }

  static int64_t picoseconds(const Value& us) {
    const double time = us.number(0, std::numeric_limits<double>::max());
    if (time > longest_us)
      us.fail(
          "is later than 106 days, which a page cannot show; record fewer iterations with "
          "--timeline-iterations FIRST-LAST");
    return std::llround(time * 1e6);
  }

  Json& track(const TrackKey& key) {
    const auto [found, is_new] = tracks_.try_emplace(key);
    if (is_new)
      found->second = {{"worker", key.first},
                       {"thread", key.second},
                       {"index", tracks_.size() - 1},
                       {"name", "track " + std::to_string(key.second)}};
    return found->second;
  }

  using Places = std::map<std::string, std::size_t>;

  static std::size_t place(Json& list, Places& places, const std::string& text) {
    const auto [found, is_new] = places.try_emplace(text, list.size());
    if (is_new) list.push_back(text);
    return found->second;
  }

  std::map<TrackKey, Json> tracks_;
  std::map<int64_t, std::string> processes_;
  Places name_places_, category_places_;
  Json names_ = Json::array(), categories_ = Json::array();
  Json track_ = Json::array(), start_ps_ = Json::array(), length_ps_ = Json::array(),
       name_ = Json::array(), category_ = Json::array(), iteration_ = Json::array(),
       size_B_ = Json::array(), first_layer_ = Json::array(), last_layer_ = Json::array();
};

}  // namespace

Json timeline_columns(const Json& timeline, const std::string& file) {
  const Value root(timeline, file, "");
  Object fields(root);
  Object about(fields.at("otherData"));
  SliceColumns columns;
  const Value events = fields.at("traceEvents");
  events.for_each_item([&](const Value& event) {
    const std::string phase = Object(event).at("ph").text();
    if (phase == "M")
      columns.name_track(event);
    else if (phase == "X")
      columns.add_slice(event);
  });
  Json json = columns.json();
  if (json["count"] == 0) events.fail("expected at least one slice");
  json["file"] = file;
  json["config"] = about.at("config").text();
  json["version"] = about.at("version").text();
  return json;
}

}  // namespace sgdsim
