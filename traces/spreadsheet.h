// Tables as spreadsheets write them: workbooks, UTF-16, the line "sep=;", decimal commas.
#pragma once

#include <string>
#include <string_view>

namespace sgdsim {

// Of Excel: a packed folder, or the older kind.
bool is_workbook(std::string_view text);

// The text as UTF-8, without a mark of the byte order, and with an empty line in place of "sep=;".
// InputError for a workbook, and for UTF-16 that is broken.
std::string plain_table(std::string_view text, const std::string& file);

// "1,5" as "1.5", where cells are not separated by commas; another cell stays as it is.
std::string with_decimal_point(std::string cell);

// Whether the commas in numbers are decimal: "1,234" may be 1234, where no other number tells.
class DecimalCommas {
 public:
  void see(const std::string& cell, const std::string& where);
  void check() const;  // InputError where it is not clear

 private:
  std::string comma_, point_,
      where_;  // the first number of each kind, and where that with a comma is
  bool is_sure_ = false;
};

}  // namespace sgdsim
