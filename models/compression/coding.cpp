// Reading and evaluating codes.
#include "models/compression/coding.h"

#include "models/compression/work.h"
#include "sim/core/error.h"

namespace sgdsim {

Compression read_coding(Object& fields, const CompressionContext& context, int ratio) {
  Compression compression;
  const BothWays work = read_both_ways(fields, "encoding", compression.notes);
  bool per_hop = false;
  if (const auto placement = fields.find("placement")) {
    per_hop = placement->text() == "per_hop";
    if (!per_hop && placement->text() != "once")
      placement->fail(unknown_name("placement", placement->text(), {"once", "per_hop"}));
    if (per_hop && (!work.compress.is_rate() || !work.decompress.is_rate()))
      placement->fail("per_hop needs `compress` and `decompress` as {\"per_byte\": ...} alone");
  }
  compression.numbers.numbers =
      ratio == 2 ? learning::Numbers::truncate16 : learning::Numbers::quantize8;
  compression.numbers.feedback = read_feedback(fields, false);
  const int workers = context.workers;
  compression.encode = [=](const Group& group, double) {
    Encoded encoded;
    const auto n = static_cast<double>(group.size.count());
    encoded.elements = encoded.sent = encoded.delivered = n;
    Folding folding{static_cast<double>(ratio), {}};
    if (per_hop) {
      folding.extra = (work.compress.per_byte + work.decompress.per_byte) * ratio;
      encoded.local = work.decompress.per_byte.of(n * (workers - 1) / workers);
    } else {
      encoded.compress = work.compress.of(n, n);
      encoded.decompress = work.decompress.of(n, n);
    }
    const Bytes size((group.size.count() + ratio - 1) / ratio);
    encoded.transfers[0] = {Operation::allreduce, size, folding};
    encoded.transfer_count = 1;
    return encoded;
  };
  return compression;
}

}  // namespace sgdsim
