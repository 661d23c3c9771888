// Cells, colours and words of the picture.
#include "app/sweep/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/sweep/best.h"
#include "app/table.h"
#include "app/write_text.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

// Okabe and Ito's colours, which people with colour blindness can tell apart.
constexpr std::array<const char*, 8> colours = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                                "#cc79a7", "#56b4e9", "#f0e442", "#777777"};
constexpr int cell_width = 118;
constexpr int cell_height = 46;
constexpr int left = 150;
constexpr int top = 86;
constexpr double full_colour_lead = 0.05;  // 5 % ahead of the next

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '&')
      safe += "&amp;";
    else if (letter == '<')
      safe += "&lt;";
    else if (letter == '>')
      safe += "&gt;";
    else if (static_cast<unsigned char>(letter) >= 0x20)
      safe += letter;
  }
  return safe;
}

std::string text_at(int x, int y, const std::string& text, const std::string& style) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" " + style + ">" +
         escaped(text) + "</text>\n";
}

std::string box(int x, int y, int width, int height, const std::string& style) {
  return "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
         std::to_string(width) + "\" height=\"" + std::to_string(height) + "\" " + style + "/>\n";
}

// The place of a value among those seen so far.
int place_of(std::vector<std::string>& values, const std::string& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found != values.end()) return static_cast<int>(found - values.begin());
  values.push_back(value);
  return static_cast<int>(values.size()) - 1;
}

std::string value_text(const std::string& objective, double value) {
  return objective.ends_with("_us") ? short_duration(value, 3) : rounded(value, 3);
}

struct Picture {
  std::string cells;
  std::vector<std::string> rows, columns, winners;
  bool has_ties = false;

  void add(const Json& group, const std::string& objective) {
    std::vector<std::string> place;
    for (const auto& [axis, value] : group["axes"].items()) place.push_back(value_label(value));
    const int row = place.size() == 2 ? place_of(rows, place.front()) : 0;
    const int column = place_of(columns, place.back());
    const int x = left + column * cell_width;
    const int y = top + row * cell_height;
    if (!group.contains("best")) {
      cells += box(x, y, cell_width - 2, cell_height - 2, R"(fill="#eeeeee")") +
               text_at(x + cell_width / 2, y + cell_height / 2 + 4, "no result",
                       R"(text-anchor="middle" fill="#777777")");
      return;
    }
    std::string winner;
    for (const auto& [axis, value] : group["best"].items())
      winner += (winner.empty() ? "" : ", ") + value_label(value);
    const int64_t ties = group.value("ties", int64_t{0});
    if (ties > 0) has_ties = true;
    const double value = group["value"];
    const double lead = ties > 0 ? 0
                        : group.contains("next") && value > 0
                            ? group["next"].get<double>() / value - 1
                            : full_colour_lead;
    const double strength = 0.25 + 0.55 * std::min(1., std::max(0., lead) / full_colour_lead);
    const auto colour = static_cast<std::size_t>(place_of(winners, winner)) % colours.size();
    cells += box(x, y, cell_width - 2, cell_height - 2,
                 "fill=\"" + std::string(colours[colour]) + "\" fill-opacity=\"" +
                     rounded(strength, 3) + "\"") +
             text_at(x + cell_width / 2 - 1, y + 19,
                     ties > 0 ? winner + " +" + std::to_string(ties) : winner,
                     R"(text-anchor="middle" font-weight="bold")") +
             text_at(x + cell_width / 2 - 1, y + 36, value_text(objective, value),
                     R"(text-anchor="middle")");
  }
};

}  // namespace

void check_can_be_drawn(std::size_t other_axes) {
  if (other_axes < 1 || other_axes > 2)
    throw InputError("--picture",
                     "draws the best values over one or two axes, and there are " +
                         std::to_string(other_axes) +
                         " besides those of --over; add axes to --over, or give the others one "
                         "value in the base instead (--set)");
}

std::string winners_svg(const Json& best, const std::string& title) {
  const Json& groups = best["groups"];
  check_can_be_drawn(groups.front()["axes"].size());
  const std::string objective = best["objective"];
  Picture picture;
  for (const Json& group : groups) picture.add(group, objective);
  if (picture.rows.empty()) picture.rows.emplace_back("");
  const int width = left + cell_width * static_cast<int>(picture.columns.size()) + 20;
  const int height = top + cell_height * static_cast<int>(picture.rows.size()) + 40;
  std::string svg = std::string(picture_beginning) +
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
                    "\" height=\"" + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"13\">\n" +
                    box(0, 0, width, height, R"(fill="white")") +
                    text_at(12, 26, title, R"(font-size="17" font-weight="bold")");
  std::vector<std::string> names;
  for (const auto& [axis, value] : groups.front()["axes"].items()) names.push_back(axis);
  svg += text_at(left, 54, names.back(), R"(fill="#555555")");
  if (names.size() == 2) svg += text_at(12, top - 10, names.front(), R"(fill="#555555")");
  for (std::size_t c = 0; c < picture.columns.size(); ++c)
    svg += text_at(left + static_cast<int>(c) * cell_width + cell_width / 2, top - 10,
                   picture.columns[c], R"(text-anchor="middle")");
  for (std::size_t r = 0; r < picture.rows.size(); ++r)
    svg += text_at(left - 12, top + static_cast<int>(r) * cell_height + 28, picture.rows[r],
                   R"(text-anchor="end")");
  svg += picture.cells;
  svg += text_at(12, height - 14,
                 objective + ": the least of each cell; full colour where the next is 5 % behind" +
                     (picture.has_ties ? "; +n: n others are as good" : ""),
                 R"(fill="#555555")");
  return svg + "</svg>\n";
}

}  // namespace sgdsim
