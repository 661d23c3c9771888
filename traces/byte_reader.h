// The bytes of a file, or of a text, as many at a time as are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/core/byte_source.h"

namespace sgdsim {

class ByteReader {
 public:
  // InputError if it cannot be opened.
  static ByteReader of_file(const std::string& file);
  // `where` is what errors name.
  static ByteReader of_text(std::string_view text, const std::string& where);

  // How many were read: fewer than `most` only at the end. InputError if the file cannot be read to
  // its end, or is packed and broken.
  std::size_t read(char* to, std::size_t most);
  // Everything that is left; InputError if it is more than that.
  std::string rest(std::size_t most);

  const std::string& where() const { return source_->file(); }
  uint64_t offset() const { return offset_; }  // of the next byte, unpacked

 private:
  explicit ByteReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  bool has_more();

  std::unique_ptr<ByteSource> source_;
  std::string_view piece_;  // what is left of it
  uint64_t offset_ = 0;
};

}  // namespace sgdsim
