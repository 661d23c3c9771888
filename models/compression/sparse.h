// What top-k compressions share: fields, how many elements are sent, and what that costs.
#pragma once

#include "models/compression/compression.h"
#include "models/compression/work.h"

namespace sgdsim {

struct Sparse {
  int workers = 1;
  std::vector<DensityStep> densities{{0.001, 0}};
  int64_t element_B = 4;      // of the gradient
  int64_t entry_B = 8;        // a value and its index, on the wire
  bool whole_entries = true;  // k = max(int(density * m), 1); else exactly density * m
  Work selection;             // of the k largest
  Work merge;                 // gtopk: of two lists, at every hop
  Work host_copy;             // of the group, in the exchange's own time
  bool feedback = true;       // what is not sent is added to the next gradient
  std::vector<std::string> notes;

  double elements(const Group& group) const {
    return static_cast<double>(group.size.count()) / static_cast<double>(element_B);
  }
  double selected(double elements, double density) const;
  Bytes entries(double count) const;  // bytes of so many

  // Selection and copies of a group; its transfers are still missing.
  Encoded select(const Group& group, double sent) const;
};

Sparse read_sparse(Object& fields, const CompressionContext& context);
// Everybody gets everybody's entries, in one all-gather or (`separate_indices`) in two.
void gather_entries(const Sparse& sparse, bool separate_indices, Encoded& encoded);

// A compression around this encoder, which does this to numbers.
Compression sparse_compression(const Sparse& sparse, learning::Numbers numbers, Operation operation,
                               const std::string& algorithm,
                               std::function<Encoded(const Group&, double density)> encode);

}  // namespace sgdsim
