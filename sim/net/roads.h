// Wires as packets see them: where each leads, and which of them begin a shortest way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

struct Road {
  int to = 0;  // a vertex
  double ps_per_B = 0;
  Duration latency;
  Duration passing;      // more for what does not stay at its end
  bool is_there = true;  // else it is the way back of a one-way link
};

class Roads {
 public:
  // Where ways to a worker are looked up: the only neighbour that it has, from which `last` leads
  // to it; or itself.
  struct Goal {
    int vertex = 0;
    bool is_own = true;
    uint32_t last = 0;
  };

  virtual ~Roads() = default;
  virtual std::span<const Road> all() const = 0;  // by the number of the resource
  virtual int vertices() const = 0;
  virtual int workers() const = 0;
  virtual int vertex_of(int worker) const = 0;
  virtual Goal goal_of(int worker) const = 0;
  // Adds the roads from a vertex that begin a shortest way to a goal's vertex, in order.
  virtual void next_roads(int vertex, int goal, std::vector<uint32_t>& found) = 0;
  // Whether the last road of a goal may be taken at present.
  virtual bool is_open(uint32_t road) const = 0;
};

}  // namespace sgdsim
