// What lines of settings have in common, whoever reads them.
#pragma once

#include <string>

namespace sgdsim {

std::string trimmed(const std::string& text);
std::string unquoted(std::string text);
// Without what stands behind a # that is not quoted.
std::string without_comment(const std::string& line);
bool is_setting_name(const std::string& text);

}  // namespace sgdsim
