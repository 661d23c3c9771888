// How wide text is in Helvetica, which every PDF reader has and whose widths Arial and Liberation
// Sans share.
#pragma once

#include <optional>
#include <string>

namespace sgdsim {

// In points. Letters beyond its table count as wide ones.
double width_of(const std::string& text, double size);

// The same text, or its ends with an ellipsis between them, so that it is no wider than this.
std::string shortened(const std::string& text, double width, double size);

// As bytes of WinAnsiEncoding; nothing if a letter is not among them.
std::optional<std::string> winansi_of(const std::string& utf8);

}  // namespace sgdsim
