// Cells, colours and words of the picture.
#include "app/sweep/picture.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/plot/drawing.h"
#include "app/plot/helvetica.h"
#include "app/plot/looks.h"
#include "app/plot/scale.h"
#include "sim/core/error.h"
#include "study/advise/apart.h"
#include "study/sweep/best.h"
#include "study/sweep/gains.h"
#include "study/table.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

constexpr int cell_width = 118;
constexpr int cell_height = 46;
constexpr int table_left = 150;
constexpr int top = 86;
constexpr double full_colour_lead = 0.05;  // 5 % ahead of the next

std::string text_at(int x, int y, const std::string& text, const std::string& style) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" " + style + ">" +
         svg_text(text) + "</text>\n";
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

// "" where only equal results are as good.
std::string winner_of(const Json& group) {
  std::string winner;
  for (const auto& [axis, value] : group["best"].items())
    winner += (winner.empty() ? "" : ", ") + value_label(value);
  return winner;
}

// Whether white words are read better on it, as it is on white paper.
bool is_dark(const std::string& colour, double strength) {
  double light = 0;
  for (const auto& [at, weight] : {std::pair(1U, 0.30), std::pair(3U, 0.59), std::pair(5U, 0.11)})
    light += weight * (1 - strength * (1 - std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0));
  return light < 0.5;
}

struct Picture {
  std::string cells;
  std::vector<std::string> rows, columns;
  std::vector<std::string> winners = {};  // all that there are, before cells are added
  bool has_ties = false;

  void add(const Json& group, const std::string& objective) {
    std::vector<std::string> place;
    for (const auto& [axis, value] : group["axes"].items()) place.push_back(value_label(value));
    const int row = place.size() == 2 ? place_of(rows, place.front()) : 0;
    const int column = place_of(columns, place.back());
    const int x = table_left + column * cell_width;
    const int y = top + row * cell_height;
    if (!group.contains("best")) {
      cells += box(x, y, cell_width - 2, cell_height - 2, R"(fill="#eeeeee")") +
               text_at(x + cell_width / 2, y + cell_height / 2 + 4, "no result",
                       R"(text-anchor="middle" fill="#777777")");
      return;
    }
    const std::string winner = winner_of(group);
    const int64_t ties = group.value("ties", int64_t{0});
    if (ties > 0) has_ties = true;
    const double value = group["value"];
    const double lead = ties > 0 ? 0
                        : group.contains("next") && value > 0
                            ? std::abs(group["next"].get<double>() / value - 1)
                            : full_colour_lead;
    const double strength = 0.25 + 0.55 * std::min(1., std::max(0., lead) / full_colour_lead);
    const std::string colour = colour_of(winner);
    const std::string words = "text-anchor=\"middle\" fill=\"" +
                              std::string(is_dark(colour, strength) ? "#ffffff" : "#000000");
    const std::string tied = ties > 0 ? " +" + std::to_string(ties) : "";
    const double room = cell_width - 6 - 1.1 * width_of(tied, 13);
    cells += box(x, y, cell_width - 2, cell_height - 2,
                 "fill=\"" + colour + "\" fill-opacity=\"" + rounded(strength, 3) + "\"") +
             text_at(x + cell_width / 2 - 1, y + 19, shortened(winner, room / 1.1, 13) + tied,
                     words + "\" font-weight=\"bold\"") +
             text_at(x + cell_width / 2 - 1, y + 36, value_text(objective, value), words + "\"");
  }

  std::string colour_of(const std::string& winner) {
    const auto at = static_cast<std::size_t>(place_of(winners, winner));
    return look_at(places_of(winners)[at]).colour;
  }
};

std::string below_cells(const std::string& objective, bool has_ties, const Json& best) {
  return words_of_column(objective) + ": the " + best_word(objective) +
         " of each cell; full colour where the next is 5 % behind" +
         (has_ties ? "; +n: n others are as good" +
                         as_good_within(best.value("error_percent", 0.0) / 100)
                   : "");
}

// What a line needs in whole points; bold letters are a tenth wider.
int room_of(const std::string& text, int size) {
  return static_cast<int>(1.1 * width_of(text, size)) + 24;
}

}  // namespace

void check_picture_name(const std::string& file) {
  const std::string end = std::filesystem::path(file).extension().string();
  if (!end.empty() && end != ".svg")
    throw InputError("--picture", "expected a name that ends in .svg, got \"" + file.substr(0, 60) +
                                      "\"; - is standard output");
}

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
  for (const Json& group : groups)
    if (group.contains("best")) place_of(picture.winners, winner_of(group));
  for (const Json& group : groups) picture.add(group, objective);
  if (picture.rows.empty()) picture.rows.emplace_back("");
  const std::string below = below_cells(objective, picture.has_ties, best);
  const int width =
      std::max({table_left + cell_width * static_cast<int>(picture.columns.size()) + 20,
                room_of(below, 13), room_of(title, 17)});
  const int height = top + cell_height * static_cast<int>(picture.rows.size()) + 40;
  std::string svg = std::string(picture_beginning) +
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
                    "\" height=\"" + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"13\">\n" +
                    box(0, 0, width, height, R"(fill="white")") +
                    text_at(12, 26, title, R"(font-size="17" font-weight="bold")");
  std::vector<std::string> names;
  for (const auto& [axis, value] : groups.front()["axes"].items()) names.push_back(axis);
  svg += text_at(table_left, 54, names.back(), R"(fill="#555555")");
  if (names.size() == 2) svg += text_at(12, top - 10, names.front(), R"(fill="#555555")");
  for (std::size_t c = 0; c < picture.columns.size(); ++c)
    svg += text_at(table_left + static_cast<int>(c) * cell_width + cell_width / 2, top - 10,
                   picture.columns[c], R"(text-anchor="middle")");
  for (std::size_t r = 0; r < picture.rows.size(); ++r)
    svg += text_at(table_left - 12, top + static_cast<int>(r) * cell_height + 28, picture.rows[r],
                   R"(text-anchor="end")");
  svg += picture.cells;
  svg += text_at(12, height - 14, below, R"(fill="#555555")");
  return svg + "</svg>\n";
}

}  // namespace sgdsim
