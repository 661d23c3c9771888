// Words are answered by groups of consecutive workers: nodes and leaf switches.
#include "study/jobs/free_workers.h"

#include <algorithm>
#include <map>

#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "topologies/wiring.h"

namespace sgdsim {

FreeWorkers::FreeWorkers(const Cluster& cluster)
    : workers_(cluster.network.workers()),
      per_node_(cluster.workers_per_node),
      per_leaf_(cluster.workers_per_leaf) {
  for (int worker = 0; worker < workers_; ++worker) free_.insert(free_.end(), worker);
}

std::vector<int> FreeWorkers::take_servers(const Value& value) {
  if (value.json().is_number()) {
    const std::vector<int> places = spread(counted(value));
    take_these(places);
    return places;
  }
  if (value.json().is_array()) return named(value, std::nullopt);
  return checked(parse_numbers_in_order(value.text(), workers_, value.where(), "worker"), value,
                 std::nullopt);
}

std::vector<int> FreeWorkers::take(Object& fields, const Random& random,
                                   const std::optional<int64_t>& usual) {
  const auto placement = fields.find("placement");
  const auto count = fields.find("workers");
  if (placement && placement->json().is_array()) return named(*placement, count);
  const bool is_one = placement && placement->json().is_number_unsigned();
  const std::string how = is_one      ? placement->json().dump()
                          : placement ? placement->text()
                                      : "packed";
  if (!how.empty() && how.front() >= '0' && how.front() <= '9')
    return checked(parse_numbers_in_order(how, workers_, placement->where(), "worker"), *placement,
                   count);
  if (!count && !usual) fields.at("workers");
  const std::size_t size = count ? counted(*count) : fitting(*usual, fields.value());
  return take_by(how, size, placement ? placement->where() : "", random);
}

std::vector<int> FreeWorkers::take_by(const std::string& word, std::size_t size,
                                      const std::string& where, Random random) {
  std::vector<int> places;
  if (word == "packed") {
    places.assign(free_.begin(), std::next(free_.begin(), static_cast<std::ptrdiff_t>(size)));
  } else if (word == "spread") {
    places = spread(size);
  } else if (word == "random") {
    places = by_chance(size, random);
  } else if (word == "rail") {
    if (per_node_ == 1)
      throw InputError(
          where, "rail takes the same GPU of every node, and nodes have one here; say packed");
    places = by_rail(size);
  } else if (word == "node" || word == "leaf" || word == "across") {
    places = by_group(word, size, where);
  } else {
    std::vector<std::string> known(placement_words.begin(), placement_words.end());
    known.insert(known.end(), {"random", "0-3,7"});
    throw InputError(where, unknown_name("placement", word, known));
  }
  take_these(places);
  return places;
}

std::vector<int> FreeWorkers::take_nodes_by_chance(std::size_t size, Random& random) {
  std::vector<int> nodes = whole_groups(per_node_);
  const std::size_t wanted = (size + at(per_node_) - 1) / at(per_node_);
  if (nodes.size() < wanted) return {};
  for (std::size_t i = 0; i < wanted; ++i)
    std::swap(nodes[i], nodes[i + random.below(nodes.size() - i)]);
  nodes.resize(wanted);
  std::vector<int> places = of_groups(std::move(nodes), per_node_, size);
  take_these(places);
  return places;
}

void FreeWorkers::take_these(const std::vector<int>& places) {
  for (const int place : places) free_.erase(place);
}

std::size_t FreeWorkers::counted(const Value& count) const {
  return fitting(count.whole(1, most_workers), count);
}

std::size_t FreeWorkers::fitting(int64_t wanted, const Value& where) const {
  if (wanted > static_cast<int64_t>(free_.size()))
    where.fail(std::to_string(wanted) + " workers do not fit: " + std::to_string(free_.size()) +
               " are left");
  return static_cast<std::size_t>(wanted);
}

std::vector<int> FreeWorkers::spread(std::size_t size) const {
  const std::vector<int> all(free_.begin(), free_.end());
  std::vector<int> places;
  for (std::size_t i = 0; i < size; ++i) places.push_back(all[i * all.size() / size]);
  return places;
}

std::vector<int> FreeWorkers::by_chance(std::size_t size, Random random) const {
  std::vector<int> all(free_.begin(), free_.end());
  std::vector<int> places;
  for (std::size_t i = 0; i < size; ++i) {
    std::swap(all[i], all[i + random.below(all.size() - i)]);
    places.push_back(all[i]);
  }
  std::sort(places.begin(), places.end());
  return places;
}

// Of consecutive workers, those that are all free; the last may have fewer.
std::vector<int> FreeWorkers::whole_groups(int group) const {
  std::map<int, int> counts;
  for (const int worker : free_) ++counts[worker / group];
  std::vector<int> groups;
  for (const auto& [number, count] : counts)
    if (count == std::min((number + 1) * group, workers_) - number * group)
      groups.push_back(number);
  return groups;
}

// The free ones of these groups, as many as are asked for.
std::vector<int> FreeWorkers::of_groups(std::vector<int> groups, int group,
                                        std::size_t size) const {
  std::sort(groups.begin(), groups.end());
  std::vector<int> places;
  for (const int number : groups)
    for (int worker = number * group; worker < std::min((number + 1) * group, workers_); ++worker)
      if (places.size() < size) places.push_back(worker);
  return places;
}

// Whole nodes, one of each leaf in turn.
std::vector<int> FreeWorkers::across_leaves(std::size_t nodes) const {
  const int nodes_per_leaf = per_leaf_ / per_node_;
  std::map<int, std::vector<int>> by_leaf;
  for (const int node : whole_groups(per_node_)) by_leaf[node / nodes_per_leaf].push_back(node);
  std::vector<int> chosen;
  for (std::size_t turn = 0; chosen.size() < nodes; ++turn) {
    bool any = false;
    for (const auto& [leaf, its] : by_leaf) {
      if (turn >= its.size() || chosen.size() == nodes) continue;
      chosen.push_back(its[turn]);
      any = true;
    }
    if (!any) break;
  }
  return chosen;
}

// The first GPU of every node that is left, then the second.
std::vector<int> FreeWorkers::by_rail(std::size_t size) const {
  std::vector<int> places(free_.begin(), free_.end());
  std::stable_sort(places.begin(), places.end(),
                   [&](int a, int b) { return a % per_node_ < b % per_node_; });
  places.resize(size);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<int> FreeWorkers::by_group(const std::string& word, std::size_t size,
                                       const std::string& where) const {
  if (word != "node" && per_leaf_ == 0)
    throw InputError(where,
                     word +
                         " needs leaf switches, as leaf_spine, fat_tree, rails and dragonfly "
                         "have; say node");
  const bool by_leaf = word == "leaf";
  const int group = by_leaf ? per_leaf_ : per_node_;
  const std::size_t wanted = (size + at(group) - 1) / at(group);
  std::vector<int> groups = word == "across" ? across_leaves(wanted) : whole_groups(group);
  std::vector<int> places;
  if (groups.size() > wanted) groups.resize(wanted);
  places = of_groups(groups, group, size);
  if (places.size() == size) return places;
  const std::string noun = by_leaf ? "leaf switches" : "nodes";
  throw InputError(where, word + " takes whole " + noun + ": " + std::to_string(size) +
                              " workers need " + std::to_string(wanted) + " of " +
                              std::to_string(group) + " workers that no job has anything of, and " +
                              std::to_string(whole_groups(group).size()) + " are left; say " +
                              (by_leaf ? "node, or packed, which takes" : "packed, which takes") +
                              " single workers");
}

std::vector<int> FreeWorkers::named(const Value& placement, const std::optional<Value>& count) {
  std::vector<int> places;
  for (const Value& item : placement.items())
    places.push_back(static_cast<int>(item.whole(0, workers_ - 1)));
  return checked(places, placement, count);
}

std::vector<int> FreeWorkers::checked(const std::vector<int>& places, const Value& placement,
                                      const std::optional<Value>& count) {
  if (places.empty()) placement.fail("expected at least one worker");
  if (count && count->whole(1, most_workers) != static_cast<int64_t>(places.size()))
    count->fail("the placement has " + std::to_string(places.size()) + " workers");
  for (const int place : places)
    if (free_.erase(place) == 0)
      placement.fail("worker " + std::to_string(place) + " is taken, by an earlier job or twice");
  return places;
}

}  // namespace sgdsim
