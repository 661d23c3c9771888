// Reading points line by line; appending with fsync.
#include "app/sweep/point_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

void read_record(PointRecord& record, const std::string& where) {
  record.json = Json::parse(record.text, nullptr, false);
  if (record.json.is_discarded() || !record.json.is_object())
    throw InputError(where, "expected the line of a point, got " + record.text.substr(0, 60));
  const Value value(record.json, where, "");
  auto field = [&](const char* name) {
    if (!record.json.contains(name))
      value.fail("the field \"" + std::string(name) + "\" is missing");
    return value.child(name);
  };
  if (const Value schema = field("schema"); schema.text() != "sgdsim/point/1")
    schema.fail("expected \"sgdsim/point/1\", got \"" + schema.text() + "\"");
  record.sweep = field("sweep").text();
  record.of = field("of").whole(1, std::numeric_limits<int64_t>::max());
  record.point = field("point").whole(0, record.of - 1);
  record.id = field("id").text();
  record.failed = record.json.contains("error");
}

std::string problem() { return std::strerror(errno); }

}  // namespace

int64_t read_points(const std::string& file, const std::function<void(PointRecord&)>& use) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(file, "cannot be read: " + problem());
  PointRecord record;
  while (std::getline(stream, record.text)) {
    if (stream.eof()) break;  // no end of line: torn
    ++record.line;
    read_record(record, file + ":" + std::to_string(record.line));
    const auto length = static_cast<int64_t>(record.text.size()) + 1;
    use(record);
    record.offset += length;
  }
  if (stream.bad()) throw InputError(file, "cannot be read: " + problem());
  return record.offset;
}

PointWriter::PointWriter(const std::string& file, std::ostream& out) : file_(file), out_(&out) {
  if (file == "-" || file.empty()) return;
  descriptor_ = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw InputError(file, "cannot be written: " + problem());
  // Where a file system has no locks, two writers are the user's own affair.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(descriptor_);
  throw InputError(file, "another process writes to it");
}

PointWriter::~PointWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void PointWriter::cut(int64_t length) {
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (ftruncate(descriptor_, length) != 0)
    throw std::runtime_error(file_ + ": cannot be written: " + problem());
}

void PointWriter::append(const std::string& text) {
  if (file_.empty()) return;
  if (descriptor_ < 0) {
    if (!(*out_ << text).flush()) throw std::runtime_error("the output could not be written");
    return;
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::runtime_error(file_ + ": cannot be written: " + problem());
    done += static_cast<std::size_t>(written);
  }
  // Pipes and some file systems have nothing to synchronize.
  if (fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
    throw std::runtime_error(file_ + ": cannot be written: " + problem());
}

}  // namespace sgdsim
