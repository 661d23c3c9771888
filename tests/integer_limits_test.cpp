// A schema of what is asked gives every whole number the limits that its reader enforces.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim::integer_limits {
namespace {

void find_unlimited(const Json& schema, const std::string& path, std::vector<std::string>& found) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("type") && schema["type"] == "integer" &&
      !schema.contains("maximum"))
    found.push_back(path);
  for (const auto& [name, below] : schema.items()) find_unlimited(below, path + "/" + name, found);
}

Json schema_named(const std::string& name) {
  return Json::parse(call_sgdsim({"schema", name}).out);
}

}  // namespace

TEST_CASE("schema: whole numbers that are asked have limits") {
  for (const char* name : {"goodput-question",
                           "collective-question",
                           "experiment",
                           "cluster",
                           "jobs",
                           "traffic",
                           "sweep",
                           "failures",
                           "ask-run",
                           "ask-plan",
                           "ask-advise",
                           "ask-learn",
                           "ask-sweep",
                           "ask-tune",
                           "ask-need",
                           "ask-collective",
                           "ask-replay",
                           "ask-traffic",
                           "ask-jobs",
                           "ask-layout",
                           "ask-goodput"}) {
    CAPTURE(name);
    std::vector<std::string> unlimited;
    find_unlimited(schema_named(name), "", unlimited);
    CHECK(unlimited == std::vector<std::string>{});
  }
}

// That of experiments, 2^62.
TEST_CASE("schema: the seed of a goodput question ends where its reader does") {
  constexpr int64_t most = int64_t{1} << 62;
  CHECK(schema_named("goodput-question")["properties"]["seed"]["maximum"] == most);
  const auto exit_code = [](int64_t seed) {
    return call_sgdsim({"goodput", "app/goodput_questions/llama3_405b.json", "--runs", "2", "--set",
                        "tokens=1B", "--seed", std::to_string(seed)})
        .exit_code;
  };
  CHECK(exit_code(most) == 0);
  CHECK(exit_code(most + 1) == 2);
}

}  // namespace sgdsim::integer_limits
