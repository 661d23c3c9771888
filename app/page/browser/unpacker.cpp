// A browser unpacks gzip itself, before a file comes here; what is still packed cannot be read.
#include "traces/unpacker.h"

#include "sim/core/error.h"

namespace sgdsim {

Unpacker::Unpacker(const std::string& file) {
  throw InputError(file, "is packed, and this browser did not unpack it; unpack it first (gunzip)");
}

Unpacker::~Unpacker() = default;
bool Unpacker::is_hungry() const { return true; }
char Unpacker::next_byte() const { return 0; }
void Unpacker::feed(std::string&) {}
std::string_view Unpacker::unpack() { return {}; }

}  // namespace sgdsim
