// Results of a command: to a file or to standard output.
#include "study/write_text.h"

#include "sim/core/output.h"

namespace sgdsim {

void write_text(const std::string& text, const std::string& file, std::ostream& out) {
  if (file == "-")
    out << text;
  else
    write_file(text, file);
}

}  // namespace sgdsim
