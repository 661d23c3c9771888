// Exact global top-k: gathered as `topk`, then every worker selects the k largest of the sum and
// puts the rest back into its residual. It sends as much as topk; what is saved is the update, and
// what is gained is a reference for gtopk.
#include "models/compression/registry.h"
#include "models/compression/sparse.h"

namespace sgdsim::compression::topk2 {
namespace {

Compression read(Object& fields, const CompressionContext& context) {
  const Sparse sparse = read_sparse(fields, context);
  const auto field = fields.find("separate_indices");
  const bool separate = field && field->flag();
  return sparse_compression(
      sparse, learning::Numbers::topk_of_sum, Operation::allgather, "recursive_doubling",
      [sparse, separate](const Group& group, double density) {
        Encoded encoded = sparse.select(group, sparse.selected(sparse.elements(group), density));
        gather_entries(sparse, separate, encoded);
        const double candidates = encoded.delivered;
        encoded.decompress =
            sparse.selection.of(candidates, candidates * static_cast<double>(sparse.element_B));
        encoded.delivered = encoded.sent;
        return encoded;
      });
}

}  // namespace

CompressionKind describe() {
  return {"topk2", "as topk, then the k largest of the sum: the exact global top-k", read};
}

}  // namespace sgdsim::compression::topk2
