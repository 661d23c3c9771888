// Either an uplink has a rate, or it follows from what is below its switch.
#include "topologies/uplinks.h"

namespace sgdsim {
namespace {

Json schema_of_uplink() { return reference("../cluster/1#/$defs/link_without_rate"); }

// Oversubscription sets the rate of an uplink, which has one else.
Json schema_of_rates() {
  const Json has_rate = {
      {"anyOf",
       {{{"required", Json::array({"bandwidth"})}}, {{"required", Json::array({"per_byte"})}}}}};
  return {{"if", {{"required", Json::array({"oversubscription"})}}},
          {"then", {{"properties", {{"uplink", {{"not", has_rate}}}}}}},
          {"else", {{"properties", {{"uplink", has_rate}}}}}};
}

}  // namespace

Fields uplink_fields(UplinkFields& o) {
  return Fields{Field("uplink", o.uplink, "link between a leaf and a spine")
                    .like(schema_of_uplink)
                    .otherwise("of the class of nic"),
                Field("oversubscription", o.oversubscription,
                      "rate of all nodes of a full leaf divided by the rate of all its uplinks, "
                      "which so have no rate of their own")
                    .from(0.001, 1e6)
                    .otherwise("uplink has a rate of its own")}
      .also(schema_of_rates);
}

Link uplink_of(const UplinkFields& given, const BelowSwitch& below, int uplinks) {
  Link usual = below.nic;
  usual.reduce = {};
  if (!given.oversubscription) return given.uplink ? read_link(*given.uplink) : usual;
  const double rate_ps =
      below.nic.per_byte.ps() / below.nics_per_node * uplinks * *given.oversubscription;
  LinkFields link;
  if (given.uplink) {
    Object uplink(*given.uplink);
    link = read_link_fields(uplink);
    uplink.done();
    if (!link.latency) uplink.at("latency");
    if (link.per_byte)
      given.uplink->fail("has a rate, but \"oversubscription\" sets it; keep one of the two");
    usual = {};
  }
  link.per_byte = PerByte::ps(rate_ps / below.nodes);
  return changed(usual, link);
}

}  // namespace sgdsim
