// DOT and GraphML. Numbers in GraphML are plain, with the unit in the key, for programs; labels in
// DOT are quantities as a cluster file spells them, for people.
#include "topologies/export.h"

#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

std::string rate_text(const Link& link) {
  if (link.per_byte.ps() == 0) return "unlimited";
  return to_text(Bandwidth::Bps(1e12 / link.per_byte.ps()));
}

std::string dot_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string_view dot_shape(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "box";
    case VertexKind::network_switch:
    case VertexKind::router:
      return "ellipse";
    case VertexKind::nic:
      return "cds";
    case VertexKind::nvswitch:
    case VertexKind::pcie:
      return "hexagon";
    case VertexKind::cpu:
      return "octagon";
  }
  return "ellipse";
}

std::string graphml_key(std::string_view owner, std::string_view name, std::string_view type) {
  return "  <key id=\"" + std::string(name) + "\" for=\"" + std::string(owner) + "\" attr.name=\"" +
         std::string(name) + "\" attr.type=\"" + std::string(type) + "\"/>\n";
}

std::string graphml_value(std::string_view key, std::string_view value) {
  return "<data key=\"" + std::string(key) + "\">" + xml_escaped(value) + "</data>";
}

std::string graphml_edge(const Connection& connection, int from, int to) {
  const Link& link = connection.link;
  std::string text = "    <edge source=\"v" + std::to_string(from) + "\" target=\"v" +
                     std::to_string(to) + "\">" +
                     graphml_value("link_class", connection.link_class) +
                     graphml_value("latency_us", number_text(link.latency.us()));
  if (link.per_byte.ps() > 0)  // without it, the bandwidth is unlimited
    text += graphml_value("bandwidth_Bps", number_text(1e12 / link.per_byte.ps()));
  return text + graphml_value("efficiency", number_text(link.efficiency)) +
         graphml_value("reduce_ps_per_B", number_text(link.reduce.ps())) + "</edge>\n";
}

}  // namespace

std::string to_dot(const Graph& graph, const std::string& name) {
  std::string text = "digraph " + dot_quoted(name) + " {\n";
  int number = 0;
  for (const Vertex& vertex : graph.vertices())
    text += "  v" + std::to_string(number++) + " [label=" + dot_quoted(vertex.name) +
            ", shape=" + std::string(dot_shape(vertex.kind)) + "];\n";
  for (const Connection& connection : graph.connections()) {
    const std::string label = connection.link_class + ": " + rate_text(connection.link) + ", " +
                              to_text(connection.link.latency);
    text += "  v" + std::to_string(connection.from) + " -> v" + std::to_string(connection.to) +
            " [label=" + dot_quoted(label) + (connection.both_ways ? ", dir=none" : "") + "];\n";
  }
  return text + "}\n";
}

std::string to_graphml(const Graph& graph, const std::string& name) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n" +
      graphml_key("node", "name", "string") + graphml_key("node", "kind", "string") +
      graphml_key("node", "worker", "int") + graphml_key("edge", "link_class", "string") +
      graphml_key("edge", "latency_us", "double") + graphml_key("edge", "bandwidth_Bps", "double") +
      graphml_key("edge", "efficiency", "double") +
      graphml_key("edge", "reduce_ps_per_B", "double");
  text += "  <graph id=\"" + xml_escaped(name) + "\" edgedefault=\"directed\">\n";
  int number = 0;
  for (const Vertex& vertex : graph.vertices()) {
    text += "    <node id=\"v" + std::to_string(number++) + "\">" +
            graphml_value("name", vertex.name) + graphml_value("kind", to_text(vertex.kind));
    if (vertex.worker >= 0) text += graphml_value("worker", std::to_string(vertex.worker));
    text += "</node>\n";
  }
  for (const Connection& connection : graph.connections()) {
    text += graphml_edge(connection, connection.from, connection.to);
    if (connection.both_ways) text += graphml_edge(connection, connection.to, connection.from);
  }
  return text + "  </graph>\n</graphml>\n";
}

}  // namespace sgdsim
