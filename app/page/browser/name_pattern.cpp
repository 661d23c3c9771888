// The page takes no regular expressions; the library for browsers has none that are safe.
#include "traces/kineto/name_pattern.h"

#include "sim/core/error.h"

namespace sgdsim::profiler {

NamePattern::NamePattern(const std::string&, const std::string& where) {
  throw InputError(where, "regular expressions are for the command line");
}

bool NamePattern::occurs_in(std::string_view) const { return false; }

}  // namespace sgdsim::profiler
