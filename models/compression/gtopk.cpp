// gTop-k (Shi and others, ICDCS 2019): lists of k values and indices are merged pairwise up a
// binomial tree, each node keeping the k largest sums, and the root's list is broadcast back.
//
// Every hop carries k entries, so a group costs what the `mst` all-reduce of k entries costs:
// 2 lg P (alpha + 2k beta), beta per 4-byte element; other P take ceil(lg P) rounds, in which
// workers without a partner idle. The published code needs a power of two (`power_of_two`); its
// variant `butterfly` merges with rank +- 2^i everywhere and needs no broadcast: the
// recursive-doubling all-reduce of k entries. Merging costs `merge` per hop, over 2k entries, and
// nothing if that is not given, as in the published formula.
//
// The published code joins int64 indices and float32 values, which sends 16 B an entry.
#include "models/compression/registry.h"
#include "models/compression/sparse.h"
#include "sim/core/error.h"

namespace sgdsim::compression::gtopk {
namespace {

Encoded encode(const Sparse& sparse, const Group& group, double density) {
  Encoded encoded = sparse.select(group, sparse.selected(sparse.elements(group), density));
  encoded.delivered = encoded.sent;
  const Bytes size = sparse.entries(encoded.sent);
  // Summing equal indices is part of merging: no gamma, but the merge as a time per byte.
  const auto size_B = static_cast<double>(size.count());
  const Duration merge = sparse.merge.of(2 * encoded.sent, 2 * size_B);
  encoded.transfers[0] = {Operation::allreduce,
                          size,
                          {0, PerByte::ps(static_cast<double>(merge.ps()) / std::max(1., size_B))}};
  encoded.transfer_count = 1;
  return encoded;
}

Compression read(Object& fields, const CompressionContext& context) {
  Sparse sparse = read_sparse(fields, context);
  if (const auto work = find_work(fields, "merge")) sparse.merge = *work;
  bool butterfly = false;
  if (const auto variant = fields.find("variant")) {
    butterfly = variant->text() == "butterfly";
    if (!butterfly && variant->text() != "tree")
      variant->fail(unknown_name("variant", variant->text(), {"tree", "butterfly"}));
  }
  if (const auto strict = fields.find("power_of_two"); strict && strict->flag())
    if ((context.workers & (context.workers - 1)) != 0)
      strict->fail("the published code takes a power of two, and there are " +
                   std::to_string(context.workers) + " workers");
  bool leaks = false;
  if (const auto put_back = fields.find("put_back")) {
    leaks = put_back->text() == "absence";
    if (!leaks && put_back->text() != "survival")
      put_back->fail(unknown_name("way", put_back->text(), {"survival", "absence"}));
  }
  Compression compression = sparse_compression(
      sparse, learning::Numbers::gtopk, Operation::allreduce,
      butterfly ? "recursive_doubling" : "mst",
      [sparse](const Group& group, double density) { return encode(sparse, group, density); });
  compression.numbers.leaks = leaks;
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"gtopk", "the k largest sums, merged up a tree (or a butterfly) and broadcast", read};
}

}  // namespace sgdsim::compression::gtopk
