// Which parts of the message count before and after each operation, and what stands there.
#include "calibrate/tasks/pattern.h"

#include <algorithm>

namespace sgdsim::calibrate {
namespace {

// Whose numbers stand in a part of the message; otherwise a rank's.
constexpr int everybody = -1;  // the sum
constexpr int nobody = -2;

struct Share {
  Part part;
  int whose = nobody;
};

std::vector<Share> whole(const Collective& collective, int whose) {
  return {{{0, collective.bytes}, whose}};
}

template <class F>
std::vector<Share> chunks(const Collective& collective, const F& whose) {
  std::vector<Share> all;
  for (int rank = 0; rank < collective.ranks; ++rank)
    all.push_back({part_of(collective, rank, 1, collective.ranks), whose(rank)});
  return all;
}

std::vector<Share> input_of(const Collective& collective, int rank) {
  if (collective.operation == "broadcast")
    return whole(collective, rank == root_of(collective) ? rank : nobody);
  if (collective.operation == "allgather")
    return chunks(collective, [rank](int owner) { return owner == rank ? rank : nobody; });
  return whole(collective, rank);
}

// What the operation promises to a rank; nothing is promised of a part that is nobody's.
std::vector<Share> output_of(const Collective& collective, int rank) {
  if (collective.operation == "broadcast") return whole(collective, root_of(collective));
  if (collective.operation == "allgather")
    return chunks(collective, [](int owner) { return owner; });
  if (collective.operation == "reduce")
    return whole(collective, rank == root_of(collective) ? everybody : nobody);
  if (collective.operation == "reduce_scatter")
    return chunks(collective, [rank](int owner) { return owner == rank ? everybody : nobody; });
  return whole(collective, everybody);
}

Stretch numbers_of(const Collective& collective, Type type, const Share& share, int64_t at_B) {
  const int whose = share.whose;
  if (whose == nobody) return {.at_B = at_B, .bytes = share.part.bytes};
  const auto value = [&collective, whose](int64_t element) {
    if (whose != everybody) return pattern(whose, element);
    float sum = 0;
    for (int rank = 0; rank < collective.ranks; ++rank) sum += pattern(rank, element);
    return sum;
  };
  return repeating(type, collective.bytes / size_of(type), value, at_B, share.part.at_B,
                   share.part.bytes);
}

// The mixing of splitmix64 (Steele et al., OOPSLA 2014).
uint64_t mixed(uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31U);
}

}  // namespace

// Neighbours, blocks and ranks look unlike each other.
float pattern(int rank, int64_t element) {
  const uint64_t number = static_cast<uint64_t>(element % pattern_period) << 16U;
  return static_cast<float>(mixed((number + static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15) %
                            5);
}

Stretch repeating(Type type, int64_t count, const std::function<float(int64_t)>& value,
                  int64_t at_B, int64_t from_B, int64_t bytes) {
  const int64_t size_B = size_of(type);
  count = std::min(count, pattern_period);
  Stretch stretch{.at_B = at_B, .bytes = bytes, .from_B = from_B};
  stretch.period.resize(static_cast<std::size_t>(count * size_B));
  for (int64_t i = 0; i < count; ++i) store(type, stretch.period.data() + i * size_B, value(i));
  return stretch;
}

// From 2^-13 to 2^-12 in float16, whose smallest normal number is 2^-14, and 2^-60 in the others.
Stretch noise(Type type, int rank, int64_t bytes) {
  const float scale = type == Type::float16 ? 0x1p-13F : 0x1p-60F;
  const auto value = [=](int64_t element) {
    const uint64_t number = (static_cast<uint64_t>(rank) << 32U) + static_cast<uint64_t>(element);
    const uint64_t bits = mixed((number + 1) * 0x9e3779b97f4a7c15);
    const float mantissa = 1 + static_cast<float>(bits & 0x7fffffU) * 0x1p-23F;
    return (bits >> 63U) != 0 ? -scale * mantissa : scale * mantissa;
  };
  return repeating(type, pattern_period, value, 0, 0, bytes);
}

int64_t room_B(const Collective& collective) {
  if (collective.operation != "alltoall") return collective.bytes;
  const int64_t largest_B = part_of(collective, 0, 1, collective.ranks).bytes;
  return aligned_B(collective.bytes) + collective.ranks * largest_B;
}

Stretches content_before(const Collective& collective, Type type, int rank) {
  Stretches all;
  for (const Share& share : input_of(collective, rank))
    all.push_back(numbers_of(collective, type, share, share.part.at_B));
  const int64_t rest_B = room_B(collective) - collective.bytes;
  if (rest_B > 0) all.push_back({.at_B = collective.bytes, .bytes = rest_B});
  return all;
}

Stretches content_after(const Collective& collective, Type type, int rank) {
  Stretches all;
  if (collective.operation == "alltoall") {
    const Part part = part_of(collective, rank, 1, collective.ranks);
    for (int sender = 0; sender < collective.ranks; ++sender)
      if (sender != rank)
        all.push_back(
            numbers_of(collective, type, {part, sender}, taken_at(collective, rank, sender).at_B));
    return all;
  }
  for (const Share& share : output_of(collective, rank))
    if (share.whose != nobody) all.push_back(numbers_of(collective, type, share, share.part.at_B));
  return all;
}

}  // namespace sgdsim::calibrate
