// Counting entries, and reading the fields of top-k compressions.
#include "models/compression/sparse.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {
namespace {

void check_density(const Value& value) {
  if (value.number(0, 1) <= 0) value.fail("expected a density above 0, up to 1");
}

}  // namespace

Fields fields_of(DensityStep& step) {
  return {Field("density", step.density, "part of the elements in this step")
              .needed()
              .from(0, 1)
              .also(check_density),
          Field("iterations", step.iterations, "measured iterations; the last step has none")
              .from(1, 1'000'000'000)
              .otherwise("all others")};
}

void read_value(const Value& value, Densities& densities) {
  densities.steps.clear();
  if (!value.json().is_array()) {
    check_density(value);
    densities.steps.push_back({value.number(0, 1), 0});
    return;
  }
  for (const Value& item : value.items()) {
    if (!densities.steps.empty() && densities.steps.back().iterations == 0)
      item.fail("the density before it has no `iterations`, so this one is never reached");
    densities.steps.push_back(read_record<DensityStep>(item));
  }
  if (densities.steps.empty()) value.fail("expected at least one density");
  if (densities.steps.back().iterations != 0)
    value.fail("the last density holds for the rest: expected no `iterations`");
}

Json schema_of_value(const Densities&) {
  return any_of({{{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
                 list_schema(schema_of_record<DensityStep>(), 1)});
}

Json json_of_value(const Densities& densities) { return densities.steps.front().density; }

double Sparse::selected(double elements, double density) const {
  if (!whole_entries) return density * elements;
  // The products of decimal fractions lie a little beside the whole number that is meant.
  const double product = density * elements;
  const double nearest = std::round(product);
  const double k = std::abs(product - nearest) < 1e-9 * product ? nearest : std::floor(product);
  return std::min(std::max(k, 1.), std::max(1., elements));
}

// A part of an entry is a message, too: a byte at least.
Bytes Sparse::entries(double count) const {
  return count > 0 ? Bytes::nearest(std::max(1., count * entry_B())) : Bytes();
}

Encoded Sparse::select(const Group& group, double sent) const {
  Encoded encoded;
  encoded.elements = elements(group);
  encoded.sent = sent;
  const auto size_B = static_cast<double>(group.size.count());
  if (selection) encoded.compress = selection->of(encoded.elements, size_B);
  encoded.local = host_copy.of(encoded.elements, size_B);
  return encoded;
}

Fields fields_of(Sparse& sparse) {
  return {
      {"density", sparse.densities,
       "part of the elements that each worker sends, or a list of steps"},
      element_field(sparse.element),
      Field("entry", sparse.entry, "bytes of a value and its index").also(check_some_bytes),
      {"whole_entries", sparse.whole_entries, "k = max(int(density m), 1), or exactly density m"},
      feedback_field(sparse.feedback),
      Field("selection", sparse.selection, "time to select the k largest").otherwise("no time"),
      Field("host_copy", sparse.host_copy,
            "time of copies between device and host, at the start of the exchange")
          .otherwise("no time")};
}

Field separate_indices_field(bool& separate) {
  return {"separate_indices", separate, "values and indices are gathered one after the other"};
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
  const Bytes values = Bytes::nearest(all * sparse.element_B());
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
  compression.densities = sparse.densities.steps;
  compression.numbers.numbers = numbers;
  compression.numbers.feedback = sparse.feedback;
  compression.numbers.densities.clear();
  for (const DensityStep& step : sparse.densities.steps)
    compression.numbers.densities.push_back({step.density, step.iterations});
  compression.encode = std::move(encode);
  if (!sparse.selection)
    compression.notes.emplace_back(
        "compression: selecting takes no time; `selection` says how long");
  return compression;
}

}  // namespace sgdsim
