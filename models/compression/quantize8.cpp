// quantize8: 8-bit codes in place of 32-bit values.
#include "models/compression/coding.h"
#include "models/compression/registry.h"

namespace sgdsim::compression::quantize8 {
namespace {

constexpr int ratio = 4;

Compression read(Object& fields, const CompressionContext& context) {
  return read_coding(fields, context, ratio);
}

}  // namespace

CompressionKind describe() {
  return {"quantize8", "8-bit codes in place of 32-bit values", options_of<CodingOptions>, read};
}

}  // namespace sgdsim::compression::quantize8
