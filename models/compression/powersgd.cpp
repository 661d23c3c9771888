// PowerSGD (Vogels, Karimireddy and Jaggi, NeurIPS 2019): a gradient matrix of a x b values is
// approximated by factors of rank r, P (a x r) and Q (b x r), which are all-reduced one after the
// other. A matrix whose factors are no smaller than itself, and every vector, is sent as it is,
// with P.
//
// Traces know how many values a tensor has, not its shape: a / b = `aspect` for all of them (1 has
// the smallest factors). A tensor below `vector` values counts as a vector.
#include <cmath>

#include "models/compression/registry.h"
#include "models/compression/work.h"

namespace sgdsim::compression::powersgd {
namespace {

struct Factors {
  double first = 0;   // elements of P, and of what is sent whole
  double second = 0;  // elements of Q
};

struct Options {
  int rank = 4;
  double aspect = 1;
  int64_t vector = 0;
  bool feedback = true;
  Bytes element{4};
  BothWays work;
};

Fields fields_of(Options& o) {
  return Fields{Field("rank", o.rank, "rank of the factors").from(1, 1 << 20),
                Field("aspect", o.aspect, "rows over columns of every matrix").from(1e-6, 1e6),
                Field("vector", o.vector, "tensors below this many elements are sent as they are")
                    .from(0, int64_t{1} << 50),
                feedback_field(o.feedback), element_field(o.element)} +
         fields_of(o.work);
}

Factors factors_of(double elements, const Options& shape) {
  const double rows = std::ceil(std::sqrt(elements * shape.aspect));
  const double columns = std::ceil(elements / std::max(1., rows));
  if (elements < static_cast<double>(shape.vector) || shape.rank * (rows + columns) >= elements)
    return {elements, 0};
  return {shape.rank * rows, shape.rank * columns};
}

// The sums over the layers before each one.
std::vector<Factors> sums_of(const Trace& trace, const Options& shape) {
  std::vector<Factors> sums(1);
  for (const Layer& layer : trace.layers) {
    std::vector<int64_t> tensors = layer.tensors;
    if (tensors.empty()) tensors = {layer.gradient.count() / shape.element.count()};
    Factors sum = sums.back();
    for (const int64_t tensor : tensors) {
      const Factors one = factors_of(static_cast<double>(tensor), shape);
      sum.first += one.first;
      sum.second += one.second;
    }
    sums.push_back(sum);
  }
  return sums;
}

Compression read(Object& fields, const CompressionContext& context) {
  const auto options = read_record<Options>(fields);
  Compression compression;
  compression.numbers.numbers = learning::Numbers::powersgd;
  compression.numbers.feedback = options.feedback;
  compression.numbers.rank = options.rank;
  options.work.note("factorising", compression.notes);
  const int64_t element_B = options.element.count();
  const BothWays& work = options.work;
  const std::vector<Factors> sums = sums_of(context.trace, options);
  std::vector<int64_t> before_B{0};
  for (const Layer& layer : context.trace.layers)
    before_B.push_back(before_B.back() + layer.gradient.count());
  compression.encode = [=](const Group& group, double) {
    // A group without layers is like the whole model, a piece of layers like these layers.
    const bool known = group.first_layer >= 0;
    const std::size_t from = known ? static_cast<std::size_t>(group.first_layer) : 0;
    const std::size_t to = known ? static_cast<std::size_t>(group.last_layer) + 1 : sums.size() - 1;
    const auto n = static_cast<double>(group.size.count());
    const double part = n / std::max(1., static_cast<double>(before_B[to] - before_B[from]));
    Encoded encoded;
    encoded.elements = n / static_cast<double>(element_B);
    encoded.delivered = encoded.elements;
    encoded.compress = work.compress_time(encoded.elements, n);
    encoded.decompress = work.decompress_time(encoded.elements, n);
    for (const double sum :
         {sums[to].first - sums[from].first, sums[to].second - sums[from].second}) {
      const double elements = part * sum;
      encoded.sent += elements;
      const Bytes size = Bytes::nearest(std::ceil(elements) * static_cast<double>(element_B));
      if (size.count() == 0) continue;
      encoded.transfers[static_cast<std::size_t>(encoded.transfer_count++)] = {
          Operation::allreduce, size, {}};
    }
    return encoded;
  };
  return compression;
}

}  // namespace

CompressionKind describe() {
  return {"powersgd", "factors of rank r in place of matrices, two all-reduces",
          options_of<Options>, read};
}

}  // namespace sgdsim::compression::powersgd
