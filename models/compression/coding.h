// Codes of values: shorter ones that can still be summed (truncate16, quantize8), and bits with a
// magnitude beside them, which cannot, so that everybody gathers those of all (qsgd, sign).
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

struct GatheredCodes {
  int bits = 1;        // of a value
  int64_t bucket = 0;  // elements with a magnitude of four bytes; 0: all of a message
  Bytes element{4};
  BothWays work;  // the decoding is that of all workers' codes
};
Compression gathered_codes(const GatheredCodes& codes, int workers);

}  // namespace sgdsim
