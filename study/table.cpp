// Printing of tables and of numbers for people.
#include "study/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sgdsim {

void Table::print(std::ostream& out, std::size_t text_columns) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows_) {
    if (std::all_of(row.begin(), row.end(), [](const auto& cell) { return cell.empty(); }))
      continue;  // a table without a head
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += c < text_columns ? row[c] + padding : padding + row[c];
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

std::string rounded(double value, int digits) {
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  std::array<char, 64> buffer{};
  if (magnitude > 9 || magnitude < -3)
    std::snprintf(buffer.data(), buffer.size(), "%.*e", digits - 1, value);
  else
    std::snprintf(buffer.data(), buffer.size(), "%.*f", std::max(0, digits - magnitude), value);
  return buffer.data();
}

std::string short_duration(double us, int digits) {
  if (us == 0) return "0";
  if (us < 1e3) return rounded(us, digits) + " us";
  if (us < 1e6) return rounded(us / 1e3, digits) + " ms";
  return rounded(us / 1e6, digits) + " s";
}

std::string part_text(double part, int digits) { return rounded(100 * part, digits) + " %"; }

std::string short_size(double size_B) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (size_B >= 1024 && unit + 1 < units.size()) {
    size_B /= 1024;
    ++unit;
  }
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", size_B == std::floor(size_B) ? 0 : 1, size_B);
  return std::string(buffer.data()) + " " + units[unit];
}

}  // namespace sgdsim
