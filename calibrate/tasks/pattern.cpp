// Which parts of the message count before and after each operation, and what stands there.
#include "calibrate/tasks/pattern.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sgdsim::calibrate {
namespace {

// Whose numbers stand in a part of the message; otherwise a rank's.
constexpr int everybody = -1;  // the sum
constexpr int nobody = -2;

struct Stretch {
  Part part;
  int whose = nobody;
};

std::vector<Stretch> whole(const Collective& collective, int whose) {
  return {{{0, collective.bytes}, whose}};
}

template <class F>
std::vector<Stretch> chunks(const Collective& collective, const F& whose) {
  std::vector<Stretch> all;
  for (int rank = 0; rank < collective.ranks; ++rank)
    all.push_back({part_of(collective, rank, 1, collective.ranks), whose(rank)});
  return all;
}

std::vector<Stretch> input_of(const Collective& collective, int rank) {
  if (collective.operation == "broadcast")
    return whole(collective, rank == root_of(collective) ? rank : nobody);
  if (collective.operation == "allgather")
    return chunks(collective, [rank](int owner) { return owner == rank ? rank : nobody; });
  return whole(collective, rank);
}

// What the operation promises to a rank; nothing is promised of a part that is nobody's.
std::vector<Stretch> output_of(const Collective& collective, int rank) {
  if (collective.operation == "broadcast") return whole(collective, root_of(collective));
  if (collective.operation == "allgather")
    return chunks(collective, [](int owner) { return owner; });
  if (collective.operation == "reduce")
    return whole(collective, rank == root_of(collective) ? everybody : nobody);
  if (collective.operation == "reduce_scatter")
    return chunks(collective, [rank](int owner) { return owner == rank ? everybody : nobody; });
  return whole(collective, everybody);
}

Repeating numbers_of(const Collective& collective, Type type, int whose) {
  return {type, collective.bytes / size_of(type), [&collective, whose](int64_t element) {
            if (whose == nobody) return std::numeric_limits<float>::quiet_NaN();
            if (whose != everybody) return pattern(whose, element);
            float sum = 0;
            for (int rank = 0; rank < collective.ranks; ++rank) sum += pattern(rank, element);
            return sum;
          }};
}

}  // namespace

// Neighbours, blocks and ranks look unlike each other: the mixing of splitmix64 (Steele et al.,
// OOPSLA 2014).
float pattern(int rank, int64_t element) {
  uint64_t mixed = static_cast<uint64_t>(element % pattern_period) << 16U;
  mixed = (mixed + static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111eb;
  return static_cast<float>((mixed ^ (mixed >> 31U)) % 5);
}

Repeating::Repeating(Type type, int64_t count, const std::function<float(int64_t)>& value) {
  const int64_t size_B = size_of(type);
  count = std::min(count, pattern_period);
  period_.resize(static_cast<std::size_t>(count * size_B));
  for (int64_t i = 0; i < count; ++i) store(type, period_.data() + i * size_B, value(i));
}

void Repeating::write(std::byte* to, int64_t at_B, int64_t bytes) const {
  const auto period_B = static_cast<int64_t>(period_.size());
  for (int64_t done_B = 0; done_B < bytes;) {
    const int64_t from_B = (at_B + done_B) % period_B;
    const int64_t step_B = std::min(period_B - from_B, bytes - done_B);
    std::memcpy(to + done_B, period_.data() + from_B, static_cast<std::size_t>(step_B));
    done_B += step_B;
  }
}

int64_t Repeating::first_difference(const std::byte* in, int64_t at_B, int64_t bytes) const {
  const auto period_B = static_cast<int64_t>(period_.size());
  for (int64_t done_B = 0; done_B < bytes;) {
    const int64_t from_B = (at_B + done_B) % period_B;
    const int64_t step_B = std::min(period_B - from_B, bytes - done_B);
    const std::byte* expected = period_.data() + from_B;
    if (std::memcmp(in + done_B, expected, static_cast<std::size_t>(step_B)) != 0)
      return at_B + done_B +
             (std::mismatch(expected, expected + step_B, in + done_B).first - expected);
    done_B += step_B;
  }
  return -1;
}

int64_t room_B(const Collective& collective) {
  if (collective.operation != "alltoall") return collective.bytes;
  const int64_t largest_B = part_of(collective, 0, 1, collective.ranks).bytes;
  return aligned_B(collective.bytes) + collective.ranks * largest_B;
}

// 0xff is NaN in every type.
void fill(const Collective& collective, Type type, int rank, std::vector<std::byte>& data) {
  data.assign(static_cast<std::size_t>(room_B(collective)), std::byte{0xff});
  for (const Stretch& stretch : input_of(collective, rank))
    numbers_of(collective, type, stretch.whose)
        .write(data.data() + stretch.part.at_B, stretch.part.at_B, stretch.part.bytes);
}

namespace {
int64_t first_wrong_of_alltoall(const Collective& collective, Type type, int rank,
                                const std::vector<std::byte>& data) {
  const Part part = part_of(collective, rank, 1, collective.ranks);
  for (int sender = 0; sender < collective.ranks; ++sender) {
    if (sender == rank) continue;
    const int64_t wrong_B =
        numbers_of(collective, type, sender)
            .first_difference(data.data() + taken_at(collective, rank, sender).at_B, part.at_B,
                              part.bytes);
    if (wrong_B >= 0) return wrong_B / size_of(type);
  }
  return -1;
}
}  // namespace

int64_t first_wrong(const Collective& collective, Type type, int rank,
                    const std::vector<std::byte>& data) {
  if (collective.operation == "alltoall")
    return first_wrong_of_alltoall(collective, type, rank, data);
  for (const Stretch& stretch : output_of(collective, rank)) {
    if (stretch.whose == nobody) continue;
    const int64_t wrong_B = numbers_of(collective, type, stretch.whose)
                                .first_difference(data.data() + stretch.part.at_B,
                                                  stretch.part.at_B, stretch.part.bytes);
    if (wrong_B >= 0) return wrong_B / size_of(type);
  }
  return -1;
}

}  // namespace sgdsim::calibrate
