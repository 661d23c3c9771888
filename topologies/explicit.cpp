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

std::string read_name(const Value& value) {
  std::string name = value.text();
  const bool prints = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (name.empty() || name.size() > longest_name || !prints)
    value.fail("expected a name of 1 to " + std::to_string(longest_name) +
               " bytes without control characters");
  return name;
}

VertexKind read_kind(const Value& value) {
  const std::string name = value.text();
  const auto* const found =
      std::find(std::begin(vertex_kind_names), std::end(vertex_kind_names), std::string_view(name));
  if (found == std::end(vertex_kind_names))
    value.fail(unknown_name("kind of vertex", name,
                            {std::begin(vertex_kind_names), std::end(vertex_kind_names)}));
  return static_cast<VertexKind>(found - std::begin(vertex_kind_names));
}

// Switches, routers and workers take time to pass; the parts of a box do not.
bool is_passed_slowly(VertexKind kind) {
  return kind == VertexKind::network_switch || kind == VertexKind::router ||
         kind == VertexKind::gpu;
}

std::map<std::string, int> read_vertices(const Value& list, Duration switch_latency, Parts& parts) {
  std::map<std::string, int> numbers;
  const std::vector<Value> items = list.items();
  if (items.size() > most_vertices)
    list.fail("expected at most " + std::to_string(most_vertices) + " vertices, got " +
              std::to_string(items.size()));
  for (const Value& item : items) {
    Object fields(item);
    Vertex vertex;
    vertex.name = read_name(fields.at("name"));
    vertex.kind = read_kind(fields.at("kind"));
    if (const auto forwards = fields.find("forwards")) vertex.forwards = forwards->flag();
    fields.done();
    if (vertex.kind == VertexKind::gpu) vertex.worker = parts.workers++;
    if (is_passed_slowly(vertex.kind)) vertex.delay = switch_latency;
    const int number = static_cast<int>(parts.vertices.size());
    if (!numbers.emplace(vertex.name, number).second)
      item.fail("the name \"" + vertex.name + "\" is taken by an earlier vertex");
    parts.vertices.push_back(std::move(vertex));
  }
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
  for (const Value& item : list.items()) {
    Object fields(item);
    Connection edge;
    edge.from = look_up(vertices, fields.at("from"), "vertex");
    edge.to = look_up(vertices, fields.at("to"), "vertex");
    edge.link = look_up(links, fields.at("link"), "link class");
    edge.link_class = fields.at("link").text();
    if (const auto one_way = fields.find("one_way")) edge.both_ways = !one_way->flag();
    fields.done();
    if (edge.from == edge.to) item.fail("joins \"" + fields.at("from").text() + "\" to itself");
    parts.connections.push_back(std::move(edge));
  }
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

int read_gpus_per_node(Object& fields, int workers) {
  const auto gpus = fields.find("gpus_per_node");
  const int per_node = gpus ? static_cast<int>(gpus->whole(1, workers)) : 1;
  if (workers % per_node != 0)
    gpus->fail(std::to_string(workers) + " workers do not divide into nodes of " +
               std::to_string(per_node));
  const auto nodes = fields.find("nodes");
  if (nodes && nodes->whole(1, most_workers) != workers / per_node)
    nodes->fail("the graph has " + std::to_string(workers / per_node) + " nodes, got " +
                nodes->json().dump());
  return per_node;
}

}  // namespace

Wiring explicit_graph(Object& fields) {
  Parts parts;
  const Duration switch_latency = read_switch_latency(fields);
  const auto vertices = read_vertices(fields.at("vertices"), switch_latency, parts);
  const auto links = read_links(fields.at("links"));
  read_edges(fields.at("edges"), vertices, links, parts);
  const int gpus_per_node = read_gpus_per_node(fields, parts.workers);
  return {.network = network_from_routes(parts, fields.value()),
          .nodes = parts.workers / gpus_per_node,
          .gpus_per_node = gpus_per_node,
          .connections = static_cast<int64_t>(parts.connections.size()),
          .graph = [parts] { return build(parts); }};
}

}  // namespace sgdsim
