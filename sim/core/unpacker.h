// gzip, unpacked piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sgdsim {

class Unpacker {
 public:
  enum class State : uint8_t { within_member, between_members, damaged };

  // InputError if this program cannot unpack; the file is named there.
  explicit Unpacker(const std::string& file);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  State state() const { return member_; }
  bool is_hungry() const;  // all that was fed is unpacked
  char next_byte() const;  // unless hungry

  // The bytes must stay where they are until all of them are unpacked.
  void feed(std::string& bytes);
  // Some of the bytes, perhaps none, of what was fed. They hold until the next call.
  std::string_view unpack();

 private:
  struct Stream;  // of the library; where there is none, it is declared only
  std::unique_ptr<Stream, void (*)(Stream*)> stream_{nullptr, nullptr};
  std::string unpacked_;
  State member_ = State::within_member;
};

}  // namespace sgdsim
