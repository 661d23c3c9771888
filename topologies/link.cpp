// Reading link classes.
#include "topologies/link.h"

#include "sim/core/quantity.h"
#include "topologies/segments.h"

namespace sgdsim {
namespace {

constexpr Duration longest_latency = Duration::s(1);
constexpr double least_efficiency = 0.001;
constexpr int most_senders = 1 << 20;

std::vector<Crowding::Point> read_over_senders(const Value& value) {
  std::vector<Crowding::Point> points;
  for (const Value& item : value.items()) {
    Object one(item);
    const Value senders = one.at("senders");
    const auto count = static_cast<int>(senders.whole(1, most_senders));
    if (!points.empty() && count <= points.back().senders)
      senders.fail("expected more than " + std::to_string(points.back().senders) +
                   ", as the list ascends, got " + std::to_string(count));
    points.push_back({count, one.at("efficiency").number(least_efficiency, 1)});
    one.done();
  }
  if (points.empty()) value.fail("expected at least one {\"senders\", \"efficiency\"}");
  return points;
}

Link link_of(const Value& value, Object& fields, const LinkFields& link) {
  fields.done();
  if (!link.latency) fields.at("latency");
  if (!link.per_byte) value.fail("the field \"bandwidth\" (or \"per_byte\") is missing");
  return changed({}, link);
}

}  // namespace

Duration read_latency(const Value& value) {
  const Duration latency = value.duration();
  if (latency > longest_latency)
    value.fail("expected a latency of at most 1 s, got " + to_text(latency));
  return latency;
}

LinkFields read_link_fields(Object& fields) {
  LinkFields link;
  if (const auto latency = fields.find("latency")) link.latency = read_latency(*latency);
  const auto bandwidth = fields.find("bandwidth");
  const auto per_byte = fields.find("per_byte");
  if (bandwidth && per_byte)
    fields.value().fail("has both \"bandwidth\" and \"per_byte\", which say the same; keep one");
  if (bandwidth) link.per_byte = bandwidth->bandwidth().per_byte();
  if (per_byte) link.per_byte = per_byte->per_byte();
  if (const auto efficiency = fields.find("efficiency")) {
    if (is_list(efficiency->json()))
      link.over_senders = read_over_senders(*efficiency);
    else
      link.efficiency = efficiency->number(least_efficiency, 1);
  }
  if (const auto reduce = fields.find("reduce")) link.reduce = reduce->per_byte();
  if (const auto staged = fields.find("staged")) link.staged = staged->flag();
  if (const auto segments = fields.find("segments")) check_segments(*segments);
  if (const auto valid = fields.find("valid")) read_valid(*valid);
  return link;
}

Link read_link(const Value& value) {
  Object fields(value);
  const LinkFields link = read_link_fields(fields);
  check_one_efficiency(fields, link);
  return link_of(value, fields, link);
}

Link read_nic(const Value& value, std::vector<Crowding::Point>& over_senders) {
  Object fields(value);
  LinkFields link = read_link_fields(fields);
  over_senders = std::move(link.over_senders);
  return link_of(value, fields, link);
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
  return base;
}

}  // namespace sgdsim
