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

}  // namespace sgdsim
