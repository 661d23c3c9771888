// What ships gives the times that are stored in tests/data/signature.txt. A commit that moves a
// line stores the new one with `./run signature --accept` and says which results moved and why.
// Every fourth line is a test, so that several processors share them.
#include "tests/signature.h"

#include <cstdio>
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/source_tree.h"

using namespace sgdsim;

namespace {

void check_every_fourth(std::size_t first) {
  std::vector<std::string> stored;
  const std::string text = read_text(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/signature.txt");
  for (const std::string& line : house::split(text, '\n'))
    if (!line.empty()) stored.push_back(line);
  const auto questions = signature_questions();
  CHECK(stored.size() == questions.size());
  std::string moved;
  for (std::size_t i = first; i < questions.size(); i += 4) {
    const std::string before = i < stored.size() ? stored[i] : "";
    const std::string now = questions[i]();
    if (now != before) moved += "\n  before " + before + "\n  now    " + now;
  }
  CHECK_MESSAGE(moved.empty(), moved << "\nIf this is meant: ./run signature --accept");
}

}  // namespace

TEST_CASE("signature: no result has moved, first lines of four") { check_every_fourth(0); }
TEST_CASE("signature: no result has moved, second lines of four") { check_every_fourth(1); }
TEST_CASE("signature: no result has moved, third lines of four") { check_every_fourth(2); }
TEST_CASE("signature: no result has moved, fourth lines of four") { check_every_fourth(3); }

// What is refused moves no hash: a line of refusals alone shows nothing. One experiment has links
// whose efficiency holds for messages one by one, and is not simulated on wires.
TEST_CASE("signature: every line has answers") {
  const std::string text = read_text(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/signature.txt");
  for (const std::string& line : house::split(text, '\n')) {
    const std::vector<std::string> words = house::split(line, ' ');
    if (words.size() < 4 || line.starts_with("run alexnet_gtopk_1gbe ")) continue;
    CAPTURE(line);
    CHECK(std::stoi(words[words.size() - 2]) < std::stoi(words[words.size() - 3]));
  }
}

TEST_CASE("signature: print" * doctest::skip()) {
  for (const auto& question : signature_questions()) std::puts(question().c_str());
}
