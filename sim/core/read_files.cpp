// Files are known by device and number, as links to them are, and by when they last changed:
// numbers of files that are gone are given again.
#include "sim/core/read_files.h"

#include <mutex>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <tuple>

namespace sgdsim {
namespace {

using FileId = std::tuple<dev_t, ino_t, time_t, long>;

struct ReadFiles {
  std::mutex mutex;
  std::set<FileId> ids;
  std::optional<std::string> input;
};
ReadFiles& read_files() {
  static ReadFiles files;
  return files;
}

bool find_id(const std::string& file, FileId& id) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  id = {status.st_dev, status.st_ino, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
  return true;
}

}  // namespace

void note_read(const std::string& file) {
  FileId id;
  if (!find_id(file, id)) return;
  ReadFiles& files = read_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.ids.insert(id);
}

bool was_read(const std::string& file) {
  FileId id;
  if (!find_id(file, id)) return false;
  ReadFiles& files = read_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  return files.ids.contains(id);
}

std::string standard_input(const std::function<std::string()>& read) {
  ReadFiles& files = read_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  if (!files.input) files.input = read();
  return *files.input;
}

void forget_reads() {
  ReadFiles& files = read_files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.ids.clear();
  files.input.reset();
}

}  // namespace sgdsim
