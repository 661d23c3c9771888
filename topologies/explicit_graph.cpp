// A graph as the file lists it: vertices, link classes, and edges that name a class.
//
//   "vertices": [{"name": "a", "kind": "gpu"}, {"name": "s", "kind": "switch"}, ...],
//   "links": {"cable": {"latency": "1 us", "bandwidth": "10 Gbps"}},
//   "edges": [{"from": "a", "to": "s", "link": "cable"}, ...]
//
// Vertices of kind gpu are the workers, in the order of the file. There is no formula: the cost of
// every pair comes from its route and is kept in a table, hence at most 4096 workers.
#include <algorithm>
#include <map>

#include "topologies/nodes.h"
#include "topologies/pair_classes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_vertices = 1 << 20;  // with latencies of 1 s no route overflows
constexpr std::size_t longest_name = 100;

// The parts of a graph, so that Wiring can build it as often as asked.
struct Parts {
  std::vector<Vertex> vertices;
  std::vector<Connection> connections;
  int workers = 0;
};

void check_vertex_name(const Value& value) {
  const std::string name = value.text();
  const bool prints = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (name.empty() || name.size() > longest_name || !prints)
    value.fail("expected a name of 1 to " + std::to_string(longest_name) +
               " bytes without control characters");
}

Json schema_of_vertex_name() {
  return {{"type", "string"},
          {"minLength", 1},
          {"maxLength", longest_name},
          {"pattern", "^[^\\u0000-\\u001f\\u007f]*$"}};
}

struct VertexFields {
  std::string name;
  VertexKind kind = VertexKind::gpu;
  bool forwards = true;
};

Fields fields_of(VertexFields& o) {
  return {Field("name", o.name, "what edges call it; each name once")
              .needed()
              .like(schema_of_vertex_name)
              .also(check_vertex_name),
          Field("kind", o.kind,
                "what it is; only a gpu is a worker, and switches, routers and workers take "
                "switch_latency to pass")
              .needed()
              .called("kind of vertex"),
          {"forwards", o.forwards, "messages for others may pass through"}};
}

struct EdgeFields {
  std::string from;
  std::string to;
  std::string link;
  bool one_way = false;
};

Fields fields_of(EdgeFields& o) {
  return {Field("from", o.from, "name of a vertex").needed(),
          Field("to", o.to, "name of another vertex").needed(),
          Field("link", o.link, "name of a link class").needed(),
          {"one_way", o.one_way, "messages go only from `from` to `to`"}};
}

Json schema_of_vertices() {
  Json json = list_schema(schema_of_record<VertexFields>(), 0, most_vertices);
  json["contains"] = {{"properties", {{"kind", {{"const", "gpu"}}}}}};
  json["maxContains"] = most_table_points;
  return json;
}
Json schema_of_classes() {
  return {{"type", "object"}, {"additionalProperties", schema_of_value(Link())}};
}
Json schema_of_edges() { return list_schema(schema_of_record<EdgeFields>()); }

struct ExplicitGraph {
  std::optional<Value> vertices, links, edges;
  std::optional<int> nodes;
  int gpus_per_node = 1;
  Duration switch_latency;
};

Fields fields_of(ExplicitGraph& o) {
  return {Field("vertices", o.vertices,
                "machines and switches; those of kind gpu are the workers, in this order")
              .needed()
              .like(schema_of_vertices),
          Field("links", o.links, "link classes, by a name of your own")
              .needed()
              .like(schema_of_classes),
          Field("edges", o.edges, "links between vertices").needed().like(schema_of_edges),
          Field("nodes", o.nodes, "number of nodes, which must agree with the graph")
              .from(1, most_workers)
              .otherwise("those of the graph"),
          Field("gpus_per_node", o.gpus_per_node, "GPUs of each node; consecutive workers share it")
              .from(1, most_table_points),
          switch_latency_field(o.switch_latency)};
}

// Switches, routers and workers take time to pass; the parts of a box do not.
bool is_passed_slowly(VertexKind kind) {
  return kind == VertexKind::network_switch || kind == VertexKind::router ||
         kind == VertexKind::gpu;
}

std::map<std::string, int> read_vertices(const Value& list, Duration switch_latency, Parts& parts) {
  std::map<std::string, int> numbers;
  if (list.size() > most_vertices)
    list.fail("expected at most " + std::to_string(most_vertices) + " vertices, got " +
              std::to_string(list.size()));
  for_each_record<VertexFields>(list, [&](VertexFields& given, Object& object) {
    Vertex vertex;
    vertex.name = std::move(given.name);
    vertex.kind = given.kind;
    vertex.forwards = given.forwards;
    if (vertex.kind == VertexKind::gpu) vertex.worker = parts.workers++;
    if (is_passed_slowly(vertex.kind)) vertex.delay = switch_latency;
    const int number = static_cast<int>(parts.vertices.size());
    if (!numbers.emplace(vertex.name, number).second)
      object.value().fail("the name \"" + vertex.name + "\" is taken by an earlier vertex");
    parts.vertices.push_back(std::move(vertex));
  });
  if (parts.workers == 0) list.fail("no vertex is of kind \"gpu\", so there are no workers");
  if (parts.workers > most_table_points)
    list.fail("expected at most " + std::to_string(most_table_points) +
              " vertices of kind \"gpu\", got " + std::to_string(parts.workers));
  return numbers;
}

std::map<std::string, Link> read_links(const Value& value) {
  std::map<std::string, Link> links;
  for (const auto& [name, link] : value.entries()) links.emplace(name, read_link(link));
  return links;
}

template <class Known>
const Known& look_up(const std::map<std::string, Known>& known, const Value& value,
                     const std::string& what) {
  const std::string name = value.text();
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  constexpr std::size_t shown = 20;  // of a thousand vertices nobody reads the list
  for (const auto& entry : known)
    if (names.size() < shown) names.push_back(entry.first);
  if (known.size() > shown) names.emplace_back("...");
  value.fail(unknown_name(what, name, names));
}

void read_edges(const Value& list, const std::map<std::string, int>& vertices,
                const std::map<std::string, Link>& links, Parts& parts) {
  for_each_record<EdgeFields>(list, [&](const EdgeFields& given, Object& object) {
    Connection edge;
    edge.from = look_up(vertices, object.at("from"), "vertex");
    edge.to = look_up(vertices, object.at("to"), "vertex");
    edge.link = look_up(links, object.at("link"), "link class");
    edge.link_class = given.link;
    edge.both_ways = !given.one_way;
    if (edge.from == edge.to) object.value().fail("joins \"" + given.from + "\" to itself");
    parts.connections.push_back(std::move(edge));
  });
}

Graph build(const Parts& parts) {
  Graph graph;
  for (const Vertex& vertex : parts.vertices) graph.add(vertex);
  for (const Connection& connection : parts.connections) graph.connect(connection);
  return graph;
}

// The table column by column, because one search finds the routes of all senders to one receiver.
Network network_from_routes(const Parts& parts, const Value& where) {
  const Graph graph = build(parts);
  const auto workers = static_cast<std::size_t>(parts.workers);
  PairTable table{1, parts.workers, std::vector<uint32_t>(workers * workers)};
  ClassList classes;
  auto name_of = [&](std::size_t worker) {
    const int vertex = graph.vertex_of(static_cast<int>(worker));
    return "\"" + parts.vertices[static_cast<std::size_t>(vertex)].name + "\"";
  };
  for (std::size_t to = 0; to < workers; ++to) {
    const auto costs = graph.costs_to(static_cast<int>(to));
    for (std::size_t from = 0; from < workers; ++from) {
      if (!costs[from])
        where.fail("the graph is disconnected: worker " + name_of(from) + " cannot reach worker " +
                   name_of(to));
      if (from != to) table.classes[from * workers + to] = classes.number(*costs[from]);
    }
  }
  std::vector<PairCost> costs = classes.costs();
  if (costs.empty()) costs.emplace_back();
  if (costs.size() == 1) return {parts.workers, OneClass{}, std::move(costs)};
  return {parts.workers, std::move(table), std::move(costs)};
}

int gpus_per_node_of(Object& fields, const ExplicitGraph& given, int workers) {
  const int per_node = given.gpus_per_node;
  if (const auto gpus = fields.find("gpus_per_node")) gpus->whole(1, workers);
  if (workers % per_node != 0)
    fields.at("gpus_per_node")
        .fail(std::to_string(workers) + " workers do not divide into nodes of " +
              std::to_string(per_node));
  if (given.nodes && *given.nodes != workers / per_node)
    fields.at("nodes").fail(
        "the graph has " + std::to_string(workers / per_node) + " nodes, got " +
        std::to_string(*given.nodes) +
        "; it has as many as \"vertices\" and \"edges\" list: change these, or, if it was imported "
        "from a NCCL topology, import it again with --nodes " +
        std::to_string(*given.nodes));
  return per_node;
}

Wiring wire_explicit_graph(Object& fields) {
  Parts parts;
  const auto given = read_record<ExplicitGraph>(fields);
  const auto vertices = read_vertices(*given.vertices, given.switch_latency, parts);
  const auto links = read_links(*given.links);
  read_edges(*given.edges, vertices, links, parts);
  const int gpus_per_node = gpus_per_node_of(fields, given, parts.workers);
  return {.network = network_from_routes(parts, fields.value()),
          .nodes = parts.workers / gpus_per_node,
          .gpus_per_node = gpus_per_node,
          .connections = static_cast<int64_t>(parts.connections.size()),
          .graph = [parts] { return build(parts); }};
}

}  // namespace

Shape explicit_graph() {
  return {"explicit", "vertices and edges as the file lists them", options_of<ExplicitGraph>,
          wire_explicit_graph};
}

}  // namespace sgdsim
