// Pieces of a source, cut to what is asked for.
#include "traces/byte_reader.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {

ByteReader ByteReader::of_file(const std::string& file) {
  return ByteReader(std::make_unique<ByteSource>(file));
}

ByteReader ByteReader::of_text(std::string_view text, const std::string& where) {
  return ByteReader(std::make_unique<ByteSource>(std::string(text), where));
}

bool ByteReader::has_more() {
  if (piece_.empty()) piece_ = source_->next();
  if (piece_.empty() && source_->is_damaged())
    throw InputError(where(), "is packed with gzip, and cut off or broken");
  return !piece_.empty();
}

std::size_t ByteReader::read(char* to, std::size_t most) {
  std::size_t count = 0;
  while (count < most && has_more()) {
    const std::size_t some = std::min(most - count, piece_.size());
    std::copy_n(piece_.begin(), some, to + count);
    piece_.remove_prefix(some);
    count += some;
  }
  offset_ += count;
  return count;
}

std::string ByteReader::rest(std::size_t most) {
  std::string text;
  while (has_more()) {
    text += piece_;
    offset_ += piece_.size();
    piece_ = {};
    if (text.size() > most)
      throw InputError(where(), "holds more than " + std::to_string(most >> 20U) + " MiB");
  }
  return text;
}

}  // namespace sgdsim
