// Signs: of every value one bit, of a message its mean magnitude (Karimireddy and others, Error
// Feedback Fixes SignSGD, ICML 2019). Signs of different magnitudes cannot be summed, so all are
// gathered by all. Without feedback this need not converge.
#include "models/compression/coding.h"
#include "models/compression/registry.h"

namespace sgdsim::compression::sign {
namespace {

struct Options {
  bool feedback = true;
  Bytes element{4};
  BothWays work;
};

Fields fields_of(Options& o) {
  return Fields{feedback_field(o.feedback), element_field(o.element)} + fields_of(o.work);
}

Compression read(Object& fields, const CompressionContext& context) {
  const auto options = read_record<Options>(fields);
  Compression compression = gathered_codes(
      {.bits = 1, .bucket = 0, .element = options.element, .work = options.work}, context.workers);
  compression.numbers.numbers = learning::Numbers::sign;
  compression.numbers.feedback = options.feedback;
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"sign", "the sign of every value and a mean magnitude, gathered by all",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::sign
