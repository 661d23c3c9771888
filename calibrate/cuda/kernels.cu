// Sums and copies are limited by memory: 16-byte loads and stores, two under way in each thread,
// and as many threads as the GPU holds. Plans place what is summed alike modulo 16 (plan.h), so
// that every sum is one kernel with such accesses; what lies otherwise goes element by element.
// Types of 16 bits are added in float and rounded once, as on the host.
#include <algorithm>

#include "calibrate/cuda/clocks.cuh"
#include "calibrate/cuda/kernels.cuh"
#include "calibrate/cuda/types.cuh"
#include "calibrate/cuda/values.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

constexpr uint64_t gate_ns = 5'000'000'000;

template <class T>
__device__ T add(T a, T b) {
  return Kind<T>::of(to_float(a) + to_float(b));
}

// 16 bytes at a time from the first place that is aligned so, and what lies before and behind it
// element by element. Two packs of each operand are loaded before the first sum is stored: the
// compiler may not move a load before a store that might be to the same place.
template <class T>
__global__ void __launch_bounds__(threads_of_block)
    sum_packs(T* to, const T* from, const T* with, int64_t head, int64_t packs, int64_t count) {
  constexpr int in_flight = 2;
  const int64_t step = threads_of_grid();
  for (int64_t i = first_of_thread(); i < packs; i += in_flight * step) {
    Sixteen<T> a[in_flight];
    Sixteen<T> b[in_flight];
#pragma unroll
    for (int n = 0; n < in_flight; ++n) {
      const int64_t at = i + n * step < packs ? i + n * step : i;
      a[n] = reinterpret_cast<const Sixteen<T>*>(from + head)[at];
      b[n] = reinterpret_cast<const Sixteen<T>*>(with + head)[at];
    }
#pragma unroll
    for (int n = 0; n < in_flight; ++n) {
      Sixteen<T> answer;
#pragma unroll
      for (int k = 0; k < in_pack<T>; ++k) answer.values[k] = add(a[n].values[k], b[n].values[k]);
      if (i + n * step < packs) reinterpret_cast<Sixteen<T>*>(to + head)[i + n * step] = answer;
    }
  }
  const int64_t packed = packs * in_pack<T>;
  for (int64_t i = first_of_thread(); i < count - packed; i += threads_of_grid()) {
    const int64_t at = i < head ? i : i + packed;
    to[at] = add(from[at], with[at]);
  }
}

// As a memory copy, by the multiprocessors instead of a copy engine.
__global__ void __launch_bounds__(threads_of_block)
    copy_packs(std::byte* to, const std::byte* from, int64_t head, int64_t packs, int64_t count) {
  for_packs(reinterpret_cast<const Sixteen<std::byte>*>(from + head), packs,
            [&](int64_t i, const Sixteen<std::byte>& pack) {
              reinterpret_cast<Sixteen<std::byte>*>(to + head)[i] = pack;
            });
  const int64_t packed = packs * in_pack<std::byte>;
  for (int64_t i = first_of_thread(); i < count - packed; i += threads_of_grid()) {
    const int64_t at = i < head ? i : i + packed;
    to[at] = from[at];
  }
}

__global__ void nothing() {}

// By the GPU's timer: its clock rate may change while it waits.
__global__ void wait_for_opening(volatile int* gate) {
  const uint64_t start = global_ns();
  while (gate[0] == 0) {
    if (global_ns() - start < gate_ns) continue;
    gate[1] = 1;
    return;
  }
}

std::uintptr_t beyond_16(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16; }

// What kernels of packs are told: elements before the first place that is aligned to 16 bytes, and
// packs from there on; none where the operands lie unlike.
struct Packs {
  int64_t head = 0;
  int64_t packs = 0;
  int64_t threads = 0;  // that find something to do
};

Packs packs_of(bool are_alike, const void* to, int64_t count, int64_t element_B) {
  const int64_t each = 16 / element_B;
  const auto to_aligned = static_cast<int64_t>((16 - beyond_16(to)) % 16) / element_B;
  const int64_t head = are_alike ? std::min(to_aligned, count) : 0;
  const int64_t packs = are_alike ? (count - head) / each : 0;
  return {head, packs, std::max((packs + 1) / 2, count - packs * each)};
}

template <class T>
void sum_of(void* to, const void* from, const void* with, int64_t bytes, cudaStream_t stream) {
  const auto count = bytes / static_cast<int64_t>(sizeof(T));
  const bool are_alike = beyond_16(to) == beyond_16(from) && beyond_16(to) == beyond_16(with);
  const Packs all = packs_of(are_alike, to, count, sizeof(T));
  launch_over(all.threads, sum_packs<T>, stream, static_cast<T*>(to), static_cast<const T*>(from),
              static_cast<const T*>(with), all.head, all.packs, count);
}

}  // namespace

void launch_sum(Type type, void* to, const void* from, const void* with, int64_t bytes,
                cudaStream_t stream) {
  for_type(type, [&]<class T>(T) { sum_of<T>(to, from, with, bytes, stream); });
}

void launch_copy(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  const Packs all = packs_of(beyond_16(to) == beyond_16(from), to, bytes, 1);
  launch_over(all.threads, copy_packs, stream, static_cast<std::byte*>(to),
              static_cast<const std::byte*>(from), all.head, all.packs, bytes);
}

void launch_nothing(cudaStream_t stream) { launch(nothing, 1, 1, stream); }

void launch_gate(volatile int* gate, cudaStream_t stream) {
  launch(wait_for_opening, 1, 1, stream, gate);
}

}  // namespace sgdsim::calibrate::cuda
