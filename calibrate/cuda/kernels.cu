// Sums are limited by memory: 16-byte loads and stores, and enough threads to fill every GPU. Plans
// place what is summed alike modulo 16 (plan.h), so that every sum is one kernel with such
// accesses; what lies otherwise is summed element by element. Types of 16 bits are added in float
// and rounded once, as on the host.
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
// element by element.
template <class T>
__global__ void sum_packs(T* to, const T* from, const T* with, int64_t head, int64_t packs,
                          int64_t count) {
  constexpr auto in_pack = static_cast<int64_t>(16 / sizeof(T));
  using Sixteen = Pack<T, 16 / sizeof(T)>;
  for (int64_t i = first_of_thread(); i < packs; i += threads_of_grid()) {
    const auto a = reinterpret_cast<const Sixteen*>(from + head)[i];
    const auto b = reinterpret_cast<const Sixteen*>(with + head)[i];
    Sixteen answer;
#pragma unroll
    for (int k = 0; k < static_cast<int>(in_pack); ++k)
      answer.values[k] = add(a.values[k], b.values[k]);
    reinterpret_cast<Sixteen*>(to + head)[i] = answer;
  }
  const int64_t packed = packs * in_pack;
  for (int64_t i = first_of_thread(); i < count - packed; i += threads_of_grid()) {
    const int64_t at = i < head ? i : i + packed;
    to[at] = add(from[at], with[at]);
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

template <class T>
void sum_of(void* to, const void* from, const void* with, int64_t bytes, cudaStream_t stream) {
  constexpr auto in_pack = static_cast<int64_t>(16 / sizeof(T));
  const auto count = bytes / static_cast<int64_t>(sizeof(T));
  const bool are_alike = beyond_16(to) == beyond_16(from) && beyond_16(to) == beyond_16(with);
  const auto to_aligned = static_cast<int64_t>((16 - beyond_16(to)) % 16 / sizeof(T));
  const int64_t head = are_alike ? std::min(to_aligned, count) : 0;
  const int64_t packs = are_alike ? (count - head) / in_pack : 0;
  launch_over(std::max(packs, count - packs * in_pack), sum_packs<T>, stream, static_cast<T*>(to),
              static_cast<const T*>(from), static_cast<const T*>(with), head, packs, count);
}

}  // namespace

void launch_sum(Type type, void* to, const void* from, const void* with, int64_t bytes,
                cudaStream_t stream) {
  for_type(type, [&]<class T>(T) { sum_of<T>(to, from, with, bytes, stream); });
}

void launch_nothing(cudaStream_t stream) { launch(nothing, 1, 1, stream); }

void launch_gate(volatile int* gate, cudaStream_t stream) {
  launch(wait_for_opening, 1, 1, stream, gate);
}

}  // namespace sgdsim::calibrate::cuda
