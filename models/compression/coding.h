// What truncate16 and quantize8 share: every value becomes a shorter one that can still be summed.
#pragma once

#include "models/compression/compression.h"
#include "models/compression/work.h"

namespace sgdsim {

// Codes of 1/ratio of the bytes, all-reduced. With kappa_c and kappa_d seconds per uncompressed
// byte for encoding and decoding (fields `compress` and `decompress`):
//   placement=once     encoded and decoded on the compute stream: n (kappa_c + kappa_d); the wire
//                      carries n / ratio, folding still costs gamma for n bytes
//   placement=per_hop  decoded, summed and encoded again at every hop: gamma + kappa_c + kappa_d
//                      per byte folded, and (P-1)/P n kappa_d at the end
// (timing model of Pipe-SGD, Li and others, NeurIPS 2018).
struct CodingOptions {
  BothWays work;
  bool per_hop = false;
  bool feedback = false;
};
Fields fields_of(CodingOptions& options);
Compression read_coding(Object& fields, const CompressionContext& context, int ratio);

}  // namespace sgdsim
