// A grid of two or three dimensions in which every row is a ring, as in TPU pods and Blue Gene.
// Node x + X*(y + Y*z) is at (x, y, z), first dimension fastest.
#include "topologies/grid.h"
#include "topologies/registry.h"

namespace sgdsim {

Wiring torus(Object& fields) {
  const Value field = fields.at("dimensions");
  const std::vector<Value> items = field.items();
  if (items.size() != 2 && items.size() != 3)
    field.fail("expected two or three dimensions, got " + std::to_string(items.size()));
  std::vector<int> dimensions;
  int64_t product = 1;
  std::string text;
  for (const Value& item : items) {
    dimensions.push_back(static_cast<int>(item.whole(2, longest_dimension)));
    product *= dimensions.back();
    text += (text.empty() ? "" : " x ") + std::to_string(dimensions.back());
    if (product > most_workers)
      field.fail("a torus of " + text + " has more than " + std::to_string(most_workers) +
                 " nodes");
  }
  const std::string reason = "a torus of " + text + " has " + std::to_string(product) + " nodes";
  const Nodes nodes = read_direct_nodes(fields, {NodeCount::Rule::exactly, product, reason});
  return wire_grid(fields, nodes, dimensions, true);
}

}  // namespace sgdsim
