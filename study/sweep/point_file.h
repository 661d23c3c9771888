// Files of points: JSON Lines, one sgdsim/point/1 per line, appended in batches.
//
// A process may be killed between any two bytes. What it leaves is whole lines and perhaps the
// beginning of one, which the next reader drops. Where a whole file is replaced, it stays until the
// new one is whole too.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "sim/core/output.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {

// One whole line of a file of points, or one row of a database, whose text is what its line would
// be.
struct PointRecord {
  int64_t line = 0;        // counted from 1
  int64_t offset = 0;      // in bytes
  std::string text;        // without its end
  bool is_edited = false;  // a mark of UTF-8 stood before it, or a carriage return behind it
  std::string sweep;
  int64_t point = 0;
  int64_t of = 0;
  std::string id;
  bool failed = false;
  Json json;
};

// What the whole lines of a file leave.
struct PointsEnd {
  int64_t offset = 0;  // where the last of them ends
  std::string torn;    // what follows: the beginning of a line
};

// Calls `use` for every whole line, or row of a database. A line that is no point is an InputError
// that names it, and so is a file that is none: a device or a pipe.
PointsEnd read_points(const std::string& file, const std::function<void(PointRecord&)>& use);

// An InputError about --out unless the file has points of this sweep and nothing else. Returns how
// many it has.
int64_t check_is_of(const std::string& sweep, const std::string& file);

// Whether a line of this sweep can begin so.
bool can_begin(const std::string& torn, const std::string& sweep);

// Writes to a file, to standard output for "-", or nowhere for "".
class PointWriter {
 public:
  // An InputError if it cannot be opened, or if another process writes to it.
  PointWriter(const std::string& file, std::ostream& out, OutputFile::Mode mode);

  // Cuts a file that is appended to.
  void cut(int64_t length);
  // On return the text is on the disk. Throws std::runtime_error if it could not be written.
  void append(const std::string& text);
  // A file that is replaced is there from here on.
  void finish();

 private:
  std::ostream* out_;  // none: a file, or nowhere
  std::optional<OutputFile> file_;
};

}  // namespace sgdsim
