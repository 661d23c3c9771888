// The shapes of a cluster: one file and one line each. The name here is the JSON value, the file
// name and the name of the function that describes the shape (but `explicit`, which C++ keeps
// for itself, is explicit_graph).
#pragma once

#include <string_view>
#include <vector>

#include "sim/core/part.h"
#include "topologies/wiring.h"

namespace sgdsim {

struct Shape {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)() = nullptr;
  Wiring (*wire)(Object& fields) = nullptr;
};

Shape single_switch();
Shape chain();
Shape ring();
Shape fully_connected();
Shape nvlink_box();
Shape leaf_spine();
Shape fat_tree();
Shape rails();
Shape torus();
Shape dragonfly();
Shape explicit_graph();

inline const std::vector<Shape>& shapes() {
  static const std::vector<Shape> table = {
      single_switch(), chain(), ring(),  fully_connected(), nvlink_box(),    leaf_spine(),
      fat_tree(),      rails(), torus(), dragonfly(),       explicit_graph()};
  return table;
}

// The shape that `name` says, or an error that lists the known ones.
const Shape& find_shape(const Value& name);

}  // namespace sgdsim
