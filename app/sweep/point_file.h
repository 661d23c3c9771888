// Files of points: JSON Lines, one sgdsim/point/1 per line, appended in batches.
//
// A process may be killed between any two bytes. What it leaves is whole lines and perhaps the
// beginning of one, which the next reader drops.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "app/sweep/sweep_file.h"

namespace sgdsim {

// One whole line of a file of points.
struct PointRecord {
  int64_t line = 0;    // counted from 1
  int64_t offset = 0;  // in bytes
  std::string text;    // without its end
  std::string sweep;
  int64_t point = 0;
  int64_t of = 0;
  std::string id;
  bool failed = false;
  Json json;
};

// Calls `use` for every whole line and returns where the last of them ends. A line that is no point
// is an InputError that names it.
int64_t read_points(const std::string& file, const std::function<void(PointRecord&)>& use);

// Appends to a file, to standard output for "-", or nowhere for "".
class PointWriter {
 public:
  // An InputError if it cannot be opened, or if another process writes to it. What is in it stays.
  PointWriter(const std::string& file, std::ostream& out);
  ~PointWriter();
  PointWriter(const PointWriter&) = delete;
  PointWriter& operator=(const PointWriter&) = delete;

  // Cuts the file to its first bytes.
  void cut(int64_t length);
  // On return the text is on the disk. Throws std::runtime_error if it could not be written.
  void append(const std::string& text);

 private:
  std::string file_;
  std::ostream* out_;
  int descriptor_ = -1;  // none: standard output
};

}  // namespace sgdsim
