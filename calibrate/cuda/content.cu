// Kernels go in steps of 16 bits, the smallest element: at any alignment, and at a part of the
// memory's rate that is fast enough (by estimate, 4 GiB in some 20 ms on an H100).
#include <algorithm>
#include <cassert>
#include <cstring>

#include "calibrate/cuda/content.cuh"
#include "calibrate/cuda/types.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

constexpr std::size_t most_in_piece_B = std::size_t{8} << 20;
constexpr int64_t unit_B = 2;
using Unit = uint16_t;
using Place64 = unsigned long long;  // as atomicMin has it

__global__ void repeat_period(Unit* to, int64_t count, const Unit* period, int64_t length,
                              int64_t from) {
  for (int64_t i = first_of_thread(); i < count; i += threads_of_grid())
    to[i] = period[(from + i) % length];
}

// first: the first place of all threads, whose own ascend.
__global__ void find_difference(const Unit* in, int64_t count, const Unit* period, int64_t length,
                                int64_t from, Place64* first) {
  for (int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    if (in[i] == period[(from + i) % length]) continue;
    atomicMin(first, static_cast<Place64>(i));
    return;
  }
}

int64_t units(int64_t bytes) {
  assert(bytes % unit_B == 0);
  return bytes / unit_B;
}

}  // namespace

void Content::copy_piece(void* to, const void* from, std::size_t bytes) {
  SGDSIM_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr));
  wait_for_stream(nullptr, patience_, "a copy between the host and a GPU");
}

void Content::send(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (piece_.get() == nullptr) piece_ = make_host_memory(most_in_piece_B);
  for (std::size_t at = 0; at < bytes; at += most_in_piece_B) {
    const std::size_t piece_B = std::min(most_in_piece_B, bytes - at);
    std::memcpy(piece_.get(), from + at, piece_B);
    copy_piece(to + at, piece_.get(), piece_B);
  }
}

void Content::fetch(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (piece_.get() == nullptr) piece_ = make_host_memory(most_in_piece_B);
  for (std::size_t at = 0; at < bytes; at += most_in_piece_B) {
    const std::size_t piece_B = std::min(most_in_piece_B, bytes - at);
    copy_piece(piece_.get(), from + at, piece_B);
    std::memcpy(to + at, piece_.get(), piece_B);
  }
}

const Unit* Content::sent_period(int device, const Stretch& stretch) {
  if (device_ != device || period_B_ < stretch.period.size()) {
    period_ = make_memory(device, stretch.period.size());
    first_ = make_memory(device, sizeof(Place64));
    device_ = device;
    period_B_ = stretch.period.size();
  }
  send(static_cast<std::byte*>(period_.get()), stretch.period.data(), stretch.period.size());
  return static_cast<const Unit*>(period_.get());
}

void Content::write(int device, std::byte* data, const Stretch& stretch) {
  const OnDevice there(device);
  std::byte* const to = data + stretch.at_B;
  const auto bytes = static_cast<std::size_t>(stretch.bytes);
  if (bytes == 0) return;
  if (stretch.period.empty()) {
    SGDSIM_CUDA_CHECK(cudaMemsetAsync(to, 0xff, bytes, nullptr));
  } else if (static_cast<std::size_t>(stretch.from_B) + bytes <= stretch.period.size()) {
    return send(to, stretch.period.data() + stretch.from_B, bytes);
  } else {
    const Unit* const period = sent_period(device, stretch);
    launch_over(units(stretch.bytes), repeat_period, nullptr, reinterpret_cast<Unit*>(to),
                units(stretch.bytes), period, units(static_cast<int64_t>(stretch.period.size())),
                units(stretch.from_B));
  }
  wait_for_stream(nullptr, patience_, "the filling of a buffer");
}

std::vector<std::byte> Content::read(int device, const std::byte* data, int64_t bytes) {
  const OnDevice there(device);
  std::vector<std::byte> answer(static_cast<std::size_t>(bytes));
  fetch(answer.data(), data, answer.size());
  return answer;
}

int64_t Content::first_difference(int device, const std::byte* data, const Stretch& stretch) {
  const OnDevice there(device);
  if (stretch.bytes == 0) return -1;
  const Unit* const period = sent_period(device, stretch);
  // Sent and waited for: a kernel's first launch may wait for what is queued before it.
  Place64 first = ~Place64{0};
  send(static_cast<std::byte*>(first_.get()), reinterpret_cast<const std::byte*>(&first),
       sizeof first);
  launch_over(units(stretch.bytes), find_difference, nullptr,
              reinterpret_cast<const Unit*>(data + stretch.at_B), units(stretch.bytes), period,
              units(static_cast<int64_t>(stretch.period.size())), units(stretch.from_B),
              static_cast<Place64*>(first_.get()));
  wait_for_stream(nullptr, patience_, "the comparison of a buffer");
  fetch(reinterpret_cast<std::byte*>(&first), static_cast<const std::byte*>(first_.get()),
        sizeof first);
  return first == ~Place64{0} ? -1 : stretch.at_B + unit_B * static_cast<int64_t>(first);
}

}  // namespace sgdsim::calibrate::cuda
