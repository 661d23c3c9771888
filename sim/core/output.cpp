// Opening, replacing and appending, with the errors of the operating system as sentences.
#include "sim/core/output.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/read_files.h"

namespace sgdsim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file) {
  throw InputError(file, std::string("cannot be written: ") + std::strerror(errno));
}

// The file that a name leads to, so that a symbolic link stays one.
std::string target_of(const std::string& file) {
  std::error_code problem;
  const fs::path path = fs::weakly_canonical(fs::absolute(file, problem), problem);
  return problem ? file : path.string();
}

// A new file beside this one, with the permissions of the old one, or those of any new file.
int open_beside(const std::string& target, std::string& name) {
  struct stat old {};
  const bool exists = stat(target.c_str(), &old) == 0;
  if (exists && access(target.c_str(), W_OK) != 0) return -1;
  name = target + ".XXXXXX.tmp";
  const int descriptor = mkostemps(name.data(), 4, O_CLOEXEC);
  if (descriptor < 0) return -1;
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, exists ? old.st_mode & 07777U : 0666U & ~mask);
  return descriptor;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code problem;
  if (fs::equivalent(a, b, problem) && !problem) return true;
  return target_of(a) == target_of(b);
}

bool is_of(const std::string& file, const OutputKind& kind) {
  std::ifstream stream(file, std::ios::binary);
  if (!kind.beginning.empty()) {
    std::string begin(kind.beginning.size(), '\0');
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    return stream && begin == kind.beginning;
  }
  const Json json = Json::parse(stream, nullptr, false);
  return json.is_object() && json.contains("schema") && json["schema"] == kind.schema;
}

}  // namespace

void OutputFile::refuse_input() const {
  if (was_read(file_))
    throw InputError(file_, "is an input of this command; choose another name for what it writes");
}

OutputFile::OutputFile(std::string file, Mode mode) : file_(std::move(file)) {
  if (mode == Mode::replace) refuse_input();
  std::error_code problem;
  const fs::file_status status = fs::status(file_, problem);
  if (fs::is_directory(status)) throw InputError(file_, "cannot be written: it is a folder");
  const bool beside = mode == Mode::replace && (fs::is_regular_file(status) || !fs::exists(status));
  if (beside) {
    descriptor_ = open_beside(target_of(file_), temporary_);
  } else {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    descriptor_ = open(file_.c_str(), flags, 0666);
  }
  if (descriptor_ < 0) refuse(file_);
  // Devices and pipes take several writers. Where a file system has no locks, two are the user's
  // own affair.
  if (!fs::is_regular_file(fs::status(file_, problem)) || beside ||
      flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  close(descriptor_);
  throw InputError(file_, "another process writes to it");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::fail() const {
  throw std::runtime_error(file_ + ": cannot be written: " + std::strerror(errno));
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::synchronize() {
  // Pipes and some file systems have nothing to synchronize.
  if (fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail();
}

void OutputFile::cut(int64_t length) {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (ftruncate(descriptor_, length) != 0) fail();
}

void OutputFile::finish() {
  synchronize();
  if (temporary_.empty()) return;
  refuse_input();  // read meanwhile
  if (rename(temporary_.c_str(), target_of(file_).c_str()) != 0) fail();
  temporary_.clear();
}

void OutputGuard::claim(const std::string& option, const std::string& file) {
  if (file.empty() || file == "-") return;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const bool is_output = i + outputs_ >= taken_.size();
    const std::string& taken = taken_[i];
    if (!is_same_file(taken == "-" ? "/dev/stdin" : taken, file)) continue;
    std::error_code problem;
    const fs::file_status status = fs::status(file, problem);
    if (fs::exists(status) && !fs::is_regular_file(status)) continue;  // /dev/null, a terminal
    throw InputError(option, file + (is_output ? " is another output of this command"
                                               : " is an input of this command"));
  }
  if (was_read(file)) throw InputError(option, file + " is an input of this command");
  taken_.push_back(file);
  ++outputs_;
}

void OutputGuard::claim(const std::string& option, const std::string& file,
                        const OutputKind& kind) {
  claim(option, file);
  if (file.empty() || file == "-" || force_ || !holds_something(file) || is_of(file, kind)) return;
  throw InputError(option, file + " exists and holds something else than this command writes" +
                               (kind.schema.empty() ? "" : " (" + kind.schema + ")") +
                               "; choose another name, or replace it with --force");
}

bool holds_something(const std::string& file) {
  std::error_code problem;
  if (!fs::is_regular_file(file, problem)) return false;
  return fs::file_size(file, problem) > 0 && !problem;
}

void write_file(const std::string& text, const std::string& file) {
  OutputFile output(file, OutputFile::Mode::replace);
  output.write(text);
  output.finish();
}

}  // namespace sgdsim
