// `--option key=value` and the "options" object of files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "sim/core/json.h"

namespace sgdsim {

// The general ones, and those of all algorithms.
const std::vector<OptionKey>& option_keys();

// An object with these options, as key: value.
Json schema_of_options(const std::vector<OptionKey>& keys);

// Sets one option; errors list the known keys, or the accepted values.
void set_option(CollectiveOptions& options, const std::string& key, const std::string& value,
                const std::string& where);

// Whether it says how messages of any algorithm meet: not one of an algorithm's own.
bool is_general_option(const std::string& key);

// Those that `others` were given and `options` were not.
void take_general_options(CollectiveOptions& options, const CollectiveOptions& others);

// Whether the algorithm reads its option `key` in such an operation; true where it is not its own.
bool reads_option(const Algorithm& algorithm, const std::string& key, Operation operation);

// Error if `key` has no effect on the algorithm (or, for hierarchical, on its parts).
void check_option_applies(const Algorithm& algorithm, const CollectiveOptions& options,
                          const std::string& key, const std::string& where);

}  // namespace sgdsim
