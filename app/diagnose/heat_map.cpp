// Where there are more workers than cells, a cell shows the slowest of its workers.
#include "app/diagnose/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "study/table.h"

namespace sgdsim {
namespace {

struct Cells {
  int rows = 1;
  int columns = 1;
  int stages_of_row = 1;
  int replicas_of_column = 1;
  std::vector<double> values;

  double at(int row, int column) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                  static_cast<std::size_t>(column)];
  }
};

int parts(int all, int of_part) { return (all + of_part - 1) / of_part; }

Cells cells_of(const HeatMap& map, int most_rows, int most_columns) {
  Cells cells;
  cells.stages_of_row = parts(map.stages, most_rows);
  cells.replicas_of_column = parts(map.replicas, most_columns);
  cells.rows = parts(map.stages, cells.stages_of_row);
  cells.columns = parts(map.replicas, cells.replicas_of_column);
  cells.values.assign(
      static_cast<std::size_t>(cells.rows) * static_cast<std::size_t>(cells.columns), 0);
  for (int replica = 0; replica < map.replicas; ++replica)
    for (int stage = 0; stage < map.stages; ++stage) {
      double& cell = cells.values[static_cast<std::size_t>(stage / cells.stages_of_row) *
                                      static_cast<std::size_t>(cells.columns) +
                                  static_cast<std::size_t>(replica / cells.replicas_of_column)];
      cell = std::max(
          cell,
          map.slowdown[static_cast<std::size_t>(replica) * static_cast<std::size_t>(map.stages) +
                       static_cast<std::size_t>(stage)]);
    }
  return cells;
}

// "3" or "3-5" of the things that are in part `index`.
std::string range_text(int index, int of_part, int all) {
  const int first = index * of_part;
  const int last = std::min(all, first + of_part) - 1;
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

std::string two_decimals(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), value < 100 ? "%.2f" : "%.0f", value);
  return buffer.data();
}

// From 0 (as fast as the ideal, or faster) to 1 (twice as slow, or slower).
double heat(double slowdown) { return std::clamp(slowdown - 1, 0., 1.); }

// From white over yellow to red.
std::string colour(double slowdown) {
  const double warmth = std::sqrt(heat(slowdown));  // 1.04 is to be seen
  const auto part = [](double from, double to, double along) {
    return static_cast<int>(std::lround(from + (to - from) * along));
  };
  const double first = std::min(1., 2 * warmth);
  const double second = std::max(0., 2 * warmth - 1);
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "#%02x%02x%02x",
                static_cast<unsigned>(part(255, 200, second)) & 0xFF,
                static_cast<unsigned>(part(255, 220, first) - part(0, 180, second)) & 0xFF,
                static_cast<unsigned>(part(255, 90, first) - part(0, 60, second)) & 0xFF);
  return buffer.data();
}

const char* terminal_colour(double slowdown) {
  if (slowdown >= 1.25) return "\033[41m";
  if (slowdown >= 1.1) return "\033[45m";
  if (slowdown >= 1.03) return "\033[43m";
  return "";
}

DrawnLine rectangle(double x, double y, double width, double height, const std::string& fill) {
  return {.spots = {{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}},
          .is_closed = true,
          .stroke = "#ffffff",
          .width = 0.5,
          .fill = fill};
}

}  // namespace

std::string heat_text(const HeatMap& map, const Terminal& terminal) {
  constexpr int margin = 14;
  constexpr int most_rows = 32;
  const int widest = std::max(6, static_cast<int>(std::to_string(map.replicas).size()) * 2 + 2);
  const Cells cells = cells_of(map, most_rows, std::max(1, (terminal.columns - margin) / widest));
  const auto padded = [](std::string text, int width) {
    if (static_cast<int>(text.size()) < width)
      text.insert(0, static_cast<std::size_t>(width) - text.size(), ' ');
    return text;
  };
  std::string text = "replica       ";
  for (int column = 0; column < cells.columns; ++column)
    text += padded(range_text(column, cells.replicas_of_column, map.replicas), widest);
  text += '\n';
  for (int row = 0; row < cells.rows; ++row) {
    std::string name = "stage " + range_text(row, cells.stages_of_row, map.stages);
    name.resize(std::max<std::size_t>(margin, name.size()), ' ');
    text += name;
    for (int column = 0; column < cells.columns; ++column) {
      const double value = cells.at(row, column);
      const std::string number = two_decimals(value);
      const std::string colour = terminal.colour ? terminal_colour(value) : "";
      text += padded("", widest - static_cast<int>(number.size()));
      text += colour.empty() ? number : colour + number + "\033[0m";
    }
    text += '\n';
  }
  return text;
}

Drawing heat_drawing(const HeatMap& map) {
  constexpr int most_rows = 64;
  constexpr int most_columns = 128;
  const Cells cells = cells_of(map, most_rows, most_columns);
  const bool has_numbers = cells.columns <= 32;
  const double width = has_numbers ? 30 : 8;
  constexpr double height = 16;
  constexpr double left = 60;
  constexpr double top = 40;
  Drawing drawing;
  drawing.title = map.title;
  drawing.width = std::max(left + cells.columns * width + 10, 200.);
  drawing.height = top + cells.rows * height + 30;
  drawing.shapes.emplace_back(
      DrawnText{.at = {10, 14}, .text = map.title, .size = 9, .is_bold = true});
  drawing.shapes.emplace_back(DrawnText{.at = {left, 32}, .text = "data-parallel rank", .size = 8});
  for (int row = 0; row < cells.rows; ++row) {
    const double y = top + row * height;
    drawing.shapes.emplace_back(
        DrawnText{.at = {left - 6, y + 11},
                  .text = "stage " + range_text(row, cells.stages_of_row, map.stages),
                  .size = 8,
                  .anchor = DrawnText::Anchor::end});
    for (int column = 0; column < cells.columns; ++column) {
      const double x = left + column * width;
      drawing.shapes.emplace_back(rectangle(x, y, width, height, colour(cells.at(row, column))));
      if (has_numbers)
        drawing.shapes.emplace_back(DrawnText{.at = {x + width / 2, y + 11},
                                              .text = two_decimals(cells.at(row, column)),
                                              .size = 8,
                                              .anchor = DrawnText::Anchor::middle});
    }
  }
  const int every = has_numbers ? 1 : 16;
  for (int column = 0; column < cells.columns; column += every)
    drawing.shapes.emplace_back(
        DrawnText{.at = {left + (column + 0.5) * width, top + cells.rows * height + 12},
                  .text = range_text(column, cells.replicas_of_column, map.replicas),
                  .size = 7,
                  .anchor = DrawnText::Anchor::middle});
  return drawing;
}

}  // namespace sgdsim
