// Reading link classes.
#include "topologies/link.h"

#include "sim/core/quantity.h"
#include "topologies/segments.h"

namespace sgdsim {
namespace {

constexpr Duration longest_latency = Duration::s(1);
constexpr double least_efficiency = 0.001;

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
  if (const auto efficiency = fields.find("efficiency"))
    link.efficiency = efficiency->number(least_efficiency, 1);
  if (const auto reduce = fields.find("reduce")) link.reduce = reduce->per_byte();
  if (const auto segments = fields.find("segments")) check_segments(*segments);
  if (const auto valid = fields.find("valid")) read_valid(*valid);
  return link;
}

Link read_link(const Value& value) {
  Object fields(value);
  const LinkFields link = read_link_fields(fields);
  fields.done();
  if (!link.latency) fields.at("latency");
  if (!link.per_byte) value.fail("the field \"bandwidth\" (or \"per_byte\") is missing");
  return changed({}, link);
}

Link changed(Link base, const LinkFields& by) {
  base.latency = by.latency.value_or(base.latency);
  base.per_byte = by.per_byte.value_or(base.per_byte);
  base.efficiency = by.efficiency.value_or(base.efficiency);
  base.reduce = by.reduce.value_or(base.reduce);
  return base;
}

}  // namespace sgdsim
