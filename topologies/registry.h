// The shapes of a cluster: one file and one line each. The name here is the JSON value, the file
// name and the name of the function that reads the shape's fields (but `explicit`, which C++ keeps
// for itself, is explicit_graph).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "topologies/wiring.h"

namespace sgdsim {

Wiring single_switch(Object& fields);
Wiring chain(Object& fields);
Wiring ring(Object& fields);
Wiring fully_connected(Object& fields);
Wiring nvlink_box(Object& fields);
Wiring leaf_spine(Object& fields);
Wiring fat_tree(Object& fields);
Wiring torus(Object& fields);
Wiring dragonfly(Object& fields);
Wiring explicit_graph(Object& fields);

struct Shape {
  std::string_view name;
  std::string_view description;
  Wiring (*wire)(Object& fields) = nullptr;
};

inline constexpr std::array<Shape, 10> shapes{{
    {"single_switch", "all nodes at one non-blocking switch", single_switch},
    {"chain", "nodes in a row, each linked to the next", chain},
    {"ring", "nodes in a circle, each linked to the next", ring},
    {"fully_connected", "a link between every two nodes", fully_connected},
    {"nvlink_box", "boxes of GPUs behind NVLink or PCIe switches, at one switch", nvlink_box},
    {"leaf_spine", "two tiers: every leaf switch linked to every spine switch", leaf_spine},
    {"fat_tree", "three tiers of k-port switches in k pods", fat_tree},
    {"torus", "a grid of two or three dimensions, each closed to a ring", torus},
    {"dragonfly", "groups of routers, linked all-to-all inside and between groups", dragonfly},
    {"explicit", "vertices and edges as the file lists them", explicit_graph},
}};

// The shape that `name` says, or an error that lists the known ones.
const Shape& find_shape(const Value& name);

}  // namespace sgdsim
