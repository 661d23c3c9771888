// The number types that are measured, and their arithmetic on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgdsim::calibrate {

enum class Type : uint8_t { float32, float16, bfloat16 };

const std::vector<std::string>& type_names();
Type type_named(const std::string& name, const std::string& where);
std::string_view name_of(Type type);
constexpr int64_t size_of(Type type) { return type == Type::float32 ? 4 : 2; }

// Bits of the 16-bit types; rounded to nearest, ties to even.
uint16_t to_float16(float value);
float from_float16(uint16_t bits);
uint16_t to_bfloat16(float value);
float from_bfloat16(uint16_t bits);

void store(Type type, std::byte* at, float value);
float load(Type type, const std::byte* at);
// The number of this type that is nearest to the value.
float rounded(Type type, float value);

// to[i] = from[i] + with[i] for as many elements as there are in `bytes`; 16-bit types are added in
// float and rounded once. `to` may be one of the others.
void sum(Type type, std::byte* to, const std::byte* from, const std::byte* with, int64_t bytes);

// to = from x with, of `groups` pairs of matrices that lie row by row; summed in float and rounded
// once. One plain loop that the compiler makes vectors of: no tuned library.
void multiply(Type type, std::byte* to, const std::byte* from, const std::byte* with, int64_t rows,
              int64_t columns, int64_t inner, int64_t groups);

}  // namespace sgdsim::calibrate
