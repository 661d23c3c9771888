// A drawing as shapes on paper, which can be written as SVG or PDF. Lengths are points (1/72 inch),
// the origin is the upper left corner.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace sgdsim {

struct Spot {
  double x = 0;
  double y = 0;
};

struct DrawnLine {
  std::vector<Spot> spots;
  bool is_closed = false;
  std::string stroke = {};  // "#0072b2"; empty: none
  double width = 1;
  std::vector<double> dashes = {};  // in points
  std::string fill = {};            // empty: none
};

struct DrawnText {
  enum class Anchor : unsigned char { start, middle, end };
  Spot at;  // of the base line
  std::string text;
  double size = 8;
  Anchor anchor = Anchor::start;
  bool is_bold = false;
  bool goes_up = false;  // turned by a quarter
};

struct Drawing {
  double width = 0;
  double height = 0;
  std::string title;
  std::vector<std::variant<DrawnLine, DrawnText>> shapes = {};  // later ones lie on top
};

// The file begins as every picture of sgdsim does.
std::string svg_of(const Drawing& drawing);
// Text that may hold anything, for between tags and inside quotes.
std::string svg_text(const std::string& text);

inline constexpr char pdf_beginning[] = "%PDF-1.4\n% made by sgdsim\n";
// InputError, naming --out, if the text has letters that a PDF's own fonts do not have.
std::string pdf_of(const Drawing& drawing);

}  // namespace sgdsim
