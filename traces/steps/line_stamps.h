// When the lines of a log were printed, which is what its times are held against: rates of programs
// may leave out what they do not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sgdsim {

// Of the first "2024-04-21 02:45:40,722" of a line, in seconds; `is_fine`: it has parts of a
// second.
struct LineStamp {
  double s = 0;
  bool is_fine = false;
};
std::optional<LineStamp> stamp_in(std::string_view line);

class LineStamps {
 public:
  // A line with the number of a step, and how long the log says that a step took.
  void add(std::string_view line, int64_t number, double seconds);

  struct Pace {
    double seconds = 0;  // of a step by the stamps, in the middle
    double ratio = 1;    // to what the log says
  };
  // None if fewer than two gaps between lines can be told.
  std::optional<Pace> pace() const;

 private:
  struct Line {
    LineStamp stamp;
    int64_t number = 0;
    double seconds = 0;
  };
  std::vector<Line> lines_;
};

}  // namespace sgdsim
