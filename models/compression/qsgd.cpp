// QSGD (Alistarh and others, NeurIPS 2017) with codes of fixed length: of every value its sign and
// one of `levels` + 1 magnitudes, ceil(log2(2 levels + 1)) bits; of every `bucket` elements a norm
// of four bytes. Codes of different norms cannot be summed, so all codes are gathered by all, and
// every worker decodes those of all.
//
// The paper's Elias codes are shorter where most magnitudes are zero; their length depends on the
// values, which a simulation of time does not have.
#include <bit>

#include "models/compression/coding.h"
#include "models/compression/registry.h"

namespace sgdsim::compression::qsgd {
namespace {

struct Options {
  int levels = 7;
  int64_t bucket = 512;
  bool feedback = false;
  Bytes element{4};
  BothWays work;
};

Fields fields_of(Options& o) {
  return Fields{Field("levels", o.levels, "magnitudes above zero").from(1, 1 << 30),
                Field("bucket", o.bucket, "elements per norm").from(1, int64_t{1} << 40),
                feedback_field(o.feedback), element_field(o.element)} +
         fields_of(o.work);
}

Compression read(Object& fields, const CompressionContext& context) {
  const auto options = read_record<Options>(fields);
  const auto bits = static_cast<int>(std::bit_width(2 * static_cast<uint64_t>(options.levels)));
  Compression compression = gathered_codes(
      {.bits = bits, .bucket = options.bucket, .element = options.element, .work = options.work},
      context.workers);
  compression.numbers.numbers = learning::Numbers::qsgd;
  compression.numbers.feedback = options.feedback;
  compression.numbers.levels = options.levels;
  compression.numbers.bucket = options.bucket;
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"qsgd", "codes of `levels` magnitudes and a norm per bucket, gathered by all",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::qsgd
