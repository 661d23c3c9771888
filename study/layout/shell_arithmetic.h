// What stands in $(( )) of a shell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sgdsim {

// Of sums and products of numbers and variables, which are looked up as "$NAME". Nothing where
// something is not known, or is beyond 10^15.
std::optional<int64_t> shell_arithmetic(
    const std::string& text, const std::function<std::string(const std::string&)>& lookup);

// Variables that "A *= 2", "A++" or "--A" change.
std::vector<std::string> shell_changes(const std::string& text);

}  // namespace sgdsim
