// Files that are written: the one place that opens them.
//
// A file that was read is never replaced. A file that exists is never truncated. New text goes to a
// temporary file in the same folder, which takes the old one's place once it is complete and on the
// disk: after a kill or on a full disk the old file is still there. Devices and pipes are written
// directly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim {

class OutputFile {
 public:
  enum class Mode { replace, append };
  // InputError if it cannot be opened, or if another process appends to it.
  OutputFile(std::string file, Mode mode);
  ~OutputFile();  // without finish(), an old file stays as it was
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // These throw std::runtime_error if the text cannot be written.
  void write(std::string_view text);
  void synchronize();        // what was written is on the disk
  void cut(int64_t length);  // append: to its first bytes
  void finish();             // replace: takes the place of the old file

 private:
  [[noreturn]] void fail() const;
  void refuse_input() const;

  std::string file_;
  std::string temporary_;  // replace
  int descriptor_ = -1;
};

// What a file must be so that it is replaced without --force.
struct OutputKind {
  std::string schema;     // a JSON object of this schema, if not empty
  std::string beginning;  // or a text that begins so, if not empty
};

// Looks at the outputs of one command, before it does its work.
class OutputGuard {
 public:
  OutputGuard(std::vector<std::string> inputs, bool force)
      : taken_(std::move(inputs)), force_(force) {}

  // InputError if this is an input of the command or another output. "" and "-" are no files.
  void claim(const std::string& option, const std::string& file);
  // The same, and an InputError if the file holds something of another kind, unless forced.
  void claim(const std::string& option, const std::string& file, const OutputKind& kind);
  bool is_forced() const { return force_; }

 private:
  std::vector<std::string> taken_;
  std::size_t outputs_ = 0;  // the last of them
  bool force_;
};

// Whether there is a regular file with something in it.
bool holds_something(const std::string& file);

// A whole file.
void write_file(const std::string& text, const std::string& file);

}  // namespace sgdsim
