// Calls that are refused: bad input, a sentence that says why, and nothing answered.
#pragma once

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/run_program.h"

namespace sgdsim {

struct RefusedWords {
  std::vector<std::string> words;  // behind those that all have
  std::string says;
};

inline void check_refused(const std::vector<std::string>& first,
                          const std::vector<RefusedWords>& rows) {
  for (const RefusedWords& row : rows) {
    std::vector<std::string> words = first;
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = call_sgdsim(words);
    INFO(row.says);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.says) != std::string::npos);
    CHECK(ran.out.empty());
  }
}

}  // namespace sgdsim
