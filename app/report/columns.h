// Many rows of values as columns: a hundred thousand points of thirty figures fit into a page that
// a browser opens at once.
//
// A column states its values as shortly as they allow: one value for all, the same as another
// column, places in a list of the values that occur, or one value per row.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

class ReportColumns {
 public:
  // What a column is for: an axis is what was varied, a figure what came out, a note any text.
  enum class Role { axis, figure, note };

  void set(Role role, const std::string& key, std::size_t row, const Json& value);
  std::size_t rows() const { return rows_; }
  std::vector<std::string> keys(Role role) const;
  bool varies(Role role, const std::string& key) const;  // false for none
  // [{key, role, ...}], without the columns whose names end in one of `left_out`.
  Json json(const std::vector<std::string>& left_out) const;
  // Row i becomes what row order[i] was.
  void reorder(const std::vector<std::size_t>& order);
  // Whether every row differs from all others in its axes.
  bool axes_tell_rows_apart() const;

 private:
  struct Column {
    Role role = Role::figure;
    std::string key;
    std::vector<Json> values;  // null where a row has none
    bool has_large_wholes = false;
  };

  std::vector<Column> columns_;
  std::map<std::pair<Role, std::string>, std::size_t> column_of_;
  std::size_t next_ = 0;  // rows have the same columns in the same order, nearly always
  std::size_t rows_ = 0;
};

}  // namespace sgdsim
