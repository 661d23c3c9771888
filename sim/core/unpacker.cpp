// By zlib. sgdsim-calibrate alone is built where little is installed, and browsers unpack by
// themselves: without zlib a packed file is refused.
#include "sim/core/unpacker.h"

#include "sim/core/byte_source.h"

#ifdef SGDSIM_HAS_ZLIB

#include <cassert>
#include <zlib.h>

namespace sgdsim {
namespace {

constexpr int gzip_only = 16 + MAX_WBITS;

}  // namespace

// zlib's state, and the input that it has not taken yet.
struct Unpacker::Stream {
  z_stream state = {};
};

Unpacker::Unpacker(const std::string&)
    : stream_(new Stream,
              [](Stream* stream) {
                inflateEnd(&stream->state);
                delete stream;
              }),
      unpacked_(piece_B, '\0') {
  const int answer = inflateInit2(&stream_->state, gzip_only);
  assert(answer == Z_OK);
  static_cast<void>(answer);
}

Unpacker::~Unpacker() = default;

bool Unpacker::is_hungry() const { return stream_->state.avail_in == 0; }

char Unpacker::next_byte() const { return static_cast<char>(*stream_->state.next_in); }

void Unpacker::feed(std::string& bytes) {
  stream_->state.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream_->state.avail_in = static_cast<uInt>(bytes.size());
}

std::string_view Unpacker::unpack() {
  z_stream& state = stream_->state;
  if (member_ == State::between_members) inflateReset(&state);
  state.next_out = reinterpret_cast<Bytef*>(unpacked_.data());
  state.avail_out = static_cast<uInt>(unpacked_.size());
  const int answer = inflate(&state, Z_NO_FLUSH);
  member_ = answer == Z_STREAM_END                    ? State::between_members
            : answer == Z_OK || answer == Z_BUF_ERROR ? State::within_member
                                                      : State::damaged;
  return std::string_view(unpacked_).substr(0, unpacked_.size() - state.avail_out);
}

}  // namespace sgdsim

#else

#include "sim/core/error.h"

namespace sgdsim {

Unpacker::Unpacker(const std::string& file) {
  throw InputError(file,
                   "is packed with gzip, which this program cannot unpack; unpack it first "
                   "(gunzip)");
}

Unpacker::~Unpacker() = default;
bool Unpacker::is_hungry() const { return true; }
char Unpacker::next_byte() const { return 0; }
void Unpacker::feed(std::string&) {}
std::string_view Unpacker::unpack() { return {}; }

}  // namespace sgdsim

#endif
