// The bytes of a file in pieces, plain or unpacked from gzip, so that a file of any size is read in
// the same memory.
//
// gzip is known by its first two bytes, whatever the file is called. A packed file that ends too
// early or is damaged gives the bytes up to there and says so afterwards.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace sgdsim {

class Unpacker;

inline constexpr std::size_t piece_B = 1 << 18;  // read at a time

bool is_gzip(std::string_view bytes);  // by its first two

class ByteSource {
 public:
  // "-" is standard input. InputError if it cannot be read. `amid` is called before each piece;
  // what it throws ends the reading.
  explicit ByteSource(const std::string& file, std::function<void()> amid = {});
  ByteSource(std::string text, std::string file);  // of a file that was read before
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  std::string_view next();  // empty at the end; without the mark of UTF-8 at the beginning
  const std::string& file() const { return file_; }
  bool is_damaged() const { return damaged_; }  // known once next() was empty

 private:
  std::string_view next_piece();
  std::string_view next_stored();
  std::string_view next_unpacked();

  std::string file_;
  std::function<void()> amid_;
  std::unique_ptr<std::istream> opened_;
  std::istream* stream_;
  std::string stored_;                // what was read last
  std::unique_ptr<Unpacker> packed_;  // if the file is gzip
  bool begun_ = false;
  bool is_past_mark_ = false;
  bool damaged_ = false;
};

// The first bytes of a file, unpacked; so many, or a piece more.
std::string beginning_of(const std::string& file, std::size_t enough);

}  // namespace sgdsim
