// The bytes of a file, one after the other, unpacked if it is packed with gzip; or those of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sgdsim {

class ByteReader {
 public:
  // InputError if it cannot be opened.
  static ByteReader of_file(const std::string& file);
  // The text must outlive it; `where` is what errors name.
  static ByteReader of_text(std::string_view text, const std::string& where);

  // How many were read: fewer than `most` only at the end. InputError if the file cannot be read to
  // its end, or is packed and broken.
  std::size_t read(char* to, std::size_t most);
  // Everything that is left; InputError if it is more than that.
  std::string rest(std::size_t most);

  const std::string& where() const { return where_; }
  uint64_t offset() const { return offset_; }  // of the next byte, unpacked

 private:
  explicit ByteReader(std::string where) : where_(std::move(where)) {}

  std::string where_;
  std::shared_ptr<void> file_;  // of zlib
  std::string_view text_;
  uint64_t offset_ = 0;
};

}  // namespace sgdsim
