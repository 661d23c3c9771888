// Products of matrices, by size: what share of its peak a GPU reaches.
#include <cmath>

#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

// Ones with signs that look random. A row of the first matrix times a column of the second is as
// many equal ones as there are rows, so that all types, in any order of summation, are exact.
float sign(int64_t number, uint64_t stream) {
  uint64_t bits = (static_cast<uint64_t>(number) + 1) * 0x9e3779b97f4a7c15U + stream;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  return (bits >> 63U) != 0 ? -1.F : 1.F;
}
float row_sign(int64_t row) { return sign(row, 1); }
float column_sign(int64_t column) { return sign(column, 2); }
float shared_sign(int64_t number) { return sign(number, 3); }

}  // namespace

int64_t product_rows(int64_t bytes, Type type) {
  const double each = static_cast<double>(bytes) / static_cast<double>(3 * size_of(type));
  return std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(each)) / row_unit) * row_unit;
}

Task product_task(int64_t rows, Type type) {
  const int64_t element_B = size_of(type);
  const int64_t matrix_B = rows * rows * element_B;
  const int64_t next_B = aligned_B(matrix_B);
  PlanWriter writer(1, 1);
  writer.product(0, {0, Buffer::data, 2 * next_B}, {0, Buffer::data, 0}, {0, Buffer::data, next_B},
                 rows);
  Task task{.operation = "product", .type = type, .bytes = 3 * matrix_B, .plan = writer.take()};
  task.note = "of square matrices, all three in the size";
  task.plan.room.data_B = 2 * next_B + matrix_B;
  task.before = [=](int) {
    std::vector<std::byte> data(static_cast<std::size_t>(2 * next_B + matrix_B), std::byte{0xff});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < rows; ++j) {
        std::byte* const place = data.data() + (i * rows + j) * element_B;
        store(type, place, row_sign(i) * shared_sign(j));
        store(type, place + next_B, shared_sign(i) * column_sign(j));
      }
    return Stretches{{.at_B = 0, .bytes = 2 * next_B + matrix_B, .period = std::move(data)}};
  };
  task.first_broken = [=](int, const std::vector<std::byte>& data) -> int64_t {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < rows; ++j) {
        const float is = load(type, data.data() + 2 * next_B + (i * rows + j) * element_B);
        if (is != rounded(type, static_cast<float>(rows) * row_sign(i) * column_sign(j)))
          return i * rows + j;
      }
    return -1;
  };
  return task;
}

}  // namespace sgdsim::calibrate
