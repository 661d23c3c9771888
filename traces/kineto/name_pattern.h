// A regular expression over names of kernels, safe against patterns that would take for ever.
#pragma once

#include <regex>
#include <string>
#include <string_view>

namespace sgdsim::profiler {

class NamePattern {
 public:
  // ECMAScript's grammar without back-references and counted repetitions. InputError names `where`.
  NamePattern(const std::string& pattern, const std::string& where);
  // Whether it occurs in the first 512 bytes of the name.
  bool occurs_in(std::string_view name) const;

 private:
  std::regex regex_;
};

}  // namespace sgdsim::profiler
