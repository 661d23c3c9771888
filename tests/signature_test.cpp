// What ships gives the times that are stored in tests/data/signature.txt. A commit that moves a
// line stores the new one with `./run signature --accept` and says which results moved and why.
#include "tests/signature.h"

#include <cstdio>
#include <doctest/doctest.h>
#include <set>

#include "sim/core/json.h"
#include "tests/source_tree.h"

using namespace sgdsim;

TEST_CASE("signature: no result has moved") {
  const std::string stored =
      read_text(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/signature.txt");
  std::set<std::string> expected;
  for (const std::string& line : house::split(stored, '\n'))
    if (!line.empty()) expected.insert(line);
  std::string moved;
  for (const std::string& line : signature_lines())
    if (expected.erase(line) == 0) moved += "\n  now    " + line;
  for (const std::string& line : expected) moved += "\n  before " + line;
  CHECK_MESSAGE(moved.empty(), moved << "\nIf this is meant: ./run signature --accept");
}

TEST_CASE("signature: print" * doctest::skip()) {
  for (const std::string& line : signature_lines()) std::puts(line.c_str());
}
