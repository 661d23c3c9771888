// From what Excel saves to plain UTF-8.
#include "traces/spreadsheet.h"

#include <algorithm>

#include "sim/core/error.h"
#include "traces/utf16.h"

namespace sgdsim {

bool is_workbook(std::string_view text) {
  return text.starts_with("PK\x03\x04") || text.starts_with("\xd0\xcf\x11\xe0");
}

std::string plain_table(std::string_view text, const std::string& file) {
  if (is_workbook(text))
    throw InputError(file, "an Excel workbook: save it as CSV, and import that");
  std::string plain = as_utf8(std::string(text), file);
  const std::size_t end = std::min(plain.find_first_of("\r\n"), plain.size());
  if (plain.starts_with("sep=") && end <= 5) plain.erase(0, end);
  return plain;
}

std::string with_decimal_point(std::string cell) {
  const std::size_t comma = cell.find(',');
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (comma == std::string::npos || comma == 0 || comma + 1 == cell.size()) return cell;
  const bool is_number =
      std::all_of(cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(comma), is_digit) &&
      is_digit(cell[comma + 1]) && cell.find(',', comma + 1) == std::string::npos;
  if (is_number) cell[comma] = '.';
  return cell;
}

void DecimalCommas::see(const std::string& cell, const std::string& where) {
  const std::string plain = with_decimal_point(cell);
  const std::size_t mark = plain.find('.');
  if (mark == std::string::npos) return;
  std::string& first = plain == cell ? point_ : comma_;
  if (first.empty()) first = cell;
  if (plain == cell) return;
  if (where_.empty()) where_ = where;
  const std::size_t behind = plain.find_first_not_of("0123456789", mark + 1);
  const std::size_t digits = std::min(behind, plain.size()) - mark - 1;
  if (digits != 3 || mark > 3 || plain.front() == '0') is_sure_ = true;
}

void DecimalCommas::check() const {
  if (comma_.empty() || (is_sure_ && point_.empty())) return;
  throw InputError(where_, "is the comma in \"" + comma_ + "\" a decimal one" +
                               (point_.empty() ? "" : ", as the point in \"" + point_ + "\"") +
                               ", or does it separate thousands? Write numbers without separators "
                               "of thousands, with a decimal point");
}

}  // namespace sgdsim
