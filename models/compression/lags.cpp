// LAGS-SGD: top-k with a density of its own for every layer, so large that the layer's exchange
// just fits under the backward pass of the layer that computes meanwhile:
//
//   density = (t_compute - lg P alpha) / (2 (P-1) beta m), not below `density`, not above 1
//
// with beta per 4-byte element, from the cluster's worst pair. A message of several layers sends
// the sum of what its layers send. The released code has the rule and returns 0.001 all the same,
// which is `topk`.
#include <algorithm>

#include "models/compression/registry.h"
#include "models/compression/sparse.h"

namespace sgdsim::compression::lags {
namespace {

// The backward time of the next layer with a gradient and of what lies before it.
Duration meanwhile(const Trace& trace, const std::vector<Duration>& ready, std::size_t layer) {
  for (std::size_t l = layer; l-- > 0;)
    if (trace.layers[l].gradient.count() > 0) return ready[l] - ready[layer];
  return ready.front() - ready[layer];
}

// The wanted density of every layer, before it is clipped.
std::vector<double> densities_of(const Sparse& sparse, const CompressionContext& context) {
  const std::vector<Duration> ready = ready_times(context.trace);
  const double rounds = log2_up(std::max(2, context.workers));
  std::vector<double> densities;
  for (std::size_t l = 0; l < ready.size(); ++l) {
    const Bytes size = context.trace.layers[l].gradient;
    const PairCost& worst = context.worst.at(static_cast<double>(size.count()));
    const double free_ps = static_cast<double>(meanwhile(context.trace, ready, l).ps()) -
                           rounds * static_cast<double>(worst.start_up().ps());
    const double all_ps = worst.per_byte.ps() * sparse.entry_B() * (context.workers - 1) *
                          sparse.elements({.size = size});
    if (free_ps <= 0)
      densities.push_back(0);
    else
      densities.push_back(all_ps <= 0 ? 1 : free_ps / all_ps);
  }
  return densities;
}

Compression read(Object& fields, const CompressionContext& context) {
  auto sparse = read_record<Sparse>(fields);
  sparse.workers = context.workers;
  const std::vector<double> wanted = densities_of(sparse, context);
  std::vector<int64_t> sizes;
  for (const Layer& layer : context.trace.layers) sizes.push_back(layer.gradient.count());
  Compression compression = sparse_compression(
      sparse, learning::Numbers::topk, Operation::allgather, "recursive_doubling",
      [=](const Group& group, double least) {
        double sent = 0;
        if (group.first_layer < 0) {
          sent = sparse.selected(sparse.elements(group), least);
        } else {
          Bytes whole;
          for (int l = group.first_layer; l <= group.last_layer; ++l)
            whole += Bytes(sizes[static_cast<std::size_t>(l)]);
          // Pieces of a layer send their part of what the layer sends.
          const double part = whole.count() == 0 ? 1
                                                 : static_cast<double>(group.size.count()) /
                                                       static_cast<double>(whole.count());
          for (int l = group.first_layer; l <= group.last_layer; ++l) {
            const auto i = static_cast<std::size_t>(l);
            if (sizes[i] == 0) continue;
            const double m = part * sparse.elements({.size = Bytes(sizes[i])});
            sent += sparse.selected(m, std::clamp(wanted[i], least, 1.));
          }
        }
        Encoded encoded = sparse.select(group, sent);
        gather_entries(sparse, false, encoded);
        return encoded;
      });
  compression.numbers.by_tensor = true;
  compression.is_by_layer = true;
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"lags",
          "topk with a density per layer, chosen so that the next layer's backward hides it",
          options_of<Sparse>, read};
}

}  // namespace sgdsim::compression::lags
