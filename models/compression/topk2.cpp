// Exact global top-k: gathered as `topk`, then every worker selects the k largest of the sum and
// puts the rest back into its residual. It sends as much as topk; what is saved is the update, and
// what is gained is a reference for gtopk.
#include "models/compression/registry.h"
#include "models/compression/sparse.h"

namespace sgdsim::compression::topk2 {
namespace {

struct Options {
  Sparse sparse;
  bool separate_indices = false;
};

Fields fields_of(Options& o) {
  return fields_of(o.sparse) + Fields{separate_indices_field(o.separate_indices)};
}

Compression read(Object& fields, const CompressionContext& context) {
  auto [sparse, separate] = read_record<Options>(fields);
  sparse.workers = context.workers;
  return sparse_compression(
      sparse, learning::Numbers::topk_of_sum, Operation::allgather, "recursive_doubling",
      [sparse = sparse, separate = separate](const Group& group, double density) {
        Encoded encoded = sparse.select(group, sparse.selected(sparse.elements(group), density));
        gather_entries(sparse, separate, encoded);
        const double candidates = encoded.delivered;
        if (sparse.selection)
          encoded.decompress = sparse.selection->of(candidates, candidates * sparse.element_B());
        encoded.delivered = encoded.sent;
        return encoded;
      });
}

}  // namespace

CompressionKind describe() {
  return {"topk2", "as topk, then the k largest of the sum: the exact global top-k",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::topk2
