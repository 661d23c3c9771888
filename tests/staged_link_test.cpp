// Links through the host's memory.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/net/wires.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

Duration message(const std::string& link, double size_B) {
  const Json json = Json::parse(
      R"({"schema":"sgdsim/cluster/1","name":"a","shape":"single_switch","nodes":2,"nic":)" + link +
      "}");
  const Cluster cluster = read_cluster(Value(json, "test", "")).cluster;
  return Wires(cluster.network, AlphaRule::port).leg(0, 1, size_B, false).out_busy;
}

// 8 GB/s are 125 ps a byte: two copies of 1 MB take 250 us, behind two latencies of 1 us.
TEST_CASE("links: through the host a message is copied twice") {
  const std::string rate = R"("latency":"1 us","bandwidth":"8 GBps")";
  CHECK(message("{" + rate + "}", 1e6) == Duration::us(127));
  CHECK(message("{" + rate + R"(,"staged":false})", 1e6) == Duration::us(127));
  CHECK(message("{" + rate + R"(,"staged":true})", 1e6) == Duration::us(252));
  CHECK(message("{" + rate + R"(,"staged":true,"efficiency":0.5})", 1e6) == Duration::us(502));
  CHECK_THROWS_AS(message("{" + rate + R"(,"staged":"host"})", 1e6), InputError);
}

TEST_CASE("links: segments of a link through the host are copied twice, too") {
  const std::string link = R"({"latency":"1 us","bandwidth":"8 GBps","staged":true,)"
                           R"("segments":[{"from":"1 KB","latency":"2 us","bandwidth":"4 GBps"}]})";
  CHECK(message(link, 100) == Duration::us(2) + Duration::ns(25));
  CHECK(message(link, 1e6) == Duration::us(504));
}

}  // namespace
}  // namespace sgdsim
