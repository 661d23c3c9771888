// The text of both formats for a graph small enough to write down, with names that need escaping.
#include <doctest/doctest.h>

#include "tests/run_program.h"
#include "topologies/cluster_file.h"
#include "topologies/export.h"

namespace sgdsim {
namespace {

// Two workers at a switch whose name is a keyword of DOT; one cable has one direction.
const char* const small = R"json({"shape": "explicit",
  "vertices": [{"name": "a \"quoted\" \\ <name> & more", "kind": "gpu"},
               {"name": "b", "kind": "gpu"}, {"name": "node", "kind": "switch"}],
  "links": {"fast": {"latency": "1.5 us", "bandwidth": "100 Gbps", "efficiency": 0.9},
            "free": {"latency": "0 ns", "per_byte": "0 ps/B", "reduce": "2 ps/B"}},
  "edges": [{"from": "a \"quoted\" \\ <name> & more", "to": "node", "link": "fast"},
            {"from": "b", "to": "node", "link": "free", "one_way": true},
            {"from": "node", "to": "b", "link": "fast", "one_way": true}]})json";

Graph graph_of(const std::string& text) {
  return read_cluster(Document::parse(text, "cluster.json").root()).graph();
}

TEST_CASE("export: DOT") {
  CHECK(to_dot(graph_of(small), "my \"graph\"") == R"dot(digraph "my \"graph\"" {
  v0 [label="a \"quoted\" \\ <name> & more", shape=box];
  v1 [label="b", shape=box];
  v2 [label="node", shape=ellipse];
  v0 -> v2 [label="fast: 100 Gbps, 1.5 us", dir=none];
  v1 -> v2 [label="free: unlimited, 0 ps"];
  v2 -> v1 [label="fast: 100 Gbps, 1.5 us"];
}
)dot");
}

TEST_CASE("export: GraphML") {
  CHECK(to_graphml(graph_of(small), "g") == R"xml(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="worker" for="node" attr.name="worker" attr.type="int"/>
  <key id="link_class" for="edge" attr.name="link_class" attr.type="string"/>
  <key id="latency_us" for="edge" attr.name="latency_us" attr.type="double"/>
  <key id="bandwidth_Bps" for="edge" attr.name="bandwidth_Bps" attr.type="double"/>
  <key id="efficiency" for="edge" attr.name="efficiency" attr.type="double"/>
  <key id="reduce_ps_per_B" for="edge" attr.name="reduce_ps_per_B" attr.type="double"/>
  <graph id="g" edgedefault="directed">
    <node id="v0"><data key="name">a &quot;quoted&quot; \ &lt;name&gt; &amp; more</data><data key="kind">gpu</data><data key="worker">0</data></node>
    <node id="v1"><data key="name">b</data><data key="kind">gpu</data><data key="worker">1</data></node>
    <node id="v2"><data key="name">node</data><data key="kind">switch</data></node>
    <edge source="v0" target="v2"><data key="link_class">fast</data><data key="latency_us">1.5</data><data key="bandwidth_Bps">1.25e+10</data><data key="efficiency">0.9</data><data key="reduce_ps_per_B">0</data></edge>
    <edge source="v2" target="v0"><data key="link_class">fast</data><data key="latency_us">1.5</data><data key="bandwidth_Bps">1.25e+10</data><data key="efficiency">0.9</data><data key="reduce_ps_per_B">0</data></edge>
    <edge source="v1" target="v2"><data key="link_class">free</data><data key="latency_us">0</data><data key="efficiency">1</data><data key="reduce_ps_per_B">2</data></edge>
    <edge source="v2" target="v1"><data key="link_class">fast</data><data key="latency_us">1.5</data><data key="bandwidth_Bps">1.25e+10</data><data key="efficiency">0.9</data><data key="reduce_ps_per_B">0</data></edge>
  </graph>
</graphml>
)xml");
}

TEST_CASE("export: the same cluster gives the same text, and every format is in the table") {
  const std::string text = R"({"shape": "ring", "nodes": 3,
                              "link": {"latency": "1 us", "bandwidth": "1 GBps"}})";
  CHECK(graph_formats.size() == 2);
  for (const GraphFormat& format : graph_formats)
    CHECK(format.write(graph_of(text), "x") == format.write(graph_of(text), "x"));
}

TEST_CASE("export: what a graph cannot say and changes times is noted") {
  const auto log_of = [](const char* cluster, const char* format) {
    const Ran ran = run_sgdsim({"export", format, cluster});
    CHECK(ran.exit_code == 0);
    return ran.log;
  };
  for (const char* format : {"dot", "graphml"}) {
    CHECK(log_of("topologies/data/fat_tree_k8.json", format) ==
          "sgdsim: note: not in the graph, and changes times: switch_latency\n");
    CHECK(log_of("topologies/data/10gbe_16.json", format).empty());
    CHECK(log_of(R"({"shape": "ring", "nodes": 3, "start": "0 s", "link":
                     {"latency": "1 us", "bandwidth": "1 GBps", "rendezvous": "1 MB",
                      "staged": false}})",
                 format) == "sgdsim: note: not in the graph, and changes times: rendezvous\n");
    CHECK(log_of(R"({"shape": "single_switch", "nodes": 3, "nic":
                     {"latency": "1 us", "bandwidth": "1 GBps",
                      "efficiency": [{"senders": 1, "efficiency": 0.9}]}})",
                 format) == "sgdsim: note: not in the graph, and changes times: efficiency\n");
  }
}

}  // namespace
}  // namespace sgdsim
