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
  Task task = shaped_product_task({rows, rows, rows}, type);
  task.algorithm = "";
  task.note = "of square matrices, all three in the size";
  return task;
}

std::string text_of(const ProductShape& shape) {
  std::string text = std::to_string(shape.rows) + "x" + std::to_string(shape.columns) + "x" +
                     std::to_string(shape.inner);
  return shape.groups == 1 ? text : text + "x" + std::to_string(shape.groups);
}

// Groups follow each other, and so do their signs: rows of all of them are numbered through.
Task shaped_product_task(const ProductShape& shape, Type type) {
  const int64_t element_B = size_of(type);
  const int64_t rows = shape.rows;
  const int64_t columns = shape.columns;
  const int64_t inner = shape.inner;
  const int64_t groups = shape.groups;
  const int64_t from_B = rows * inner * groups * element_B;
  const int64_t with_B = inner * columns * groups * element_B;
  const int64_t to_B = rows * columns * groups * element_B;
  const int64_t with_at_B = aligned_B(from_B);
  const int64_t to_at_B = with_at_B + aligned_B(with_B);
  PlanWriter writer(1, 1);
  writer.product(0, {0, Buffer::data, to_at_B}, {0, Buffer::data, 0}, {0, Buffer::data, with_at_B},
                 shape);
  Task task{.operation = "product",
            .algorithm = text_of(shape),
            .type = type,
            .bytes = from_B + with_B + to_B,
            .plan = writer.take()};
  task.note = "rows x columns x inner, and how many; all matrices in the size";
  task.plan.room.data_B = to_at_B + to_B;
  task.before = [=](int) {
    std::vector<std::byte> data(static_cast<std::size_t>(to_at_B + to_B), std::byte{0xff});
    for (int64_t i = 0; i < groups * rows; ++i)
      for (int64_t k = 0; k < inner; ++k)
        store(type, data.data() + (i * inner + k) * element_B, row_sign(i) * shared_sign(k));
    for (int64_t k = 0; k < groups * inner; ++k)
      for (int64_t j = 0; j < columns; ++j)
        store(type, data.data() + with_at_B + (k * columns + j) * element_B,
              shared_sign(k % inner) * column_sign(k / inner * columns + j));
    return Stretches{{.at_B = 0, .bytes = to_at_B + to_B, .period = std::move(data)}};
  };
  task.first_broken = [=](int, const std::vector<std::byte>& data) -> int64_t {
    for (int64_t i = 0; i < groups * rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const float is = load(type, data.data() + to_at_B + (i * columns + j) * element_B);
        const float sign = row_sign(i) * column_sign(i / rows * columns + j);
        if (is != rounded(type, static_cast<float>(inner) * sign)) return i * columns + j;
      }
    return -1;
  };
  return task;
}

}  // namespace sgdsim::calibrate
