// Reading link classes.
#include "topologies/link.h"

#include "sim/core/quantity.h"
#include "topologies/segments.h"

namespace sgdsim {
namespace {

constexpr Duration longest_latency = Duration::s(1);
constexpr double least_efficiency = 0.001;
constexpr int most_senders = 1 << 20;

struct SenderPoint {
  int senders = 1;
  double efficiency = 1;
};

Fields fields_of(SenderPoint& point) {
  return {Field("senders", point.senders, "messages that nodes send at once")
              .needed()
              .from(1, most_senders),
          Field("efficiency", point.efficiency, "part of the bandwidth that payload gets then")
              .needed()
              .from(least_efficiency, 1)};
}

std::vector<Crowding::Point> read_over_senders(const Value& value) {
  std::vector<Crowding::Point> points;
  for_each_record<SenderPoint>(value, [&](const SenderPoint& point, Object& object) {
    if (!points.empty() && point.senders <= points.back().senders)
      object.at("senders").fail("expected more than " + std::to_string(points.back().senders) +
                                ", as the list ascends, got " + std::to_string(point.senders));
    points.push_back({point.senders, point.efficiency});
  });
  if (points.empty()) value.fail("expected at least one {\"senders\", \"efficiency\"}");
  return points;
}

Json schema_of_part() {
  return {{"type", "number"}, {"minimum", least_efficiency}, {"maximum", 1}};
}
Json schema_of_efficiency_over_senders() {
  return any_of({schema_of_part(), list_schema(schema_of_record<SenderPoint>(), 1)});
}

// As a link is written.
struct LinkText {
  std::optional<Duration> latency;
  std::optional<Bandwidth> bandwidth;
  std::optional<PerByte> per_byte;
  std::optional<Value> efficiency;
  std::optional<PerByte> reduce;
  std::optional<bool> staged;
  std::optional<Bytes> rendezvous;
  std::optional<Value> segments;
  std::optional<Value> valid;
};

// `over_senders`: whether the efficiency may be a list.
Fields fields_of(LinkText& o, bool is_whole, bool over_senders) {
  const char* twice = "has both \"bandwidth\" and \"per_byte\", which say the same; keep one";
  Field latency = Field("latency", o.latency,
                        "time of one traversal in one direction, whatever the size; a message "
                        "across one switch pays that of two links")
                      .also([](const Value& value) { read_latency(value); });
  Fields fields = {
      is_whole ? std::move(latency).needed() : std::move(latency),
      {"bandwidth", o.bandwidth, "rate of one link in each direction, both at the same time"},
      {"per_byte", o.per_byte,
       "time of one byte on one link, in place of the bandwidth, for fitted figures"},
      Field("efficiency", o.efficiency,
            "part of the bandwidth that payload gets; the rest is headers and protocol")
          .like(over_senders ? schema_of_efficiency_over_senders : schema_of_part)
          .otherwise("1"),
      Field("reduce", o.reduce,
            "time to fold one received byte into the receiver's own data; a route has the largest "
            "of its links")
          .otherwise("0 ps/B"),
      Field("staged", o.staged, "messages go through the host's memory").otherwise("false"),
      {"rendezvous", o.rendezvous,
       "messages of this size or more wait for a word to the receiver and one back, MPI's "
       "rendezvous: 64 KiB is Open MPI's over TCP"},
      Field("segments", o.segments, "costs in place of those above for larger messages")
          .like(schema_of_segments),
      Field("valid", o.valid, "messages whose cost was measured").like(schema_of_valid)};
  if (!is_whole) return std::move(fields).at_most_one({"bandwidth", "per_byte"}, twice);
  return std::move(fields).exactly_one({"bandwidth", "per_byte"}, twice,
                                       "the field \"bandwidth\" (or \"per_byte\") is missing");
}

LinkFields read_link_fields(Object& fields, bool is_whole) {
  LinkText text;
  read_fields(fields, fields_of(text, is_whole, true));
  LinkFields link{.latency = text.latency,
                  .per_byte = text.per_byte,
                  .efficiency = {},
                  .reduce = text.reduce,
                  .staged = text.staged,
                  .rendezvous = {},
                  .over_senders = {}};
  if (text.bandwidth) link.per_byte = text.bandwidth->per_byte();
  if (text.efficiency && is_list(text.efficiency->json()))
    link.over_senders = read_over_senders(*text.efficiency);
  else if (text.efficiency)
    link.efficiency = text.efficiency->number(least_efficiency, 1);
  if (text.rendezvous) link.rendezvous = *text.rendezvous == Bytes();
  if (text.segments) check_segments(*text.segments);
  if (text.valid) read_valid(*text.valid);
  return link;
}

Json schema_of_link(bool is_whole, bool over_senders) {
  LinkText text;
  return record_schema(fields_of(text, is_whole, over_senders));
}

}  // namespace

Duration read_latency(const Value& value) {
  const Duration latency = value.duration();
  if (latency > longest_latency)
    value.fail("expected a latency of at most 1 s, got " + to_text(latency));
  return latency;
}

LinkFields read_link_fields(Object& fields) { return read_link_fields(fields, false); }

Json port_properties() {
  LinkText text;
  return schema_of(fields_of(text, false, false));
}

Json schemas_of_links() {
  return {{"link", schema_of_link(true, false)},
          {"nic", schema_of_link(true, true)},
          {"link_without_rate", schema_of_link(false, false)}};
}

Link read_link(const Value& value) {
  Object fields(value);
  const LinkFields link = read_link_fields(fields, true);
  check_one_efficiency(fields, link);
  fields.done();
  return changed({}, link);
}

Link read_nic(const Value& value, std::vector<Crowding::Point>& over_senders) {
  Object fields(value);
  LinkFields link = read_link_fields(fields, true);
  over_senders = std::move(link.over_senders);
  fields.done();
  return changed({}, link);
}

void check_one_efficiency(const Object& fields, const LinkFields& link) {
  if (!link.over_senders.empty())
    fields.value()
        .child("efficiency")
        .fail("only \"nic\" of all nodes may have an efficiency over senders; expected a number");
}

Link changed(Link base, const LinkFields& by) {
  base.latency = by.latency.value_or(base.latency);
  base.per_byte = by.per_byte.value_or(base.per_byte);
  base.efficiency = by.efficiency.value_or(base.efficiency);
  base.reduce = by.reduce.value_or(base.reduce);
  base.staged = by.staged.value_or(base.staged);
  base.rendezvous = by.rendezvous.value_or(base.rendezvous);
  return base;
}

}  // namespace sgdsim
