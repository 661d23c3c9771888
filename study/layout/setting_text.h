// What readers of settings have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sgdsim {

std::string trimmed(const std::string& text);
std::string unquoted(std::string text);
// Without what stands behind a # that is not quoted.
std::string without_comment(const std::string& line);
bool is_setting_name(const std::string& text);
bool is_word_letter(char c);  // of names: a letter, a digit or "_"

// Of a text that is nothing else.
std::optional<int64_t> number_of_text(const std::string& text);

using Known = std::optional<bool>;  // of what may not follow from a file alone
Known opposite_of(Known known);

}  // namespace sgdsim
