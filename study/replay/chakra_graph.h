// One rank's part of a Chakra trace, as it is played: what its nodes are, and in which order they
// stand.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/chakra.h"

namespace sgdsim {

// What is not as one would think, counted over all files.
enum class ChakraOddity : uint8_t {
  marked_cpu,       // communicates, and is marked as an operation of the CPU
  without_size,     // a collective without a size
  without_bytes,    // a collective of no bytes
  memory_for_free,  // memory nodes without a duration
  invalid
};
inline constexpr std::size_t chakra_oddities = 5;
using ChakraOddities = std::array<uint64_t, chakra_oddities>;

struct GraphNode {
  enum class Kind : uint8_t { passes, computes, hosts, sends, receives, collective };
  uint64_t id = 0;
  uint64_t name_end = 0;  // in the names of the rank
  int64_t amount = 0;     // picoseconds, or bytes
  int64_t tag = 0;
  uint32_t peer = 0;
  uint32_t group = 0;  // of the names of groups
  Kind kind = Kind::passes;
  ChakraCollective collective = ChakraCollective::all_reduce;
};

// When the operations of the CPU ran, as the file says.
struct HostTimes {
  uint64_t first_us = UINT64_MAX;
  uint64_t last_us = 0;
  uint64_t busy_us = 0;
  uint64_t span_us() const { return last_us > first_us ? last_us - first_us : 0; }
  uint64_t idle_us() const { return span_us() > busy_us ? span_us() - busy_us : 0; }
};

struct RankGraph {
  std::vector<GraphNode> nodes;  // in the order of the file
  std::string names;             // one behind the other
  // What a node waits for: ids until they are resolved, then places in `nodes`.
  std::vector<uint64_t> waits;
  std::vector<uint64_t> first_wait;  // of each node, and the end
  HostTimes host_times;

  std::string_view name(std::size_t place) const {
    const uint64_t begin = place == 0 ? 0 : nodes[place - 1].name_end;
    return std::string_view(names).substr(begin, nodes[place].name_end - begin);
  }
};

struct GraphQuestion {
  uint32_t rank = 0;
  uint32_t ranks = 1;
  double operations_per_s = 0;  // of nodes without a duration; 0: not given
  // Whether files say which ranks a group has.
  bool has_groups = false;
};

// Shows all nodes of a rank.
using ChakraSource = std::function<void(const ChakraVisitor& visit)>;

// By name, in the order in which they are met. "" is every rank.
using GroupNumbers = std::map<std::string, uint32_t>;

// InputError where a node is contradictory, waits for one that is not there, or occurs twice.
RankGraph read_graph(const ChakraSource& source, const std::string& file,
                     const GraphQuestion& question, GroupNumbers& groups, ChakraOddities& oddities);

// The places of all nodes, so that each stands behind what it waits for, and otherwise in the order
// of the file. Where nodes wait for each other in a circle, that is the answer instead.
struct GraphOrder {
  std::vector<uint32_t> places;
  bool is_circle = false;
};
GraphOrder order_of(const RankGraph& graph);

}  // namespace sgdsim
