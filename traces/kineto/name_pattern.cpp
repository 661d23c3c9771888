// libstdc++ matches by trying out, which takes exponential time for some patterns and deep
// recursion for long texts, unless it is asked to follow all states at once (__polynomial).
#include "traces/kineto/name_pattern.h"

#include "sim/core/error.h"

namespace sgdsim::profiler {
namespace {

constexpr std::size_t longest_pattern = 200;
constexpr std::size_t longest_name = 512;

std::regex compiled(const std::string& pattern, const std::string& where) {
  if (pattern.empty() || pattern.size() > longest_pattern)
    throw InputError(where, "expected a regular expression of 1 to 200 bytes");
  if (pattern.find('{') != std::string::npos)
    throw InputError(where, "counted repetitions (\"{\") are not supported; write them out");
  try {
    return std::regex(
        pattern, std::regex::ECMAScript | std::regex::nosubs | std::regex_constants::__polynomial);
  } catch (const std::regex_error& error) {
    throw InputError(where, "\"" + pattern + "\" is no regular expression: " + error.what());
  }
}

}  // namespace

NamePattern::NamePattern(const std::string& pattern, const std::string& where)
    : regex_(compiled(pattern, where)) {}

bool NamePattern::occurs_in(std::string_view name) const {
  const std::string_view part = name.substr(0, longest_name);
  return std::regex_search(part.begin(), part.end(), regex_);
}

}  // namespace sgdsim::profiler
