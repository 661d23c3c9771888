// What top-k compressions share: fields, how many elements are sent, and what that costs.
#pragma once

#include "models/compression/compression.h"
#include "models/compression/work.h"

namespace sgdsim {

struct Densities {
  std::vector<DensityStep> steps{{0.001, 0}};
};
void read_value(const Value& value, Densities& densities);
Json schema_of_value(const Densities& densities);
Json json_of_value(const Densities& densities);

struct Sparse {
  int workers = 1;
  Densities densities;
  Bytes element{4};               // of the gradient
  Bytes entry{8};                 // a value and its index, on the wire
  bool whole_entries = true;      // k = max(int(density * m), 1); else exactly density * m
  std::optional<Work> selection;  // of the k largest
  Work host_copy;                 // of the group, in the exchange's own time
  bool feedback = true;           // what is not sent is added to the next gradient

  double elements(const Group& group) const {
    return static_cast<double>(group.size.count()) / element_B();
  }
  double element_B() const { return static_cast<double>(element.count()); }
  double entry_B() const { return static_cast<double>(entry.count()); }
  double selected(double elements, double density) const;
  Bytes entries(double count) const;  // bytes of so many

  // Selection and copies of a group; its transfers are still missing.
  Encoded select(const Group& group, double sent) const;
};

Fields fields_of(Sparse& sparse);
// Values and indices in a collective each.
Field separate_indices_field(bool& separate);
// Everybody gets everybody's entries, in one all-gather or (`separate_indices`) in two.
void gather_entries(const Sparse& sparse, bool separate_indices, Encoded& encoded);

// A compression around this encoder, which does this to numbers.
Compression sparse_compression(const Sparse& sparse, learning::Numbers numbers, Operation operation,
                               const std::string& algorithm,
                               std::function<Encoded(const Group&, double density)> encode);

}  // namespace sgdsim
