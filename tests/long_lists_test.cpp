// Lists of more than 65,536 entries are kept as text; whoever reads them must not notice.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/step/override.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr int most_values = 1 << 16;

// {"list": [entry(0), entry(1), ...]}
template <class F>
std::string text_of(int count, const F& entry) {
  std::string text = "{\"list\": [";
  for (int i = 0; i < count; ++i) text += std::string(i > 0 ? ", " : "") + entry(i);
  return text + "]}";
}

std::string mixed(int i) {
  const std::string number = std::to_string(i);
  switch (i % 4) {
    case 0:
      return number;
    case 1:
      return R"({"name": "a \n \" )" + number + R"(", "deep": {"list": [1, [2.5, null]]}})";
    case 2:
      return "[" + number + ", {}, []]";
    default:
      return "true";
  }
}

TEST_CASE("long lists: packed or not, the same values in the same order") {
  for (const int count : {most_values - 1, most_values, most_values + 1, most_values + 1000}) {
    CAPTURE(count);
    const std::string text = text_of(count, mixed);
    const Document document = Document::parse(text, "long.json");
    const Json& list = document.root().json()["list"];
    const Json expected = Json::parse(text)["list"];
    CHECK(list.is_binary() == (count > most_values));
    CHECK(is_list(list));
    CHECK(unpacked(list) == expected);
    const Value value = Object(document.root()).at("list");
    const std::vector<Value> items = value.items();
    REQUIRE(items.size() == expected.size());
    CHECK(value.size() == expected.size());
    std::size_t index = 0;
    int different = 0;
    value.for_each_item([&](const Value& item) {
      different += item.json() == expected[index] && items[index].json() == expected[index] &&
                           item.path() == "/list/" + std::to_string(index) &&
                           items[index].path() == item.path()
                       ? 0
                       : 1;
      ++index;
    });
    CHECK(index == expected.size());
    CHECK(different == 0);
  }
}

TEST_CASE("long lists: a value of a packed list lives as long as it is held") {
  const Document document =
      Document::parse(text_of(most_values + 1, [](int) { return R"({"a": {"b": 7}})"; }), "long");
  const Value last = Object(document.root()).at("list").items().back();
  const Value inner = last.child("a").entries().front().second;
  CHECK(inner.whole(0, 10) == 7);
  CHECK(inner.path() == "/list/65536/a/b");
}

TEST_CASE("long lists: within a list they stay values, and so do their neighbours") {
  const std::string inner = text_of(most_values + 1, [](int i) { return std::to_string(i); });
  const std::string text = "[" + inner + ", {\"after\": 1}]";
  CHECK(Document::parse(text, "nested").root().json() == Json::parse(text));
}

TEST_CASE("long lists: mistakes are found at their place") {
  auto error_of = [](const std::string& entry) -> std::string {
    try {
      Document::parse(
          text_of(most_values + 10, [&](int i) { return i == most_values + 5 ? entry : "1"; }),
          "long.json");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of("2") == "");
  CHECK(error_of(R"({"a": 1, "a": 2})") == "long.json: the key \"a\" occurs twice in one object");
  CHECK(error_of("1 2").starts_with("long.json: not JSON: line 1, column "));
  CHECK(error_of("1e999") == "long.json: not JSON: a number is out of range");
  CHECK(error_of(std::string(100, '[') + std::string(100, ']')) ==
        "long.json: nested deeper than 64 levels");
}

TEST_CASE("long lists: --set changes an entry of one") {
  const Document document =
      Document::parse(text_of(most_values + 1, [](int i) { return std::to_string(i); }), "long");
  Json json = document.root().json();
  apply_settings(json, {"list.65536=\"x\""});
  REQUIRE(json["list"].size() == most_values + 1);
  CHECK(json["list"][most_values] == "x");
  CHECK(json["list"][most_values - 1] == most_values - 1);
  CHECK_THROWS_WITH_AS(apply_settings(json, {"list.65537=1"}),
                       "--set list.65537=1: \"65537\" is no index of a list of 65537", InputError);
}

// Bandwidth and segments by the number of the node, so that each port can be checked.
std::string cluster_of(int ports, bool segments) {
  std::string text = R"({"schema": "sgdsim/cluster/1", "shape": "single_switch", "nodes": )" +
                     std::to_string(ports) +
                     R"(, "nic": {"latency": "1 us", "bandwidth": "10 Gbps"}, "ports": [)";
  for (int i = ports - 1; i >= 0; --i) {
    text += R"({"node": )" + std::to_string(i) + R"(, "per_byte": ")" + std::to_string(i + 1) +
            R"( ps/B")";
    if (segments && i == 3)
      text += R"(, "segments": [{"from": "1 KB", "latency": "2 us", "per_byte": "9 ns/B"}])";
    text += i > 0 ? "},\n" : "}]}";
  }
  return text;
}

TEST_CASE("long lists: a port of its own for each of 100,000 nodes, in any order") {
  constexpr int ports = 100'000;
  for (const bool segments : {false, true}) {
    CAPTURE(segments);
    const Document document = Document::parse(cluster_of(ports, segments), "ports.json");
    // Entries are about 35 bytes of text: no more may be kept of each.
    REQUIRE(document.root().json()["ports"].is_binary());
    CHECK(document.root().json()["ports"].get_binary().size() < 40 * ports);
    const Network network = read_cluster(document.root()).cluster.network;
    int wrong = 0;
    for (int i = 0; i + 1 < ports; ++i)
      wrong += network.between(i, i + 1).per_byte == PerByte::ps(i + 2) ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(network.has_bands() == segments);
    CHECK(network.at_size(1000).between(3, 2).per_byte ==
          (segments ? PerByte::ps(9000) : PerByte::ps(4)));
    CHECK(network.at_size(1000).between(70'000, 2).per_byte == PerByte::ps(70'001));
  }
  CHECK_THROWS_WITH_AS(
      read_cluster(Document::parse(R"({"shape": "single_switch", "nodes": 3, "ports": 3,)"
                                   R"( "nic": {"latency": "1 us", "bandwidth": "1 Gbps"}})",
                                   "ports.json")
                       .root()),
      "ports.json: /ports: expected an array, got the number 3", InputError);
}

}  // namespace
}  // namespace sgdsim
