// Top-k: every worker selects the k elements of largest magnitude; all values and indices of all
// workers are gathered and summed. What was not selected stays in the worker's residual.
//
// With recursive doubling: lg P alpha + 2 (P-1) k beta, beta per 4-byte element (Shi and others,
// gTop-k S-SGD, ICDCS 2019). It grows with P: from some P on a dense exchange is cheaper.
#include "models/compression/registry.h"
#include "models/compression/sparse.h"

namespace sgdsim::compression::topk {
namespace {

Compression read(Object& fields, const CompressionContext& context) {
  const Sparse sparse = read_sparse(fields, context);
  const auto field = fields.find("separate_indices");
  const bool separate = field && field->flag();
  return sparse_compression(
      sparse, learning::Numbers::topk, Operation::allgather, "recursive_doubling",
      [sparse, separate](const Group& group, double density) {
        Encoded encoded = sparse.select(group, sparse.selected(sparse.elements(group), density));
        gather_entries(sparse, separate, encoded);
        return encoded;
      });
}

}  // namespace

CompressionKind describe() {
  return {"topk", "the k largest of each worker, gathered by all", read};
}

}  // namespace sgdsim::compression::topk
