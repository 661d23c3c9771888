// truncate16: the upper 16 bits of every 32-bit value: the low bits of the mantissa are dropped.
#include "models/compression/coding.h"
#include "models/compression/registry.h"

namespace sgdsim::compression::truncate16 {
namespace {

constexpr int ratio = 2;

Compression read(Object& fields, const CompressionContext& context) {
  return read_coding(fields, context, ratio);
}

}  // namespace

CompressionKind describe() {
  return {"truncate16",
          "the upper 16 bits of every 32-bit value: the low bits of the mantissa are dropped",
          options_of<CodingOptions>, read};
}

}  // namespace sgdsim::compression::truncate16
