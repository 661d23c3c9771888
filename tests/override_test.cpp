// Settings: what `--set path=value` changes.
#include "app/step/override.h"

#include <doctest/doctest.h>

#include "sim/core/json.h"

namespace sgdsim {

TEST_CASE("settings: of two names of one thing the one that is set replaces the other") {
  Json json = Json::parse(R"({"nic": {"latency": "1 us", "per_byte": "1 ns/B"}, "bandwidth": 1})");
  apply_settings(json, {"nic.bandwidth=10 Gbps"});
  CHECK(json["nic"] == Json{{"latency", "1 us"}, {"bandwidth", "10 Gbps"}});
  apply_settings(json, {"nic.per_byte=2 ns/B"});
  CHECK(json["nic"] == Json{{"latency", "1 us"}, {"per_byte", "2 ns/B"}});
  CHECK(json["bandwidth"] == 1);
}

TEST_CASE("settings: both names in one value are still refused, by the reader") {
  Json json = Json::parse(R"({"nic": {}})");
  apply_settings(json, {R"(nic={"bandwidth": "1 Gbps", "per_byte": "1 ns/B"})"});
  CHECK(json["nic"].size() == 2);
}

}  // namespace sgdsim
