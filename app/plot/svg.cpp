// A drawing as SVG: text stays text, so that it can be searched and edited.
#include <cstdio>

#include "app/plot/drawing.h"
#include "sim/core/decimal.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

std::string svg_number(double value) { return number_text(with_digits(value, 6)); }

std::string svg_of(const DrawnLine& line) {
  std::string path;
  for (const Spot& spot : line.spots)
    path += (path.empty() ? "M" : "L") + svg_number(spot.x) + " " + svg_number(spot.y);
  std::string svg = "<path d=\"" + path + (line.is_closed ? "Z" : "") + "\"";
  svg += " fill=\"" + (line.fill.empty() ? "none" : line.fill) + "\"";
  if (!line.stroke.empty())
    svg += " stroke=\"" + line.stroke + "\" stroke-width=\"" + svg_number(line.width) + "\"";
  std::string dashes;
  for (const double dash : line.dashes) dashes += (dashes.empty() ? "" : " ") + svg_number(dash);
  if (!dashes.empty()) svg += " stroke-dasharray=\"" + dashes + "\"";
  return svg + "/>\n";
}

std::string svg_of(const DrawnText& words) {
  const std::string at = svg_number(words.at.x) + " " + svg_number(words.at.y);
  const std::string x_y =
      "x=\"" + svg_number(words.at.x) + "\" y=\"" + svg_number(words.at.y) + "\"";
  std::string svg = "<text " + x_y + " font-size=\"" + svg_number(words.size) + "\"";
  if (words.anchor == DrawnText::Anchor::middle) svg += " text-anchor=\"middle\"";
  if (words.anchor == DrawnText::Anchor::end) svg += " text-anchor=\"end\"";
  if (words.is_bold) svg += " font-weight=\"bold\"";
  if (words.goes_up) svg += " transform=\"rotate(-90 " + at + ")\"";
  return svg + ">" + svg_text(words.text) + "</text>\n";
}

}  // namespace

std::string svg_text(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '&')
      safe += "&amp;";
    else if (letter == '<')
      safe += "&lt;";
    else if (letter == '>')
      safe += "&gt;";
    else if (letter == '"')
      safe += "&quot;";
    else if (static_cast<unsigned char>(letter) >= 0x20)
      safe += letter;
  }
  return safe;
}

std::string svg_of(const Drawing& drawing) {
  const std::string width = svg_number(drawing.width);
  const std::string height = svg_number(drawing.height);
  std::string svg = std::string(picture_beginning) +
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width +
                    "pt\" height=\"" + height + "pt\" viewBox=\"0 0 " + width + " " + height +
                    "\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', "
                    "sans-serif\" stroke-linejoin=\"round\">\n<title>" +
                    svg_text(drawing.title) + "</title>\n<path d=\"M0 0H" + width + "V" + height +
                    "H0Z\" fill=\"#ffffff\"/>\n";
  for (const auto& shape : drawing.shapes)
    svg += std::visit([](const auto& one) { return svg_of(one); }, shape);
  return svg + "</svg>\n";
}

}  // namespace sgdsim
