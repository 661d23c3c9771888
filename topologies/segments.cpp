// Segments in the JSON of a cluster, wherever links stand in it.
#include "topologies/segments.h"

#include <algorithm>
#include <set>

#include "sim/core/quantity.h"
#include "topologies/link.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_segments = 16;  // each makes the cluster be read once more

bool occurs(const std::string& key, const Json::binary_t& text) {
  return std::search(text.begin(), text.end(), key.begin(), key.end()) != text.end();
}

// Calls f for every link that has the key, of a cluster that was read, hence is valid. Links stand
// in three places: under their role ("nic", "uplink", ...), under the name of their class within
// "links", where the name may be any text, and as the entries of "ports".
//
// A list of a million ports is packed (sim/core/json.h), and seldom has what is looked for: then
// the text says so without becoming values.
template <class F>
void for_each_link_with(const std::string& key, const Json& cluster, const F& f) {
  const auto look_at = [&](const Json& link) {
    if (link.contains(key)) f(link);
  };
  for (const auto& [name, field] : cluster.items()) {
    if (field.is_binary() && !occurs(key, field.get_binary())) continue;
    if (name == "ports" && is_list(field))
      for_each_in(field, look_at);
    else if (name == "links")
      for (const Json& link : field) look_at(link);
    else if (field.is_object())
      look_at(field);
  }
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
  for_each_link_with("segments", cluster, [&](const Json& link) {
    for (const Json& segment : link["segments"]) starts.insert(start_of(segment));
  });
  return {starts.begin(), starts.end()};
}

Json at_size(const Json& cluster, Bytes size) {
  Json there = cluster;
  const auto choose = [&](Json& link) {
    if (!link.contains("segments")) return;
    for (const Json& segment : Json(link["segments"])) {
      if (start_of(segment) > size) break;
      link.erase("bandwidth");
      link.erase("per_byte");
      for (const auto& [name, value] : segment.items())
        if (name != "from") link[name] = value;
    }
  };
  for (auto& [name, field] : there.items()) {
    if (field.is_binary() && occurs("segments", field.get_binary())) field = unpacked(field);
    if (name == "links" || field.is_array())
      for (Json& link : field) choose(link);
    else if (field.is_object())
      choose(field);
  }
  return there;
}

ValidSizes valid_range(const Json& cluster) {
  ValidSizes range;
  for_each_link_with("valid", cluster, [&](const Json& link) {
    const auto size = [&](const char* end) {
      return parse_bytes(link["valid"].at(end).get<std::string>(), end);
    };
    range = {std::max(range.from, size("from")), std::min(range.to, size("to"))};
  });
  return range;
}

}  // namespace sgdsim
