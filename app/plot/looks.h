// Colours, dashes and markers of what a picture compares: one table for sgdsim, its pages and its
// notebooks (app/plot/colours.json).
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

// The colours for white paper, in order.
const std::vector<std::string>& series_colours();

// Where each of these names stands in the table: names that it knows (in any case and with any
// dashes: "MG-WFBP") have a place of their own everywhere; others get the first places that are
// free. No two have the same place.
std::vector<std::size_t> places_of(const std::vector<std::string>& names);

enum class Marker : unsigned char { circle, square, diamond, up, down, cross, plus, star };
struct Look {
  std::string colour;
  std::vector<double> dashes;  // lengths on and off, in widths of a line; none: a whole line
  Marker marker = Marker::circle;
};
Look look_at(std::size_t place);

}  // namespace sgdsim
