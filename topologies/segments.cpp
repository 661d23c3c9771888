// Segments in the JSON of a cluster, wherever links stand in it.
#include "topologies/segments.h"

#include <algorithm>
#include <set>

#include "sim/core/fields.h"
#include "topologies/link.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_segments = 16;  // each makes the cluster be read once more

struct Segment {
  Bytes from;
  Duration latency;
  std::optional<Bandwidth> bandwidth;
  std::optional<PerByte> per_byte;
  std::optional<PerByte> reduce;
};

Fields fields_of(Segment& o) {
  return Fields{
      Field("from", o.from, "least message of the segment").needed(),
      Field("latency", o.latency, "in place of the link's").needed().also([](const Value& value) {
        read_latency(value);
      }),
      {"bandwidth", o.bandwidth, "in place of the link's"},
      {"per_byte", o.per_byte, "in place of the link's"},
      {"reduce", o.reduce, "in place of the link's"}}
      .exactly_one({"bandwidth", "per_byte"}, "expected either \"bandwidth\" or \"per_byte\"");
}

struct Range {
  Bytes from;
  Bytes to;
};

Fields fields_of(Range& o) {
  return {Field("from", o.from, "smallest message").needed(),
          Field("to", o.to, "largest message").needed()};
}

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
Bytes rendezvous_of(const Json& link) {
  return parse_bytes(link.at("rendezvous").get<std::string>(), "rendezvous");
}

}  // namespace

void check_segments(const Value& segments) {
  Bytes last;
  if (segments.size() > most_segments)
    segments.fail("expected at most " + std::to_string(most_segments) + " segments, got " +
                  std::to_string(segments.size()));
  for (const Value& item : segments.items()) {
    const auto segment = read_record<Segment>(item);
    if (segment.from <= last)
      item.child("from").fail("expected a size above " + to_text(last) +
                              ", as segments ascend, got " + to_text(segment.from));
    last = segment.from;
  }
}

Json schema_of_segments() { return list_schema(schema_of_record<Segment>(), 0, most_segments); }

ValidSizes read_valid(const Value& value) {
  const auto range = read_record<Range>(value);
  if (range.to < range.from) value.fail("\"to\" is below \"from\"");
  return {range.from, range.to};
}

Json schema_of_valid() { return schema_of_record<Range>(); }

bool has_segments(const Json& cluster) {
  bool has = false;
  for_each_link_with("segments", cluster,
                     [&](const Json& link) { has |= !link["segments"].empty(); });
  return has;
}

std::vector<Bytes> segment_starts(const Json& cluster) {
  std::set<Bytes> starts;
  for_each_link_with("segments", cluster, [&](const Json& link) {
    for (const Json& segment : link["segments"]) starts.insert(start_of(segment));
  });
  for_each_link_with("rendezvous", cluster,
                     [&](const Json& link) { starts.insert(rendezvous_of(link)); });
  starts.erase(Bytes());  // what holds for all
  return {starts.begin(), starts.end()};
}

Json at_size(const Json& cluster, Bytes size) {
  Json there = cluster;
  const auto choose = [&](Json& link) {
    if (link.contains("rendezvous") && rendezvous_of(link) <= size) link["rendezvous"] = "0 B";
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
    if (field.is_binary() &&
        (occurs("segments", field.get_binary()) || occurs("rendezvous", field.get_binary())))
      field = unpacked(field);
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
