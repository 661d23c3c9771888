// float16 has 5 bits of exponent and 10 of mantissa, bfloat16 the upper half of a float's bits.
#include "calibrate/element.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim::calibrate {
namespace {

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Rounds off the lowest `bits`, ties to even.
uint32_t rounded_off(uint32_t value, uint32_t bits) {
  const uint32_t half = (1U << bits) >> 1U;
  const uint32_t rest = value & ((1U << bits) - 1);
  const uint32_t kept = value >> bits;
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
}

}  // namespace

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> names = {"float32", "float16", "bfloat16"};
  return names;
}

Type type_named(const std::string& name, const std::string& where) {
  for (std::size_t i = 0; i < type_names().size(); ++i)
    if (type_names()[i] == name) return static_cast<Type>(i);
  throw InputError(where, unknown_name("type", name, type_names()));
}

std::string_view name_of(Type type) { return type_names()[static_cast<std::size_t>(type)]; }

uint16_t to_float16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16U) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U;  // not a number
  } else if (magnitude >= 0x477ff000U) {
    half = 0x7c00U;  // 65520 and beyond round to infinity
  } else if (magnitude >= 0x38800000U) {
    half = rounded_off(magnitude - 0x38000000U, 13);
  } else if (magnitude >= 0x33000000U) {
    // Below 2^-14 the steps are of 2^-24.
    const uint32_t shift = 126 - (magnitude >> 23U);
    half = rounded_off((magnitude & 0x7fffffU) | 0x800000U, shift);
  }
  return static_cast<uint16_t>(sign | half);
}

// The exponent and the mantissa move to their places in a float32, whose exponents are 112 higher.
float from_float16(uint16_t bits) {
  const uint32_t magnitude = (bits & 0x7fffU) << 13U;
  const bool is_finite = (bits & 0x7c00U) != 0x7c00U;
  const float value = is_finite ? std::bit_cast<float>(magnitude) * 0x1p112F
                                : std::bit_cast<float>(magnitude | 0x7f800000U);
  return (bits & 0x8000U) != 0 ? -value : value;
}

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<uint16_t>(rounded_off(bits, 16));
}

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U);
}

void store(Type type, std::byte* at, float value) {
  switch (type) {
    case Type::float32:
      return write(at, value);
    case Type::float16:
      return write(at, to_float16(value));
    case Type::bfloat16:
      return write(at, to_bfloat16(value));
  }
}

float load(Type type, const std::byte* at) {
  switch (type) {
    case Type::float32:
      return read<float>(at);
    case Type::float16:
      return from_float16(read<uint16_t>(at));
    case Type::bfloat16:
      return from_bfloat16(read<uint16_t>(at));
  }
  return 0;
}

float rounded(Type type, float value) {
  if (type == Type::float16) return from_float16(to_float16(value));
  if (type == Type::bfloat16) return from_bfloat16(to_bfloat16(value));
  return value;
}

void sum(Type type, std::byte* to, const std::byte* from, const std::byte* with, int64_t bytes) {
  const int64_t step = size_of(type);
  if (type == Type::float32) {
    // The hot loop by itself, so that it becomes vector instructions.
    for (int64_t at = 0; at + 4 <= bytes; at += 4)
      write(to + at, read<float>(from + at) + read<float>(with + at));
    return;
  }
  for (int64_t at = 0; at + step <= bytes; at += step)
    store(type, to + at, load(type, from + at) + load(type, with + at));
}

namespace {

void multiply_one(Type type, std::byte* to, const std::byte* from, const std::byte* with,
                  std::size_t rows, std::size_t columns, std::size_t inner) {
  const auto step = static_cast<std::size_t>(size_of(type));
  const auto as_floats = [&](const std::byte* matrix, std::size_t count) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = load(type, matrix + i * step);
    return all;
  };
  const std::vector<float> left = as_floats(from, rows * inner);
  const std::vector<float> right = as_floats(with, inner * columns);
  std::vector<float> sums(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0.F);
    for (std::size_t k = 0; k < inner; ++k) {
      const float factor = left[i * inner + k];
      const float* const row = right.data() + k * columns;
      for (std::size_t j = 0; j < columns; ++j) sums[j] += factor * row[j];
    }
    for (std::size_t j = 0; j < columns; ++j) store(type, to + (i * columns + j) * step, sums[j]);
  }
}

}  // namespace

void multiply(Type type, std::byte* to, const std::byte* from, const std::byte* with, int64_t rows,
              int64_t columns, int64_t inner, int64_t groups) {
  const int64_t each_B = size_of(type);
  for (int64_t i = 0; i < groups; ++i)
    multiply_one(type, to + i * rows * columns * each_B, from + i * rows * inner * each_B,
                 with + i * inner * columns * each_B, static_cast<std::size_t>(rows),
                 static_cast<std::size_t>(columns), static_cast<std::size_t>(inner));
}

}  // namespace sgdsim::calibrate
