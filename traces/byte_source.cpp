// zlib is used here only.
#include "traces/byte_source.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <zlib.h>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t piece_B = 1 << 18;
constexpr int gzip_only = 16 + MAX_WBITS;

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::unique_ptr<std::istream> opened(const std::string& file) {
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem))
    throw InputError(file, "expected a file, found a folder");
  auto stream = std::make_unique<std::ifstream>(file, std::ios::binary);
  if (!*stream) throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
  return stream;
}

}  // namespace

// zlib's state, and the input that it has not taken yet.
class Unpacker {
 public:
  enum class State : uint8_t { within_member, between_members, damaged };

  Unpacker() : unpacked_(piece_B, '\0') {
    const int answer = inflateInit2(&state_, gzip_only);
    assert(answer == Z_OK);
    static_cast<void>(answer);
  }
  ~Unpacker() { inflateEnd(&state_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  State state() const { return member_; }
  bool is_hungry() const { return state_.avail_in == 0; }
  char next_byte() const { return static_cast<char>(*state_.next_in); }

  void feed(std::string& bytes) {
    state_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    state_.avail_in = static_cast<uInt>(bytes.size());
  }

  // Some of the bytes, perhaps none, of what was fed.
  std::string_view unpack() {
    if (member_ == State::between_members) inflateReset(&state_);
    state_.next_out = reinterpret_cast<Bytef*>(unpacked_.data());
    state_.avail_out = static_cast<uInt>(unpacked_.size());
    const int answer = inflate(&state_, Z_NO_FLUSH);
    member_ = answer == Z_STREAM_END                    ? State::between_members
              : answer == Z_OK || answer == Z_BUF_ERROR ? State::within_member
                                                        : State::damaged;
    return std::string_view(unpacked_).substr(0, unpacked_.size() - state_.avail_out);
  }

 private:
  z_stream state_ = {};
  std::string unpacked_;
  State member_ = State::within_member;
};

ByteSource::ByteSource(const std::string& file) : file_(file), stream_(&std::cin) {
  if (file == "-") return;
  opened_ = opened(file);
  stream_ = opened_.get();
}

ByteSource::ByteSource(std::string text, std::string file)
    : file_(std::move(file)), opened_(std::make_unique<std::istringstream>(std::move(text))) {
  stream_ = opened_.get();
}

ByteSource::~ByteSource() = default;

std::string_view ByteSource::next() {
  if (!begun_) {
    begun_ = true;
    const std::string_view first = next_stored();
    if (!is_gzip(first)) return first;
    packed_ = std::make_unique<Unpacker>();
    packed_->feed(stored_);
  }
  return packed_ ? next_unpacked() : next_stored();
}

std::string_view ByteSource::next_stored() {
  stored_.resize(piece_B);
  stream_->read(stored_.data(), static_cast<std::streamsize>(stored_.size()));
  if (stream_->bad())
    throw InputError(file_, std::string("cannot be read: ") + std::strerror(errno));
  stored_.resize(static_cast<std::size_t>(stream_->gcount()));
  return stored_;
}

std::string_view ByteSource::next_unpacked() {
  using State = Unpacker::State;
  while (!damaged_ && packed_->state() != State::damaged) {
    if (packed_->is_hungry()) {
      if (next_stored().empty()) {
        damaged_ = packed_->state() == State::within_member;
        return {};
      }
      packed_->feed(stored_);
    }
    // Zeros after the last member fill up a block of a tape.
    if (packed_->state() == State::between_members && packed_->next_byte() == '\0') return {};
    const std::string_view piece = packed_->unpack();
    if (!piece.empty()) return piece;
  }
  damaged_ = true;
  return {};
}

}  // namespace sgdsim
