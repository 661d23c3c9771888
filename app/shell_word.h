// Commands that people copy into a shell.
#pragma once

#include <string>

namespace sgdsim {

// In quotes, if a shell would not take it as it is.
std::string shell_word(const std::string& text);

}  // namespace sgdsim
