// Top-k: every worker selects the k elements of largest magnitude; all values and indices of all
// workers are gathered and summed. What was not selected stays in the worker's residual.
//
// With recursive doubling: lg P alpha + 2 (P-1) k beta, beta per 4-byte element (Shi and others,
// gTop-k S-SGD, ICDCS 2019). It grows with P: from some P on a dense exchange is cheaper.
#include "models/compression/registry.h"
#include "models/compression/sparse.h"

namespace sgdsim::compression::topk {
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
      sparse, learning::Numbers::topk, Operation::allgather, "recursive_doubling",
      [sparse = sparse, separate = separate](const Group& group, double density) {
        Encoded encoded = sparse.select(group, sparse.selected(sparse.elements(group), density));
        gather_entries(sparse, separate, encoded);
        return encoded;
      });
}

}  // namespace

CompressionKind describe() {
  return {"topk", "the k largest of each worker, gathered by all", options_of<Options>, read};
}

}  // namespace sgdsim::compression::topk
