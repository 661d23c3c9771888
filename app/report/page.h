// The page of `sgdsim report` without its data: one HTML file, bundled from web/ (web/build.mjs)
// and carried inside the program, so that neither building nor using it needs Node.
#pragma once

#include <span>
#include <string_view>

namespace sgdsim {

struct EmbeddedPage {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedPage> embedded_pages();

}  // namespace sgdsim
