// A grid of two or three dimensions in which every row is a ring, as in TPU pods and Blue Gene.
// Node x + X*(y + Y*z) is at (x, y, z), first dimension fastest.
#include "topologies/grid.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

struct TorusFields {
  std::vector<int> dimensions;
  GridFields grid{.nodes = {.rule = NodeCount::Rule::exactly}};
};

Json schema_of_dimensions() {
  return list_schema({{"type", "integer"}, {"minimum", 2}, {"maximum", longest_dimension}}, 2, 3);
}

Fields fields_of(TorusFields& o) {
  return Fields{Field("dimensions", o.dimensions,
                      "nodes in each of two or three dimensions, first fastest: node x + X*(y + "
                      "Y*z) is at (x, y, z)")
                    .needed()
                    .from(2, longest_dimension)
                    .like(schema_of_dimensions)
                    .also([](const Value& list) {
                      if (list.size() != 2 && list.size() != 3)
                        list.fail("expected two or three dimensions, got " +
                                  std::to_string(list.size()));
                    })} +
         fields_of(o.grid);
}

Wiring wire_torus(Object& fields) {
  const auto given = read_record<TorusFields>(fields);
  const Value field = fields.at("dimensions");
  int64_t product = 1;
  std::string text;
  for (const int size : given.dimensions) {
    product *= size;
    text += (text.empty() ? "" : " x ") + std::to_string(size);
    if (product > most_workers)
      field.fail("a torus of " + text + " has more than " + std::to_string(most_workers) +
                 " nodes");
  }
  const std::string reason = "a torus of " + text + " has " + std::to_string(product) + " nodes";
  const Nodes nodes =
      direct_nodes(fields, given.grid.nodes, {NodeCount::Rule::exactly, product, reason});
  return wire_grid(nodes, given.grid.link, given.dimensions, true);
}

}  // namespace

Shape torus() {
  return {"torus", "a grid of two or three dimensions, each closed to a ring",
          options_of<TorusFields>, wire_torus};
}

}  // namespace sgdsim
