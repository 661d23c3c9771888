// A drawing as PDF 1.4: one page, two of the fonts that every reader has, nothing compressed.
//
// The file is a list of objects; the table at its end says at which byte each begins.
#include <cstdio>

#include "app/plot/drawing.h"
#include "app/plot/helvetica.h"
#include "sim/core/decimal.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr int decimals = 4;

std::string pdf_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

std::string colour(const std::string& hex) {
  std::string text;
  for (const std::size_t at : {1U, 3U, 5U})
    text += pdf_number(std::stoi(hex.substr(at, 2), nullptr, 16) / 255.0) + " ";
  return text;
}

// PDF counts upwards from the lower edge.
std::string pdf_of(const DrawnLine& line, double height) {
  if (line.stroke.empty() && line.fill.empty()) return "";
  std::string pdf = "q ";
  if (!line.stroke.empty()) pdf += colour(line.stroke) + "RG " + pdf_number(line.width) + " w ";
  if (!line.fill.empty()) pdf += colour(line.fill) + "rg ";
  std::string dashes;
  for (const double dash : line.dashes) dashes += pdf_number(dash) + " ";
  if (!dashes.empty()) pdf += "[" + dashes + "] 0 d ";
  bool is_first = true;
  for (const Spot& spot : line.spots) {
    pdf += pdf_number(spot.x) + " " + pdf_number(height - spot.y) + (is_first ? " m " : " l ");
    is_first = false;
  }
  if (line.is_closed) pdf += "h ";
  pdf += line.fill.empty() ? "S" : line.stroke.empty() ? "f" : "B";
  return pdf + " Q\n";
}

std::string letters_of(const std::string& text) {
  const auto bytes = winansi_of(text);
  if (!bytes)
    throw InputError("--out",
                     "\"" + text.substr(0, 60) +
                         "\" has letters that the fonts of a PDF reader lack; write .svg, "
                         "which has all, or change the text: --title, --x-label and "
                         "--y-label say others, and curves and panels are named by POINTS");
  std::string safe;
  for (const char letter : *bytes) {
    if (letter == '(' || letter == ')' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return safe;
}

std::string pdf_of(const DrawnText& words, double height) {
  const double width = width_of(words.text, words.size);
  const double back = words.anchor == DrawnText::Anchor::middle ? width / 2
                      : words.anchor == DrawnText::Anchor::end  ? width
                                                                : 0;
  const double x = words.at.x - (words.goes_up ? 0 : back);
  const double y = height - words.at.y - (words.goes_up ? back : 0);
  return "BT " + std::string(words.is_bold ? "/B " : "/R ") + pdf_number(words.size) + " Tf " +
         (words.goes_up ? "0 1 -1 0 " : "1 0 0 1 ") + pdf_number(x) + " " + pdf_number(y) +
         " Tm (" + letters_of(words.text) + ") Tj ET\n";
}

std::string font(const char* name) {
  return std::string("<< /Type /Font /Subtype /Type1 /BaseFont /") + name +
         " /Encoding /WinAnsiEncoding >>";
}

// Objects are numbered from 1; the first is the root.
std::string file_of(const std::vector<std::string>& objects) {
  std::string file = pdf_beginning;
  std::string table = "0000000000 65535 f \n";
  for (std::size_t i = 0; i < objects.size(); ++i) {
    char entry[32];
    std::snprintf(entry, sizeof entry, "%010zu 00000 n \n", file.size());
    table += entry;
    file += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
  }
  const std::string count = std::to_string(objects.size() + 1);
  const std::string start = std::to_string(file.size());
  return file + "xref\n0 " + count + "\n" + table + "trailer\n<< /Size " + count +
         " /Root 1 0 R >>\nstartxref\n" + start + "\n%%EOF\n";
}

}  // namespace

std::string pdf_of(const Drawing& drawing) {
  std::string content;
  for (const auto& shape : drawing.shapes)
    content += std::visit([&](const auto& one) { return pdf_of(one, drawing.height); }, shape);
  return file_of(
      {"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
       "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 " + pdf_number(drawing.width) + " " +
           pdf_number(drawing.height) +
           "] /Resources << /Font << /R 4 0 R /B 5 0 R >> >> /Contents 6 0 R >>",
       font("Helvetica"), font("Helvetica-Bold"),
       "<< /Length " + std::to_string(content.size()) + " >>\nstream\n" + content + "endstream"});
}

}  // namespace sgdsim
