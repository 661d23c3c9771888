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

namespace sgdsim::compression::gtopk {
namespace {

struct Options {
  Sparse sparse;
  Work merge;  // of two lists, at every hop
  bool butterfly = false;
  bool power_of_two = false;
  bool leaks = false;
};

Fields fields_of(Options& o) {
  return fields_of(o.sparse) +
         Fields{Field("merge", o.merge,
                      "time to merge two lists, at every hop; its bytes are those of both lists")
                    .otherwise("no time"),
                Field("variant", o.butterfly,
                      "lists are merged up a tree and broadcast, or with rank +- 2^i everywhere")
                    .one_of({"tree", "butterfly"}),
                {"power_of_two", o.power_of_two,
                 "refuse other counts of workers, as the published code does"},
                Field("put_back", o.leaks,
                      "what workers keep of their selection: what any merge dropped, or what the "
                      "global sum lacks, as published")
                    .one_of({"survival", "absence"})
                    .called("way")};
}

Encoded encode(const Sparse& sparse, const Work& merging, const Group& group, double density) {
  Encoded encoded = sparse.select(group, sparse.selected(sparse.elements(group), density));
  encoded.delivered = encoded.sent;
  const Bytes size = sparse.entries(encoded.sent);
  // Summing equal indices is part of merging: no gamma, but the merge as a time per byte.
  const auto size_B = static_cast<double>(size.count());
  const Duration merge = merging.of(2 * encoded.sent, 2 * size_B);
  encoded.transfers[0] = {Operation::allreduce,
                          size,
                          {0, PerByte::ps(static_cast<double>(merge.ps()) / std::max(1., size_B))}};
  encoded.transfer_count = 1;
  return encoded;
}

Compression read(Object& fields, const CompressionContext& context) {
  auto options = read_record<Options>(fields);
  Sparse& sparse = options.sparse;
  sparse.workers = context.workers;
  if (options.power_of_two && (context.workers & (context.workers - 1)) != 0)
    fields.at("power_of_two")
        .fail("the published code takes a power of two, and there are " +
              std::to_string(context.workers) + " workers");
  Compression compression =
      sparse_compression(sparse, learning::Numbers::gtopk, Operation::allreduce,
                         options.butterfly ? "recursive_doubling" : "mst",
                         [sparse, merge = options.merge](const Group& group, double density) {
                           return encode(sparse, merge, group, density);
                         });
  compression.numbers.leaks = options.leaks;
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"gtopk", "the k largest sums, merged up a tree (or a butterfly) and broadcast",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::gtopk
