// Asking the operating system.
#include "app/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sgdsim {

Terminal standard_output() {
  Terminal terminal;
  if (isatty(STDOUT_FILENO) == 0) return terminal;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = std::clamp<int>(size.ws_col, 40, 400);
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  terminal.colour = (no_colour == nullptr || *no_colour == '\0') && kind != nullptr &&
                    std::string_view(kind) != "dumb";
  return terminal;
}

}  // namespace sgdsim
