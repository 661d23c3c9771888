// The number types of element.h as the compiler of CUDA knows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "calibrate/element.h"

namespace sgdsim::calibrate::cuda {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

// A float rounded to the type, and how many of the lowest bits of its float32 are then zero.
template <class T>
struct Kind;
template <>
struct Kind<float> {
  static constexpr int zeros = 0;
  static __device__ float of(float value) { return value; }
};
template <>
struct Kind<__half> {
  static constexpr int zeros = 13;
  static __device__ __half of(float value) { return __float2half_rn(value); }
};
template <>
struct Kind<__nv_bfloat16> {
  static constexpr int zeros = 16;
  static __device__ __nv_bfloat16 of(float value) { return __float2bfloat16_rn(value); }
};

// Elements that are read and written together.
template <class T, std::size_t count>
struct alignas(sizeof(T) * count) Pack {
  T values[count];
};

// As many elements as the widest access of a thread takes, 16 bytes.
template <class T>
inline constexpr int in_pack = static_cast<int>(16 / sizeof(T));
template <class T>
using Sixteen = Pack<T, in_pack<T>>;

template <class P>
bool is_aligned_for(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % alignof(P) == 0;
}

// A loop of every thread: from this, in steps of that.
__device__ inline int64_t first_of_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t threads_of_grid() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// use(i, pack) for every pack that is this thread's. Two are loaded before the first is used, so
// that twice as much of the memory's latency is hidden.
template <class P, class F>
__device__ void for_packs(const P* packs, int64_t count, const F& use) {
  const int64_t step = threads_of_grid();
  for (int64_t i = first_of_thread(); i < count; i += 2 * step) {
    const bool has_second = i + step < count;
    const P first = packs[i];
    const P second = packs[has_second ? i + step : i];
    use(i, first);
    if (has_second) use(i + step, second);
  }
}

// Calls what is given with a value of the type.
template <class F>
void for_type(Type type, const F& call) {
  if (type == Type::float32) call(float{});
  if (type == Type::float16) call(__half{});
  if (type == Type::bfloat16) call(__nv_bfloat16{});
}

}  // namespace sgdsim::calibrate::cuda
