// Writing whole files.
#include "app/write_text.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "sim/core/error.h"

namespace sgdsim {

void write_text(const std::string& text, const std::string& file, std::ostream& out) {
  if (file == "-") {
    out << text;
    return;
  }
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  if (!(stream << text) || !stream.flush())
    throw InputError(file, std::string("cannot be written: ") + std::strerror(errno));
}

}  // namespace sgdsim
