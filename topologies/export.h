// Writing the graph of a cluster for other programs: Graphviz draws it, GraphML opens in yEd,
// Gephi, networkx and Boost. Vertices and edges come in the order of the graph, so that the same
// cluster gives the same text.
//
// The two writers are our own 20 lines each and not those of Boost.Graph, because Boost 1.74 leaves
// a name such as `node`, a keyword of DOT, without quotes and does not escape a backslash.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "topologies/graph.h"

namespace sgdsim {

// A cable is one edge, drawn without an arrow; a one-way connection has one.
std::string to_dot(const Graph& graph, const std::string& name);
// A cable is two directed edges, so that a reader of a directed graph finds every way.
std::string to_graphml(const Graph& graph, const std::string& name);

struct GraphFormat {
  std::string_view name;
  std::string_view description;
  std::string (*write)(const Graph& graph, const std::string& name) = nullptr;
};

inline constexpr std::array<GraphFormat, 2> graph_formats{{
    {"dot", "Graphviz, for drawing", to_dot},
    {"graphml", "GraphML, for graph programs and libraries", to_graphml},
}};

}  // namespace sgdsim
