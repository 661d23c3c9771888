// Counting entries, and reading the fields of top-k compressions.
#include "models/compression/sparse.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {
namespace {

double read_density(const Value& value) {
  const double density = value.number(0, 1);
  if (density <= 0) value.fail("expected a density above 0, up to 1");
  return density;
}

std::vector<DensityStep> read_densities(const Value& value) {
  if (!value.json().is_array()) return {{read_density(value), 0}};
  std::vector<DensityStep> steps;
  for (const Value& item : value.items()) {
    if (!steps.empty() && steps.back().iterations == 0)
      item.fail("the density before it has no `iterations`, so this one is never reached");
    Object one(item);
    steps.push_back({read_density(one.at("density")), 0});
    if (const auto field = one.find("iterations"))
      steps.back().iterations = static_cast<int>(field->whole(1, 1'000'000'000));
    one.done();
  }
  if (steps.empty()) value.fail("expected at least one density");
  if (steps.back().iterations != 0)
    value.fail("the last density holds for the rest: expected no `iterations`");
  return steps;
}

}  // namespace

double Sparse::selected(double elements, double density) const {
  if (!whole_entries) return density * elements;
  // The products of decimal fractions lie a little beside the whole number that is meant.
  const double product = density * elements;
  const double nearest = std::round(product);
  const double k = std::abs(product - nearest) < 1e-9 * product ? nearest : std::floor(product);
  return std::min(std::max(k, 1.), std::max(1., elements));
}

Bytes Sparse::entries(double count) const {
  return Bytes::nearest(count * static_cast<double>(entry_B));
}

Encoded Sparse::select(const Group& group, double sent) const {
  Encoded encoded;
  encoded.elements = elements(group);
  encoded.sent = sent;
  const auto size_B = static_cast<double>(group.size.count());
  encoded.compress = selection.of(encoded.elements, size_B);
  encoded.local = host_copy.of(encoded.elements, size_B);
  return encoded;
}

Sparse read_sparse(Object& fields, const CompressionContext& context) {
  Sparse sparse;
  sparse.workers = context.workers;
  if (const auto field = fields.find("density")) sparse.densities = read_densities(*field);
  if (const auto field = fields.find("element")) sparse.element_B = field->bytes().count();
  if (const auto field = fields.find("entry")) sparse.entry_B = field->bytes().count();
  if (sparse.element_B < 1 || sparse.entry_B < 1)
    fields.value().fail("expected an `element` and an `entry` of at least one byte");
  if (const auto field = fields.find("whole_entries")) sparse.whole_entries = field->flag();
  sparse.feedback = read_feedback(fields, true);
  if (const auto work = find_work(fields, "host_copy")) sparse.host_copy = *work;
  if (const auto work = find_work(fields, "selection"))
    sparse.selection = *work;
  else
    sparse.notes.emplace_back("compression: selecting takes no time; `selection` says how long");
  return sparse;
}

void gather_entries(const Sparse& sparse, bool separate_indices, Encoded& encoded) {
  const double all = sparse.workers * encoded.sent;
  const Bytes size = sparse.entries(all);
  const bool fractional = !sparse.whole_entries;
  encoded.delivered = std::min(encoded.elements, all);
  if (!separate_indices) {
    encoded.transfers[0] = {Operation::allgather, size, {}, fractional};
    encoded.transfer_count = 1;
    return;
  }
  const Bytes values = Bytes::nearest(all * static_cast<double>(sparse.element_B));
  encoded.transfers[0] = {Operation::allgather, values, {}, fractional};
  encoded.transfers[1] = {Operation::allgather, size - values, {}, fractional};
  encoded.transfer_count = 2;
}

Compression sparse_compression(const Sparse& sparse, learning::Numbers numbers, Operation operation,
                               const std::string& algorithm,
                               std::function<Encoded(const Group&, double density)> encode) {
  Compression compression;
  compression.operation = operation;
  compression.algorithm = algorithm;
  compression.densities = sparse.densities;
  compression.numbers.numbers = numbers;
  compression.numbers.feedback = sparse.feedback;
  compression.numbers.densities.clear();
  for (const DensityStep& step : sparse.densities)
    compression.numbers.densities.push_back({step.density, step.iterations});
  compression.encode = std::move(encode);
  compression.notes = sparse.notes;
  return compression;
}

}  // namespace sgdsim
