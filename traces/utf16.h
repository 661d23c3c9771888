// Text as programs of Windows write it: `>` of PowerShell, and "Unicode text" of Excel.
#pragma once

#include <string>
#include <string_view>

namespace sgdsim {

// By its mark of the byte order.
bool is_utf16(std::string_view text);

// The text as UTF-8, without a mark of the byte order. InputError for UTF-16 that is broken.
std::string as_utf8(std::string text, const std::string& file);

}  // namespace sgdsim
