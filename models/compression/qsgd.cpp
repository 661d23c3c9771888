// QSGD (Alistarh and others, NeurIPS 2017) with codes of fixed length: of every value its sign and
// one of `levels` + 1 magnitudes, ceil(log2(2 levels + 1)) bits; of every `bucket` elements a norm
// of four bytes. Codes of different norms cannot be summed, so all codes are gathered by all, and
// every worker decodes those of all.
//
// The paper's Elias codes are shorter where most magnitudes are zero; their length depends on the
// values, which a simulation of time does not have.
#include <bit>
#include <cmath>

#include "models/compression/registry.h"
#include "models/compression/work.h"

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
  Compression compression;
  compression.numbers.numbers = learning::Numbers::qsgd;
  compression.numbers.feedback = options.feedback;
  compression.numbers.levels = options.levels;
  compression.numbers.bucket = options.bucket;
  options.work.note("encoding", compression.notes);
  const int64_t element_B = options.element.count();
  const int64_t bucket = options.bucket;
  const BothWays& work = options.work;
  const int bits = static_cast<int>(std::bit_width(2 * static_cast<uint64_t>(options.levels)));
  const int workers = context.workers;
  compression.operation = Operation::allgather;
  compression.algorithm = "recursive_doubling";
  compression.encode = [=](const Group& group, double) {
    Encoded encoded;
    const auto n = static_cast<double>(group.size.count());
    const int64_t elements = (group.size.count() + element_B - 1) / element_B;
    encoded.elements = encoded.sent = encoded.delivered = static_cast<double>(elements);
    encoded.compress = work.compress_time(encoded.elements, n);
    encoded.decompress = work.decompress_time(encoded.elements * workers, n * workers);
    const int64_t codes_B = (elements * bits + 7) / 8;
    const int64_t norms_B = 4 * ((elements + bucket - 1) / bucket);
    encoded.transfers[0] = {Operation::allgather, Bytes(workers * (codes_B + norms_B)), {}};
    encoded.transfer_count = 1;
    return encoded;
  };
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"qsgd", "codes of `levels` magnitudes and a norm per bucket, gathered by all",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::qsgd
