// What the program answers as JSON, where it has to answer.
#pragma once

#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {

inline Json json_of_run(const std::vector<std::string>& words) {
  const Ran ran = run_sgdsim(words);
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  return Json::parse(ran.out);
}

}  // namespace sgdsim
