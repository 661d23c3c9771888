// Selection by magnitude, whole and in the order of indices where magnitudes are equal: a radix
// select finds the least magnitude that is chosen, digit by digit from the top, each by a histogram
// of the entries that share the digits before; then those above it are taken, the first of those
// equal to it, and only what was chosen is sorted. So an entry is read six times at most (four
// digits of float32) and not written, where a sort of all would move 24 bytes of keys and pairs for
// each digit. The magnitudes of floats order as their bits without the sign do; types of 16 bits
// leave the lowest bits of their float32 zero, which need not be looked at. A pair is one 64-bit
// value, index above value; values are float32 in it, whatever the type.
#include <algorithm>
#include <cstddef>
#include <cub/cub.cuh>
#include <iterator>

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

// Bits of a key, and of a digit: CUB counts in shared memory up to 256 kinds.
template <class T>
constexpr int key_bits = 31 - Kind<T>::zeros;
constexpr int digit_bits = 8;
constexpr int most_digits = 4;
constexpr int most_kinds = 1 << digit_bits;

template <class T>
__device__ uint32_t key_of(float value) {
  return size_key(value) >> Kind<T>::zeros;
}

// How far the choice has come: the digits that the least chosen key begins with, and how many
// entries that begin so are chosen.
struct Choice {
  uint32_t digits;
  uint32_t wanted;
};

__global__ void begin_choice(Choice* choice, uint32_t wanted) { *choice = {0, wanted}; }

// A thread for each value of the digit; one of them finds itself the least that is chosen.
__global__ void take_digit(Choice* after, const Choice* before, const uint32_t* histogram,
                           int bits) {
  const uint32_t kinds = 1U << static_cast<unsigned>(bits);
  const uint32_t digit = threadIdx.x;
  if (digit >= kinds) return;
  uint32_t above = 0;
  for (uint32_t other = digit + 1; other < kinds; ++other) above += histogram[other];
  const uint32_t wanted = before->wanted;
  if (above < wanted && wanted - above <= histogram[digit])
    *after = {before->digits << static_cast<unsigned>(bits) | digit, wanted - above};
}

// What CUB reads instead of an array: the result of a function at every place. It asks no more of
// an iterator than this.
template <class F>
class Made {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename F::Result;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  __host__ __device__ explicit Made(F make, int64_t at = 0) : make_(make), at_(at) {}
  __host__ __device__ value_type operator[](difference_type i) const { return make_(at_ + i); }
  __host__ __device__ Made operator+(difference_type i) const { return Made(make_, at_ + i); }

 private:
  F make_;
  int64_t at_;
};

// The digit of an entry's key behind `below` bits, or -1 where those before it are others.
template <class T>
struct DigitOf {
  using Result = int;
  const T* data;
  const Choice* choice;
  int below;
  int bits;

  __device__ int operator()(int64_t i) const {
    const uint32_t key = key_of<T>(to_float(data[i])) >> static_cast<unsigned>(below);
    const uint32_t digit = key & ((1U << static_cast<unsigned>(bits)) - 1);
    return key >> static_cast<unsigned>(bits) == choice->digits ? static_cast<int>(digit) : -1;
  }
};

template <class T>
struct PairAt {
  using Result = uint64_t;
  const T* data;

  __device__ uint64_t operator()(int64_t i) const {
    return pair_of(static_cast<uint32_t>(i), to_float(data[i]));
  }
};

// Of a pair: whether its key is above the least that is chosen, or that one.
template <class T>
struct IsAbove {
  const Choice* choice;
  __device__ bool operator()(uint64_t pair) const {
    return key_of<T>(value_of(pair)) > choice->digits;
  }
};
template <class T>
struct IsLeast {
  const Choice* choice;
  __device__ bool operator()(uint64_t pair) const {
    return key_of<T>(value_of(pair)) == choice->digits;
  }
};

// Those above first, then as many of the least as are missing, both by index.
template <class T>
__global__ void join(uint32_t* keys, uint64_t* pairs, const uint64_t* above, const uint64_t* equal,
                     const uint32_t* above_count, int64_t count) {
  const int64_t first = *above_count;
  for (int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    const uint64_t pair = i < first ? above[i] : equal[i - first];
    keys[i] = key_of<T>(value_of(pair));
    pairs[i] = pair;
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

// Most work here is reading and writing memory: 16 bytes at a time where all lies so that they can
// be read and written together, of which the kernels are told in `packs`; the rest one by one.
__global__ void __launch_bounds__(threads_of_block)
    to_16(__half* to, const float* from, int64_t packs, int64_t elements) {
  using Narrow = Pack<__half, in_pack<float>>;
  for_packs(reinterpret_cast<const Sixteen<float>*>(from), packs,
            [&](int64_t i, const Sixteen<float>& wide) {
              Narrow narrow;
#pragma unroll
              for (int k = 0; k < in_pack<float>; ++k)
                narrow.values[k] = __float2half_rn(wide.values[k]);
              reinterpret_cast<Narrow*>(to)[i] = narrow;
            });
  for (int64_t i = in_pack<float> * packs + first_of_thread(); i < elements; i += threads_of_grid())
    to[i] = __float2half_rn(from[i]);
}

// Magnitudes are not negative, so that their bits compare as whole numbers.
template <class T>
__global__ void __launch_bounds__(threads_of_block)
    largest_bits(uint32_t* largest, const T* from, int64_t packs, int64_t elements) {
  uint32_t mine = 0;
  for_packs(reinterpret_cast<const Sixteen<T>*>(from), packs,
            [&](int64_t, const Sixteen<T>& values) {
#pragma unroll
              for (int k = 0; k < in_pack<T>; ++k)
                mine = max(mine, size_key(to_float(values.values[k])));
            });
  for (int64_t i = in_pack<T> * packs + first_of_thread(); i < elements; i += threads_of_grid())
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

// The codes lie four bytes behind the start of what is written, hence by fours.
constexpr int four = 4;
using FourCodes = Pack<int8_t, four>;

template <class T>
__global__ void __launch_bounds__(threads_of_block)
    to_8(int8_t* to, const float* scale, const T* from, int64_t packs, int64_t elements) {
  constexpr int fours = in_pack<T> / four;
  const float by = *scale;
  for_packs(reinterpret_cast<const Sixteen<T>*>(from), packs,
            [&](int64_t i, const Sixteen<T>& values) {
#pragma unroll
              for (int n = 0; n < fours; ++n) {
                FourCodes codes;
#pragma unroll
                for (int k = 0; k < four; ++k)
                  codes.values[k] = code_of(to_float(values.values[four * n + k]), by);
                reinterpret_cast<FourCodes*>(to)[fours * i + n] = codes;
              }
            });
  for (int64_t i = in_pack<T> * packs + first_of_thread(); i < elements; i += threads_of_grid())
    to[i] = code_of(to_float(from[i]), by);
}

template <class T>
T* as(const Memory& memory) {
  return static_cast<T*>(memory.get());
}

// How many packs of elements can be read together, and written as `Written`.
template <class Written, class From, class To>
int64_t packs_of(const From* from, const To* to, int64_t elements) {
  const bool can = is_aligned_for<Sixteen<From>>(from) && is_aligned_for<Written>(to);
  return can ? elements / in_pack<From> : 0;
}

// Threads for a loop over packs, two at a time, and over what is left.
template <class T>
int64_t threads_for(int64_t packs, int64_t elements) {
  return std::max((packs + 1) / 2, elements - in_pack<T> * packs);
}

// What CUB asks for, at most.
std::size_t sort_room_B(int64_t pairs) {
  uint32_t* keys = nullptr;
  uint64_t* all = nullptr;
  std::size_t down_B = 0;
  std::size_t up_B = 0;
  SGDSIM_CUDA_CHECK(
      cub::DeviceRadixSort::SortPairsDescending(nullptr, down_B, keys, keys, all, all, pairs));
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, up_B, keys, keys, all, all, pairs));
  return std::max(down_B, up_B);
}

template <class T>
cudaError_t count_digits(void* room, std::size_t& room_B, const DigitOf<T>& digits,
                         uint32_t* histogram, int64_t elements, cudaStream_t stream) {
  const int kinds = 1 << digits.bits;
  return cub::DeviceHistogram::HistogramEven(room, room_B, Made(digits), histogram, kinds + 1, 0,
                                             kinds, elements, stream);
}

template <class T>
std::size_t choice_room_B(int64_t elements) {
  const T* data = nullptr;
  uint64_t* pairs = nullptr;
  uint32_t* counts = nullptr;
  std::size_t most_B = 0;
  for (int bits = 1; bits <= digit_bits; ++bits) {
    std::size_t counting_B = 0;
    SGDSIM_CUDA_CHECK(
        count_digits<T>(nullptr, counting_B, {data, nullptr, 0, bits}, counts, elements, nullptr));
    most_B = std::max(most_B, counting_B);
  }
  std::size_t above_B = 0;
  std::size_t least_B = 0;
  const Made entries(PairAt<T>{data});
  SGDSIM_CUDA_CHECK(cub::DeviceSelect::If(nullptr, above_B, entries, pairs, counts, elements,
                                          IsAbove<T>{nullptr}));
  SGDSIM_CUDA_CHECK(cub::DeviceSelect::If(nullptr, least_B, entries, pairs, counts, elements,
                                          IsLeast<T>{nullptr}));
  return std::max({most_B, above_B, least_B});
}

}  // namespace

// CUB's sorts take about half as much as what they sort, its selections a fraction of that.
int64_t SparseRoom::room_B(int64_t elements, int64_t pairs) { return 9 * elements + 36 * pairs; }

SparseRoom::SparseRoom(int device, int64_t elements, int64_t pairs)
    : keys_(make_memory(device, static_cast<std::size_t>(pairs) * 4)),
      sorted_keys_(make_memory(device, static_cast<std::size_t>(pairs) * 4)),
      pairs_(make_memory(device, static_cast<std::size_t>(pairs) * 8)),
      sorted_pairs_(make_memory(device, static_cast<std::size_t>(pairs) * 8)),
      equal_(make_memory(device, static_cast<std::size_t>(elements) * 8)),
      choices_(make_memory(device, (most_digits + 1) * sizeof(Choice))),
      histogram_(make_memory(device, most_kinds * sizeof(uint32_t))),
      counts_(make_memory(device, 2 * sizeof(uint32_t))) {
  const OnDevice there(device);  // how much room CUB takes differs between GPUs
  room_B_ = sort_room_B(pairs);
  if (elements > 0)
    room_B_ = std::max({room_B_, choice_room_B<float>(elements), choice_room_B<__half>(elements),
                        choice_room_B<__nv_bfloat16>(elements)});
  room_ = make_memory(device, room_B_);
}

void SparseRoom::sort_downwards(int64_t pairs, int bits, cudaStream_t stream) {
  std::size_t room_B = room_B_;
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairsDescending(
      room_.get(), room_B, as<uint32_t>(keys_), as<uint32_t>(sorted_keys_), as<uint64_t>(pairs_),
      as<uint64_t>(sorted_pairs_), pairs, 0, bits, stream));
}

void SparseRoom::sort_upwards(int64_t pairs, cudaStream_t stream) {
  std::size_t room_B = room_B_;
  SGDSIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      room_.get(), room_B, as<uint32_t>(keys_), as<uint32_t>(sorted_keys_), as<uint64_t>(pairs_),
      as<uint64_t>(sorted_pairs_), pairs, 0, 32, stream));
}

// Leaves the chosen pairs in pairs_, by index among equal ones, and their keys in keys_.
template <class T>
void SparseRoom::choose(const T* data, int64_t elements, int64_t count, cudaStream_t stream) {
  auto* choice = as<Choice>(choices_);
  launch(begin_choice, 1, 1, stream, choice, static_cast<uint32_t>(count));
  constexpr int digits = (key_bits<T> + digit_bits - 1) / digit_bits;
  static_assert(digits <= most_digits);
  int below = key_bits<T>;
  for (int digit = 0; digit < digits; ++digit, ++choice) {
    const int bits = (below + digits - digit - 1) / (digits - digit);
    below -= bits;
    std::size_t room_B = room_B_;
    SGDSIM_CUDA_CHECK(count_digits<T>(room_.get(), room_B, {data, choice, below, bits},
                                      as<uint32_t>(histogram_), elements, stream));
    launch(take_digit, 1, most_kinds, stream, choice + 1, choice, as<uint32_t>(histogram_), bits);
  }
  auto* above = as<uint64_t>(sorted_pairs_);
  auto* equal = as<uint64_t>(equal_);
  auto* counts = as<uint32_t>(counts_);
  const Made entries(PairAt<T>{data});
  std::size_t room_B = room_B_;
  SGDSIM_CUDA_CHECK(cub::DeviceSelect::If(room_.get(), room_B, entries, above, counts, elements,
                                          IsAbove<T>{choice}, stream));
  room_B = room_B_;
  SGDSIM_CUDA_CHECK(cub::DeviceSelect::If(room_.get(), room_B, entries, equal, counts + 1, elements,
                                          IsLeast<T>{choice}, stream));
  launch_over(count, join<T>, stream, as<uint32_t>(keys_), as<uint64_t>(pairs_), above, equal,
              counts, count);
}

template <class T>
void SparseRoom::select(void* to, const void* data, int64_t bytes, int64_t count,
                        cudaStream_t stream) {
  choose(static_cast<const T*>(data), bytes / static_cast<int64_t>(sizeof(T)), count, stream);
  sort_downwards(count, key_bits<T>, stream);
  launch_over(count, store_first<T>, stream, static_cast<uint32_t*>(to),
              as<uint64_t>(sorted_pairs_), count);
}

template <class T>
void SparseRoom::merge(void* to, const void* from, int64_t count, cudaStream_t stream) {
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

void SparseRoom::select(Type type, void* to, const void* data, int64_t bytes, int64_t count,
                        cudaStream_t stream) {
  for_type(type, [&]<class T>(T) { select<T>(to, data, bytes, count, stream); });
}

void SparseRoom::merge(Type type, void* to, const void* from, int64_t count, cudaStream_t stream) {
  for_type(type, [&]<class T>(T) { merge<T>(to, from, count, stream); });
}

void launch_narrow16(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  const int64_t elements = bytes / 4;
  auto* narrow = static_cast<__half*>(to);
  const auto* wide = static_cast<const float*>(from);
  const int64_t packs = packs_of<Pack<__half, in_pack<float>>>(wide, narrow, elements);
  launch_over(threads_for<float>(packs, elements), to_16, stream, narrow, wide, packs, elements);
}

void launch_narrow8(Type type, void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  auto* scale = static_cast<float*>(to);
  auto* narrow = reinterpret_cast<int8_t*>(scale + 1);
  SGDSIM_CUDA_CHECK(cudaMemsetAsync(scale, 0, sizeof(float), stream));
  for_type(type, [&]<class T>(T) {
    const auto* data = static_cast<const T*>(from);
    const auto elements = bytes / static_cast<int64_t>(sizeof(T));
    const int64_t packs = packs_of<FourCodes>(data, narrow, elements);
    const int64_t threads = threads_for<T>(packs, elements);
    launch_over(threads, largest_bits<T>, stream, static_cast<uint32_t*>(to), data, packs,
                elements);
    launch(scale_of, 1, 1, stream, scale);
    launch_over(threads, to_8<T>, stream, narrow, scale, data, packs, elements);
  });
}

}  // namespace sgdsim::calibrate::cuda
