// `--option key=value` and the "options" object of files: one table of keys and values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"

namespace sgdsim {

struct OptionKey {
  std::string_view name;
  std::string_view values;  // for people: "port|link"
  std::string_view meaning;
};
const std::vector<OptionKey>& option_keys();

// Sets one option; errors list the known keys, or the accepted values.
void set_option(CollectiveOptions& options, const std::string& key, const std::string& value,
                const std::string& where);

// Error if `key` has no effect on the algorithm (or, for hierarchical, on its parts).
void check_option_applies(const Algorithm& algorithm, const CollectiveOptions& options,
                          const std::string& key, const std::string& where);

}  // namespace sgdsim
