// Tables for people: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace sgdsim {

class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // The first `text_columns` columns are text and keep to the left.
  void print(std::ostream& out, std::size_t text_columns = 1) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// A number with so many significant digits, without an exponent between 1e-3 and 1e9.
std::string rounded(double value, int digits = 4);
// "12.3 us": the unit that leaves one to three digits before the point.
std::string short_duration(double us, int digits = 3);
std::string short_size(double size_B);
// "12.3 %" of a part of the whole.
std::string part_text(double part, int digits = 3);

}  // namespace sgdsim
