// Selection by CUB's radix sort, which is stable: sorted by magnitude, downwards, from the order of
// indices, entries of equal magnitude stay in the order of their indices. The magnitudes of floats
// order as their bits without the sign do. A pair is one 64-bit value, index above value; values
// are float32 while they are sorted, whatever the type, and types of 16 bits leave the lowest bits
// zero, which the sorts then need not look at.
#include <algorithm>
#include <cub/cub.cuh>

#include "calibrate/cuda/sparse.cuh"
#include "calibrate/cuda/types.cuh"

namespace sgdsim::calibrate::cuda {
namespace {

constexpr uint32_t no_index = 0xffffffffU;

__device__ uint64_t pair_of(uint32_t index, float value) {
  return static_cast<uint64_t>(index) << 32U | __float_as_uint(value);
}
__device__ uint32_t index_of(uint64_t pair) { return static_cast<uint32_t>(pair >> 32U); }
__device__ float value_of(uint64_t pair) { return __uint_as_float(static_cast<uint32_t>(pair)); }
__device__ uint32_t size_key(float value) { return __float_as_uint(value) & 0x7fffffffU; }

// Most work here is reading and writing memory: four elements a thread where all lies so that they
// can be read and written together, of which the kernels are told in `fours`; the rest one by one.
constexpr int four = 4;
using FourKeys = Pack<uint32_t, four>;
using TwoPairs = Pack<uint64_t, 2>;

template <class T>
__global__ void keys_of_data(uint32_t* keys, uint64_t* pairs, const T* data, int64_t fours,
                             int64_t elements) {
  for (int64_t i = first_of_thread(); i < fours; i += threads_of_grid()) {
    const auto values = reinterpret_cast<const Pack<T, four>*>(data)[i];
    FourKeys new_keys;
    TwoPairs new_pairs[2];
#pragma unroll
    for (int k = 0; k < four; ++k) {
      const float value = to_float(values.values[k]);
      new_keys.values[k] = size_key(value) >> Kind<T>::zeros;
      new_pairs[k / 2].values[k % 2] = pair_of(static_cast<uint32_t>(four * i + k), value);
    }
    reinterpret_cast<FourKeys*>(keys)[i] = new_keys;
    for (int k = 0; k < 2; ++k) reinterpret_cast<TwoPairs*>(pairs)[2 * i + k] = new_pairs[k];
  }
  for (int64_t i = four * fours + first_of_thread(); i < elements; i += threads_of_grid()) {
    const float value = to_float(data[i]);
    keys[i] = size_key(value) >> Kind<T>::zeros;
    pairs[i] = pair_of(static_cast<uint32_t>(i), value);
  }
}

// Pairs in memory: all indices, then all values.
template <class T>
__global__ void gather_pairs(uint32_t* keys, uint64_t* pairs, const uint32_t* a, const uint32_t* b,
                             int64_t count) {
  for (int64_t i = first_of_thread(); i < 2 * count; i += threads_of_grid()) {
    const uint32_t* from = i < count ? a : b;
    const int64_t at = i < count ? i : i - count;
    const T* values = reinterpret_cast<const T*>(from + count);
    keys[i] = from[at];
    pairs[i] = pair_of(from[at], to_float(values[at]));
  }
}

// Of two neighbours with one index the first takes the sum; the second is left with nothing.
template <class T>
__global__ void add_equal(uint32_t* keys, uint64_t* pairs, const uint64_t* sorted,
                          int64_t elements) {
  for (int64_t i = first_of_thread(); i < elements; i += threads_of_grid()) {
    const uint32_t index = index_of(sorted[i]);
    const bool is_second = i > 0 && index_of(sorted[i - 1]) == index;
    const bool has_second = i + 1 < elements && index_of(sorted[i + 1]) == index;
    float value = value_of(sorted[i]);
    if (has_second) value = to_float(Kind<T>::of(value + value_of(sorted[i + 1])));
    const bool is_nothing = is_second || index == no_index;
    pairs[i] = is_nothing ? pair_of(no_index, 0) : pair_of(index, value);
    // One more than the key of zero, so that an entry of value 0 still goes before nothing.
    keys[i] = is_nothing ? 0 : (size_key(value) >> Kind<T>::zeros) + 1;
  }
}

template <class T>
__global__ void store_first(uint32_t* to, const uint64_t* pairs, int64_t count) {
  T* values = reinterpret_cast<T*>(to + count);
  for (int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    to[i] = index_of(pairs[i]);
    values[i] = Kind<T>::of(value_of(pairs[i]));
  }
}

__global__ void to_16(__half* to, const float* from, int64_t fours, int64_t elements) {
  for (int64_t i = first_of_thread(); i < fours; i += threads_of_grid()) {
    const auto wide = reinterpret_cast<const Pack<float, four>*>(from)[i];
    Pack<__half, four> narrow;
#pragma unroll
    for (int k = 0; k < four; ++k) narrow.values[k] = __float2half_rn(wide.values[k]);
    reinterpret_cast<Pack<__half, four>*>(to)[i] = narrow;
  }
  for (int64_t i = four * fours + first_of_thread(); i < elements; i += threads_of_grid())
    to[i] = __float2half_rn(from[i]);
}

// Magnitudes are not negative, so that their bits compare as whole numbers.
template <class T>
__global__ void largest_bits(uint32_t* largest, const T* from, int64_t fours, int64_t elements) {
  uint32_t mine = 0;
  for (int64_t i = first_of_thread(); i < fours; i += threads_of_grid()) {
    const auto values = reinterpret_cast<const Pack<T, four>*>(from)[i];
#pragma unroll
    for (int k = 0; k < four; ++k) mine = max(mine, size_key(to_float(values.values[k])));
  }
  for (int64_t i = four * fours + first_of_thread(); i < elements; i += threads_of_grid())
    mine = max(mine, size_key(to_float(from[i])));
  using Reduce = cub::BlockReduce<uint32_t, threads_of_block>;
  __shared__ typename Reduce::TempStorage room;
  const uint32_t all =
      Reduce(room).Reduce(mine, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  if (threadIdx.x == 0) atomicMax(largest, all);
}

__global__ void scale_of(float* scale) { *scale = *scale / 127; }

__device__ int8_t code_of(float value, float by) {
  return static_cast<int8_t>(by > 0 ? rintf(value / by) : 0.F);
}

template <class T>
__global__ void to_8(int8_t* to, const float* scale, const T* from, int64_t fours,
                     int64_t elements) {
  const float by = *scale;
  for (int64_t i = first_of_thread(); i < fours; i += threads_of_grid()) {
    const auto values = reinterpret_cast<const Pack<T, four>*>(from)[i];
    Pack<int8_t, four> codes;
#pragma unroll
    for (int k = 0; k < four; ++k) codes.values[k] = code_of(to_float(values.values[k]), by);
    reinterpret_cast<Pack<int8_t, four>*>(to)[i] = codes;
  }
  for (int64_t i = four * fours + first_of_thread(); i < elements; i += threads_of_grid())
    to[i] = code_of(to_float(from[i]), by);
}

template <class T>
T* as(const Memory& memory) {
  return static_cast<T*>(memory.get());
}

// How many fours of elements can be read and written together.
template <class From, class To>
int64_t fours_of(const From* from, const To* to, int64_t elements) {
  const bool can = is_aligned_for<Pack<From, four>>(from) && is_aligned_for<Pack<To, four>>(to);
  return can ? elements / four : 0;
}

}  // namespace

SortRoom::SortRoom(int device, int64_t elements)
    : keys_(make_memory(device, static_cast<std::size_t>(elements) * 4)),
      sorted_keys_(make_memory(device, static_cast<std::size_t>(elements) * 4)),
      pairs_(make_memory(device, static_cast<std::size_t>(elements) * 8)),
      sorted_pairs_(make_memory(device, static_cast<std::size_t>(elements) * 8)) {
  const OnDevice there(device);  // how much room a sort takes differs between GPUs
  std::size_t down_B = 0;
  std::size_t up_B = 0;
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairsDescending(
      nullptr, down_B, as<uint32_t>(keys_), as<uint32_t>(sorted_keys_), as<uint64_t>(pairs_),
      as<uint64_t>(sorted_pairs_), elements));
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      nullptr, up_B, as<uint32_t>(keys_), as<uint32_t>(sorted_keys_), as<uint64_t>(pairs_),
      as<uint64_t>(sorted_pairs_), elements));
  room_B_ = std::max(down_B, up_B);
  room_ = make_memory(device, room_B_);
}

void SortRoom::sort_downwards(int64_t elements, int bits, cudaStream_t stream) {
  std::size_t room_B = room_B_;
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairsDescending(
      room_.get(), room_B, as<uint32_t>(keys_), as<uint32_t>(sorted_keys_), as<uint64_t>(pairs_),
      as<uint64_t>(sorted_pairs_), elements, 0, bits, stream));
}

void SortRoom::sort_upwards(int64_t elements, cudaStream_t stream) {
  std::size_t room_B = room_B_;
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      room_.get(), room_B, as<uint32_t>(keys_), as<uint32_t>(sorted_keys_), as<uint64_t>(pairs_),
      as<uint64_t>(sorted_pairs_), elements, 0, 32, stream));
}

template <class T>
void SortRoom::select(void* to, const void* data, int64_t bytes, int64_t count,
                      cudaStream_t stream) {
  const auto elements = bytes / static_cast<int64_t>(sizeof(T));
  const auto* from = static_cast<const T*>(data);
  const int64_t fours = fours_of(from, as<uint32_t>(keys_), elements);
  launch_over(std::max(fours, elements - four * fours), keys_of_data<T>, stream,
              as<uint32_t>(keys_), as<uint64_t>(pairs_), from, fours, elements);
  sort_downwards(elements, 32 - Kind<T>::zeros, stream);
  launch_over(count, store_first<T>, stream, static_cast<uint32_t*>(to),
              as<uint64_t>(sorted_pairs_), count);
}

template <class T>
void SortRoom::merge(void* to, const void* from, int64_t count, cudaStream_t stream) {
  const int64_t both = 2 * count;
  launch_over(both, gather_pairs<T>, stream, as<uint32_t>(keys_), as<uint64_t>(pairs_),
              static_cast<const uint32_t*>(to), static_cast<const uint32_t*>(from), count);
  sort_upwards(both, stream);
  launch_over(both, add_equal<T>, stream, as<uint32_t>(keys_), as<uint64_t>(pairs_),
              as<uint64_t>(sorted_pairs_), both);
  sort_downwards(both, 32 - Kind<T>::zeros, stream);
  launch_over(count, store_first<T>, stream, static_cast<uint32_t*>(to),
              as<uint64_t>(sorted_pairs_), count);
}

void SortRoom::select(Type type, void* to, const void* data, int64_t bytes, int64_t count,
                      cudaStream_t stream) {
  for_type(type, [&]<class T>(T) { select<T>(to, data, bytes, count, stream); });
}

void SortRoom::merge(Type type, void* to, const void* from, int64_t count, cudaStream_t stream) {
  for_type(type, [&]<class T>(T) { merge<T>(to, from, count, stream); });
}

void launch_narrow16(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  const int64_t elements = bytes / 4;
  auto* narrow = static_cast<__half*>(to);
  const auto* wide = static_cast<const float*>(from);
  const int64_t fours = fours_of(wide, narrow, elements);
  launch_over(std::max(fours, elements - four * fours), to_16, stream, narrow, wide, fours,
              elements);
}

void launch_narrow8(Type type, void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  auto* scale = static_cast<float*>(to);
  auto* narrow = reinterpret_cast<int8_t*>(scale + 1);
  SGDSIM_CUDA_CHECK(cudaMemsetAsync(scale, 0, sizeof(float), stream));
  for_type(type, [&]<class T>(T) {
    const auto* data = static_cast<const T*>(from);
    const auto elements = bytes / static_cast<int64_t>(sizeof(T));
    const int64_t fours = fours_of(data, narrow, elements);
    const int64_t threads = std::max(fours, elements - four * fours);
    launch_over(threads, largest_bits<T>, stream, static_cast<uint32_t*>(to), data, fours,
                elements);
    launch(scale_of, 1, 1, stream, scale);
    launch_over(threads, to_8<T>, stream, narrow, scale, data, fours, elements);
  });
}

}  // namespace sgdsim::calibrate::cuda
