// The table of docs/architecture.md allows no circles of rooms, so that there are none: includes
// are held to the table by architecture_test.cpp.
#include <doctest/doctest.h>
#include <map>
#include <set>

#include "sim/core/json.h"
#include "tests/source_tree.h"

namespace sgdsim::house {
namespace {

using Arrows = std::map<std::string, std::set<std::string>>;

// A name in the table stands for the rooms within it.
Arrows arrows_of(const TableRows& table) {
  Arrows arrows;
  for (const auto& row : table)
    for (const std::string& cell : split(row[1], ',')) {
      const std::string name = trimmed(cell);
      for (const auto& other : table)
        if (other[0] != row[0] && (other[0] == name || other[0].starts_with(name + "/")))
          arrows[row[0]].insert(other[0]);
    }
  return arrows;
}

std::vector<std::string> rooms_in_circles(const Arrows& arrows) {
  std::vector<std::string> found;
  for (const auto& [start, others] : arrows) {
    std::set<std::string> reached;
    std::vector<std::string> open = {start};
    while (!open.empty()) {
      const auto from = arrows.find(open.back());
      open.pop_back();
      if (from == arrows.end()) continue;
      for (const std::string& room : from->second)
        if (reached.insert(room).second) open.push_back(room);
    }
    if (reached.contains(start)) found.push_back(start);
  }
  return found;
}

}  // namespace

TEST_CASE("architecture: rooms form no circles") {
  const std::filesystem::path root = SGDSIM_SOURCE_DIR;
  const TableRows rooms =
      markdown_table(read_text((root / "docs/architecture.md").string()), "| room | may include |");
  REQUIRE(rooms.size() >= 15);
  CHECK(rooms_in_circles(arrows_of(rooms)) == std::vector<std::string>{});
  // The rule sees a circle, also by way of a room within another one.
  const TableRows invented = {{"a", "a, b/c"}, {"b/c", "d"}, {"d", "b"}, {"e", "a"}};
  CHECK(rooms_in_circles(arrows_of(invented)) == std::vector<std::string>{"b/c", "d"});
}

}  // namespace sgdsim::house
