// Random-k: k elements, drawn anew in every iteration, the same ones of all workers, who draw them
// from one seed. So no indices are sent, and the k values are all-reduced like any others. What was
// not drawn stays in the worker's residual.
//
// Of small gradients with feedback this is a delay of 1 / density iterations (Stich and others,
// Sparsified SGD with Memory, NeurIPS 2018): it needs much smaller rates than the largest k do.
#include "models/compression/registry.h"
#include "models/compression/sparse.h"

namespace sgdsim::compression::randomk {
namespace {

struct Options {
  Densities densities{{{0.01, 0}}};
  Bytes element{4};
  bool feedback = true;
  BothWays work;
};

Fields fields_of(Options& o) {
  return Fields{{"density", o.densities,
                 "part of the elements that is drawn and sent, or a list of steps"},
                element_field(o.element),
                feedback_field(o.feedback)} +
         fields_of(o.work);
}

Compression read(Object& fields, const CompressionContext&) {
  const auto options = read_record<Options>(fields);
  Sparse sparse;
  sparse.densities = options.densities;
  sparse.element = sparse.entry = options.element;
  sparse.feedback = options.feedback;
  Compression compression =
      sparse_compression(sparse, learning::Numbers::random, Operation::allreduce, "",
                         [sparse, work = options.work](const Group& group, double density) {
                           const double sent = sparse.selected(sparse.elements(group), density);
                           Encoded encoded;
                           encoded.elements = sparse.elements(group);
                           encoded.sent = encoded.delivered = sent;
                           const auto size_B = static_cast<double>(group.size.count());
                           encoded.compress = work.compress_time(encoded.elements, size_B);
                           encoded.decompress = work.decompress_time(encoded.elements, size_B);
                           encoded.transfers[0] = {Operation::allreduce, sparse.entries(sent), {}};
                           encoded.transfer_count = 1;
                           return encoded;
                         });
  compression.notes.clear();  // nothing is compared
  options.work.note("picking and putting back", compression.notes);
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"randomk", "k elements drawn at random, the same of all workers, all-reduced",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::randomk
