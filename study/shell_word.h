// Commands that people copy into a shell.
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

// In quotes, if a shell would not take it as it is.
std::string shell_word(const std::string& text);

// `sgdsim WORDS FILE --cluster=CLUSTER --set SETTING ...`; `cluster` may be empty.
std::string shell_command(const std::string& words, const std::string& file,
                          const std::string& cluster, const std::vector<std::string>& settings);

}  // namespace sgdsim
