// Segments in the JSON of a cluster, wherever links stand in it.
#include "topologies/segments.h"

#include <algorithm>
#include <set>

#include "sim/core/quantity.h"
#include "topologies/link.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_segments = 16;  // each makes the cluster be read once more

// Calls f for every link of a cluster that was read, hence is valid. Links stand in three places:
// under their role ("nic", "uplink", ...), under the name of their class within "links", where the
// name may be any text, and as the entries of "ports".
template <class JsonType, class F>
void for_each_link(JsonType& cluster, const F& f) {
  for (auto& [name, field] : cluster.items()) {
    if (name == "links" || name == "ports") {
      for (auto& link : field) f(link);
    } else if (field.is_object()) {
      f(field);
    }
  }
}

template <class JsonType, class F>
void for_each_segmented(JsonType& cluster, const F& f) {
  for_each_link(cluster, [&](auto& link) {
    if (link.contains("segments")) f(link);
  });
}

Bytes start_of(const Json& segment) {
  return parse_bytes(segment.at("from").get<std::string>(), "from");
}

}  // namespace

void check_segments(const Value& segments) {
  Bytes last;
  if (segments.items().size() > most_segments)
    segments.fail("expected at most " + std::to_string(most_segments) + " segments, got " +
                  std::to_string(segments.items().size()));
  for (const Value& item : segments.items()) {
    Object fields(item);
    const Value from = fields.at("from");
    if (from.bytes() <= last)
      from.fail("expected a size above " + to_text(last) + ", as segments ascend, got " +
                to_text(from.bytes()));
    last = from.bytes();
    const auto bandwidth = fields.find("bandwidth");
    const auto per_byte = fields.find("per_byte");
    if (bandwidth.has_value() == per_byte.has_value())
      item.fail("expected either \"bandwidth\" or \"per_byte\"");
    if (bandwidth) bandwidth->bandwidth();
    if (per_byte) per_byte->per_byte();
    read_latency(fields.at("latency"));
    if (const auto reduce = fields.find("reduce")) reduce->per_byte();
    fields.done();
  }
}

ValidSizes read_valid(const Value& value) {
  Object fields(value);
  ValidSizes valid{fields.at("from").bytes(), fields.at("to").bytes()};
  fields.done();
  if (valid.to < valid.from) value.fail("\"to\" is below \"from\"");
  return valid;
}

std::vector<Bytes> segment_starts(const Json& cluster) {
  std::set<Bytes> starts;
  for_each_segmented(cluster, [&](const Json& link) {
    for (const Json& segment : link["segments"]) starts.insert(start_of(segment));
  });
  return {starts.begin(), starts.end()};
}

Json at_size(const Json& cluster, Bytes size) {
  Json there = cluster;
  for_each_segmented(there, [&](Json& link) {
    for (const Json& segment : Json(link["segments"])) {
      if (start_of(segment) > size) break;
      link.erase("bandwidth");
      link.erase("per_byte");
      for (const auto& [name, value] : segment.items())
        if (name != "from") link[name] = value;
    }
  });
  return there;
}

ValidSizes valid_range(const Json& cluster) {
  ValidSizes range;
  for_each_link(cluster, [&](const Json& link) {
    const auto valid = link.find("valid");
    if (valid == link.end()) return;
    const auto size = [&](const char* end) {
      return parse_bytes(valid->at(end).get<std::string>(), end);
    };
    range = {std::max(range.from, size("from")), std::min(range.to, size("to"))};
  });
  return range;
}

}  // namespace sgdsim
