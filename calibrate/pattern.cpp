// Which elements count before and after each operation.
#include "calibrate/pattern.h"

#include <limits>

namespace sgdsim::calibrate {
namespace {

float sum_of_all(int ranks, int64_t element) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += pattern(rank, element);
  return sum;
}

// Which rank's chunk an element is in.
int owner(const Collective& collective, int64_t element) {
  int low = 0;
  int high = collective.ranks - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    const Part part = part_of(collective, middle, 1, collective.ranks);
    if (element * collective.element_B < part.at_B + part.bytes)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

bool is_input(const Collective& collective, int rank, int64_t element) {
  if (collective.operation == "broadcast") return rank == root_of(collective);
  if (collective.operation == "allgather") return owner(collective, element) == rank;
  return true;
}

// Whether the operation promises this element to this rank, and if so its value.
struct Promise {
  bool is_made = true;
  float value = 0;
};
Promise promised(const Collective& collective, int rank, int64_t element) {
  const std::string& operation = collective.operation;
  if (operation == "broadcast") return {true, pattern(root_of(collective), element)};
  if (operation == "allgather") return {true, pattern(owner(collective, element), element)};
  const float sum = sum_of_all(collective.ranks, element);
  if (operation == "reduce") return {rank == root_of(collective), sum};
  if (operation == "reduce_scatter") return {owner(collective, element) == rank, sum};
  return {true, sum};
}

}  // namespace

// Multiplicative hashing: neighbours, blocks and ranks look unlike each other.
float pattern(int rank, int64_t element) {
  const uint64_t mixed = static_cast<uint64_t>(element) * 0x9e3779b97f4a7c15 +
                         static_cast<uint64_t>(rank) * 0xbf58476d1ce4e5b9;
  return static_cast<float>((mixed >> 33U) % 5);
}

void fill(const Collective& collective, Type type, int rank, std::vector<std::byte>& data) {
  const int64_t size_B = size_of(type);
  data.resize(static_cast<std::size_t>(collective.bytes));
  for (int64_t i = 0; i < collective.bytes / size_B; ++i)
    store(
        type, data.data() + i * size_B,
        is_input(collective, rank, i) ? pattern(rank, i) : std::numeric_limits<float>::quiet_NaN());
}

int64_t first_wrong(const Collective& collective, Type type, int rank,
                    const std::vector<std::byte>& data) {
  const int64_t size_B = size_of(type);
  for (int64_t i = 0; i < collective.bytes / size_B; ++i) {
    const Promise promise = promised(collective, rank, i);
    if (promise.is_made && load(type, data.data() + i * size_B) != promise.value) return i;
  }
  return -1;
}

}  // namespace sgdsim::calibrate
