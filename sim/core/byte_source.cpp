// Opening files, and telling packed ones by their first bytes.
#include "sim/core/byte_source.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "sim/core/byte_order_mark.h"
#include "sim/core/error.h"
#include "sim/core/read_files.h"
#include "sim/core/unpacker.h"

namespace sgdsim {
namespace {

std::unique_ptr<std::istream> opened(const std::string& file) {
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem))
    throw InputError(file, "expected a file, found a folder");
  auto stream = std::make_unique<std::ifstream>(file, std::ios::binary);
  if (!*stream) throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
  note_read(file);
  return stream;
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

ByteSource::ByteSource(const std::string& file, std::function<void()> amid)
    : file_(file), amid_(std::move(amid)), stream_(&std::cin) {
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
  if (amid_) amid_();
  const std::string_view piece = next_piece();
  return std::exchange(is_past_mark_, true) ? piece : without_mark(piece);
}

std::string_view ByteSource::next_piece() {
  if (!begun_) {
    begun_ = true;
    const std::string_view first = next_stored();
    if (!is_gzip(first)) return first;
    packed_ = std::make_unique<Unpacker>(file_);
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

std::string beginning_of(const std::string& file, std::size_t enough) {
  ByteSource source(file);
  std::string head;
  while (head.size() < enough) {
    const std::string_view more = source.next();
    if (more.empty()) break;
    head += more;
  }
  return head;
}

}  // namespace sgdsim
