// What docs/architecture.md says of changes names files that are there.
#include <doctest/doctest.h>
#include <filesystem>
#include <string>

#include "sim/core/json.h"

namespace sgdsim::architecture_table {

TEST_CASE("architecture: typical changes name files that exist") {
  const std::string root = SGDSIM_SOURCE_DIR;
  const std::string page = read_text(root + "/docs/architecture.md");
  const std::size_t begin = page.find("## Twelve typical changes");
  REQUIRE(begin != std::string::npos);
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  int rows = 0;
  for (std::size_t line = section.find("\n| "); line != std::string::npos;
       line = section.find("\n| ", line + 1))
    ++rows;
  CHECK(rows == 1 + 12);
  int paths = 0;
  for (std::size_t at = section.find('`'); at != std::string::npos;
       at = section.find('`', at + 1)) {
    const std::size_t end = section.find('`', at + 1);
    REQUIRE(end != std::string::npos);
    std::string path = section.substr(at + 1, end - at - 1);
    at = end;
    if (path.find('/') == std::string::npos) continue;
    // A part that is to be written: its room is there.
    if (const std::size_t name = path.find("NAME"); name != std::string::npos) path.resize(name);
    CAPTURE(path);
    CHECK(std::filesystem::exists(root + "/" + path));
    ++paths;
  }
  CHECK(paths >= 12);
}

}  // namespace sgdsim::architecture_table
