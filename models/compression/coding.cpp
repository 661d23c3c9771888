// Reading and evaluating codes.
#include "models/compression/coding.h"

#include <algorithm>

namespace sgdsim {

Fields fields_of(CodingOptions& o) {
  return fields_of(o.work) + Fields{Field("placement", o.per_hop, "encoded once, or at every hop")
                                        .one_of({"once", "per_hop"}),
                                    feedback_field(o.feedback)};
}

Compression read_coding(Object& fields, const CompressionContext& context, int ratio) {
  const auto options = read_record<CodingOptions>(fields);
  Compression compression;
  options.work.note("encoding", compression.notes);
  const Work compress = options.work.compress.value_or(Work());
  const Work decompress = options.work.decompress.value_or(Work());
  const bool per_hop = options.per_hop;
  if (per_hop && (!compress.is_rate() || !decompress.is_rate()))
    fields.at("placement")
        .fail("per_hop needs `compress` and `decompress` as {\"per_byte\": ...} alone");
  compression.numbers.numbers =
      ratio == 2 ? learning::Numbers::truncate16 : learning::Numbers::quantize8;
  compression.numbers.feedback = options.feedback;
  const int workers = context.workers;
  compression.encode = [=](const Group& group, double) {
    Encoded encoded;
    const auto n = static_cast<double>(group.size.count());
    encoded.elements = encoded.sent = encoded.delivered = n;
    Folding folding{static_cast<double>(ratio), {}};
    if (per_hop) {
      folding.extra = (compress.per_byte + decompress.per_byte) * ratio;
      encoded.local = decompress.per_byte.of(n * (workers - 1) / workers);
    } else {
      encoded.compress = compress.of(n, n);
      encoded.decompress = decompress.of(n, n);
    }
    const Bytes size((group.size.count() + ratio - 1) / ratio);
    encoded.transfers[0] = {Operation::allreduce, size, folding};
    encoded.transfer_count = 1;
    return encoded;
  };
  return compression;
}

Compression gathered_codes(const GatheredCodes& codes, int workers) {
  Compression compression;
  codes.work.note("encoding", compression.notes);
  compression.operation = Operation::allgather;
  compression.algorithm = "recursive_doubling";
  compression.encode = [codes, workers](const Group& group, double) {
    Encoded encoded;
    const auto n = static_cast<double>(group.size.count());
    const int64_t element_B = codes.element.count();
    const int64_t elements = (group.size.count() + element_B - 1) / element_B;
    const int64_t bucket = codes.bucket == 0 ? std::max<int64_t>(1, elements) : codes.bucket;
    encoded.elements = encoded.sent = encoded.delivered = static_cast<double>(elements);
    encoded.compress = codes.work.compress_time(encoded.elements, n);
    encoded.decompress = codes.work.decompress_time(encoded.elements * workers, n * workers);
    const int64_t codes_B = (elements * codes.bits + 7) / 8;
    const int64_t magnitudes_B = 4 * ((elements + bucket - 1) / bucket);
    encoded.transfers[0] = {Operation::allgather, Bytes(workers * (codes_B + magnitudes_B)), {}};
    encoded.transfer_count = 1;
    return encoded;
  };
  return compression;
}

}  // namespace sgdsim
