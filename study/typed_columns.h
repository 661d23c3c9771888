// Many rows of figures as columns of one type each, laid out as programs that compute with columns
// have them (Apache Arrow): whole numbers and others in one piece, texts as places in a list of
// those that occur, a bit for every value that is there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "study/figures.h"

namespace sgdsim {

class TypedColumns {
 public:
  // A column has the type of its values: whole numbers beside others become numbers where that
  // keeps them exactly, and whatever else is mixed becomes text.
  enum class Type { nothing, flag, whole, number, text };
  struct Column {
    std::string name;
    Type type = Type::nothing;
    int64_t rows = 0;
    std::vector<uint8_t> is_there;  // a bit per row, the lowest first
    int64_t missing = 0;
    std::vector<uint8_t> flags;  // a bit per row
    std::vector<int64_t> wholes;
    std::vector<double> numbers;
    std::vector<int32_t> places;   // of texts
    std::vector<int64_t> ends{0};  // of texts in `letters`, behind a zero
    std::string letters;
    std::map<std::string, int32_t> place_of;
  };

  // A path occurs once in a row; those that rows before had not are new columns.
  void add(const Figures& row);
  int64_t rows() const { return rows_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  Column& column_of(std::string_view path);

  std::vector<Column> columns_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::size_t next_ = 0;  // rows have the same columns in the same order, nearly always
  int64_t rows_ = 0;
};

// The list that an answer is, or is about (points, plans, jobs, flows ...), as rows; of an answer
// without one all its values as a single row.
TypedColumns columns_of(const Json& answer);

// What the values of a column of this name are measured in: "us" for metrics.iteration_us.p50,
// "B" for size_B, "%" for gain_percent; "" for counts, ratios and texts.
std::string unit_of(const std::string& column);

}  // namespace sgdsim
