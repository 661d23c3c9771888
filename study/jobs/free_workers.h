// Which workers a job gets of those that no job has yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.h"
#include "sim/core/random.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// What a placement may say in place of workers, but for "random".
inline constexpr std::array<std::string_view, 6> placement_words = {"packed", "node", "leaf",
                                                                    "across", "rail", "spread"};

class FreeWorkers {
 public:
  explicit FreeWorkers(const Cluster& cluster);
  // "36-47", a list, or so many, evenly among those that are left.
  std::vector<int> take_servers(const Value& value);
  // As the "placement" and the "workers" of a job say. `usual`: how many there are if it does not
  // say it.
  std::vector<int> take(Object& fields, const Random& random, const std::optional<int64_t>& usual);
  // In growing order. InputError at `where` if there are not enough of the kind; `random` is for
  // that word only.
  std::vector<int> take_by(const std::string& word, std::size_t size, const std::string& where,
                           Random random);
  // Nodes that nobody has anything of, in an order by chance.
  std::vector<int> take_nodes_by_chance(std::size_t size, Random& random);
  void take_these(const std::vector<int>& places);

 private:
  std::size_t counted(const Value& count) const;
  std::size_t fitting(int64_t wanted, const Value& where) const;
  std::vector<int> spread(std::size_t size) const;
  std::vector<int> by_chance(std::size_t size, Random random) const;
  std::vector<int> whole_groups(int group) const;
  std::vector<int> of_groups(std::vector<int> groups, int group, std::size_t size) const;
  std::vector<int> across_leaves(std::size_t nodes) const;
  std::vector<int> by_rail(std::size_t size) const;
  std::vector<int> by_group(const std::string& word, std::size_t size,
                            const std::string& where) const;
  std::vector<int> named(const Value& placement, const std::optional<Value>& count);
  std::vector<int> checked(const std::vector<int>& places, const Value& placement,
                           const std::optional<Value>& count);

  std::set<int> free_;
  int workers_;
  int per_node_;
  int per_leaf_;
};

}  // namespace sgdsim
