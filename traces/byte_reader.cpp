// zlib reads files that are not packed as they are.
#include "traces/byte_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <zlib.h>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr unsigned buffer_size = 1 << 17;

}  // namespace

ByteReader ByteReader::of_file(const std::string& file) {
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem))
    throw InputError(file, "cannot be read: it is a folder");
  ByteReader reader(file);
  const gzFile opened = gzopen(file.c_str(), "rb");
  if (opened == nullptr)
    throw InputError(file, std::string("cannot be read: ") + std::strerror(errno));
  reader.file_ =
      std::shared_ptr<void>(opened, [](void* one) { gzclose(static_cast<gzFile>(one)); });
  gzbuffer(opened, buffer_size);
  return reader;
}

ByteReader ByteReader::of_text(std::string_view text, const std::string& where) {
  ByteReader reader(where);
  reader.text_ = text;
  return reader;
}

std::size_t ByteReader::read(char* to, std::size_t most) {
  std::size_t count = 0;
  if (!file_) {
    count = std::min(most, text_.size());
    std::copy_n(text_.begin(), count, to);
    text_.remove_prefix(count);
    offset_ += count;
    return count;
  }
  const auto file = static_cast<gzFile>(file_.get());
  while (count < most) {
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(most - count, 1 << 30));
    const int got = gzread(file, to + count, wanted);
    int status = Z_OK;
    gzerror(file, &status);
    if (got < 0 || (got == 0 && status != Z_OK && status != Z_STREAM_END))
      throw InputError(where_, status == Z_ERRNO ? "cannot be read to its end"
                                                 : "is packed with gzip, and cut off or broken");
    if (got == 0) break;
    count += static_cast<std::size_t>(got);
    offset_ += static_cast<std::size_t>(got);
  }
  return count;
}

std::string ByteReader::rest(std::size_t most) {
  std::string text;
  for (std::size_t step = 1 << 16;; step = std::min<std::size_t>(2 * step, 1 << 24)) {
    const std::size_t before = text.size();
    text.resize(before + step);
    const std::size_t got = read(text.data() + before, step);
    text.resize(before + got);
    if (text.size() > most)
      throw InputError(where_, "holds more than " + std::to_string(most >> 20U) + " MiB");
    if (got < step) return text;
  }
}

}  // namespace sgdsim
