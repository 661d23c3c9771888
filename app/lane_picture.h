// What lanes of time are filled with, as lines of text: a column is a stretch of time and shows the
// letter of what fills most of it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/terminal.h"
#include "sim/core/units.h"

namespace sgdsim {

struct LaneKind {
  char letter = ' ';
  char small = ' ';         // where it fills less than half of the column
  const char* colour = "";  // of 16, so that the reader's own theme decides how they look
  bool numbered = false;    // the last digit of its number is the letter; ~ where there are several
};

class LanePicture {
 public:
  using Place = std::pair<int, int>;  // lanes stand in this order

  LanePicture(std::vector<LaneKind> kinds, Time begin, Time end, const Terminal& terminal);

  static constexpr std::size_t margin = 24;  // for the names of lanes
  double column_ps() const { return column_ps_; }
  void add(Place lane, std::size_t kind, int number, Time start, Time end);
  // A line for each lane, and the times of the first and the last column.
  template <class NameOf>
  std::string text(NameOf name_of) const {
    std::string all;
    for (const auto& [place, lane] : lanes_) {
      std::string name = name_of(place);
      name.resize(std::max(margin, name.size()), ' ');
      all += name + text_of(lane) + '\n';
    }
    return all + axis();
  }

 private:
  struct Column {
    std::vector<double> filled;  // by kind, in parts of the column
    std::map<int, double> numbered_parts;
  };
  using Lane = std::vector<Column>;
  std::string text_of(const Lane& lane) const;
  char letter_of(const Column& column, const LaneKind& kind, bool half) const;
  std::string axis() const;

  std::vector<LaneKind> kinds_;
  Time begin_;
  Time end_;
  std::size_t columns_ = 0;
  bool colour_ = false;
  double column_ps_ = 1;
  std::map<Place, Lane> lanes_;
};

}  // namespace sgdsim
