// The sorts, selections, counts and the reduction of CUB that calibrate/ uses, with the promises of
// its documentation and no more: a sort is stable, looks at the bits that it was told, needs the
// room it asked for on that device, and leaves nothing readable there; of a reduction only thread 0
// learns the result.
#pragma once

#include <cstring>
#include <numeric>

#include "tests/cuda_on_host/cuda_runtime.h"

namespace cub {

class DeviceRadixSort {
 public:
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* room, std::size_t& room_B, const Key* keys, Key* sorted_keys,
                               const Value* values, Value* sorted_values, Count count,
                               int begin_bit = 0, int end_bit = 8 * sizeof(Key),
                               cudaStream_t stream = nullptr) {
    return sort(false, room, room_B, keys, sorted_keys, values, sorted_values,
                static_cast<std::size_t>(count), {begin_bit, end_bit}, stream);
  }

  template <class Key, class Value, class Count>
  static cudaError_t SortPairsDescending(void* room, std::size_t& room_B, const Key* keys,
                                         Key* sorted_keys, const Value* values,
                                         Value* sorted_values, Count count, int begin_bit = 0,
                                         int end_bit = 8 * sizeof(Key),
                                         cudaStream_t stream = nullptr) {
    return sort(true, room, room_B, keys, sorted_keys, values, sorted_values,
                static_cast<std::size_t>(count), {begin_bit, end_bit}, stream);
  }

 private:
  struct Bits {
    int begin;
    int end;
  };

  // Like the real one it depends on the GPU that is current.
  static std::size_t needed_B(std::size_t count) {
    int device = 0;
    static_cast<void>(cudaGetDevice(&device));
    return 3 * count + 17 + 64 * static_cast<std::size_t>(device);
  }

  template <class Key, class Value>
  static cudaError_t sort(bool is_down, void* room, std::size_t& room_B, const Key* keys,
                          Key* sorted_keys, const Value* values, Value* sorted_values,
                          std::size_t count, Bits bits, cudaStream_t stream) {
    static_assert(std::is_unsigned_v<Key>, "the stand-in sorts unsigned keys only");
    const std::size_t needed = needed_B(count);
    if (room == nullptr) {
      room_B = needed;
      return cudaSuccess;
    }
    if (room_B < needed || bits.begin < 0 || bits.end > static_cast<int>(8 * sizeof(Key)) ||
        bits.begin >= bits.end)
      return cudaErrorInvalidValue;
    const auto mask = static_cast<Key>((~uint64_t{0} >> (64 - bits.end)) >> bits.begin);
    const auto part_of = [=](std::size_t i) {
      return static_cast<Key>(static_cast<Key>(keys[i] >> bits.begin) & mask);
    };
    const auto work = [=] {
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return is_down ? part_of(a) > part_of(b) : part_of(a) < part_of(b);
      });
      std::memset(room, 0xa5, room_B);
      for (std::size_t i = 0; i < count; ++i) {
        sorted_keys[i] = keys[order[i]];
        sorted_values[i] = values[order[i]];
      }
    };
    static const char kernel = 0;
    return sgdsim::cuda_on_host::issue(stream, &kernel,
                                       {room, keys, sorted_keys, values, sorted_values}, work);
  }
};

// Counts what lies between `lower` and `upper` in as many kinds of the same width; all else is
// nobody's. Samples are read when the work runs.
class DeviceHistogram {
 public:
  template <class Samples, class Counter>
  static cudaError_t HistogramEven(void* room, std::size_t& room_B, Samples samples,
                                   Counter* histogram, int levels, int lower, int upper,
                                   int64_t count, cudaStream_t stream = nullptr) {
    const auto needed = static_cast<std::size_t>(levels) * 4 + 33;
    if (room == nullptr) return room_B = needed, cudaSuccess;
    const int kinds = levels - 1;
    if (room_B < needed || kinds < 1 || (upper - lower) % kinds != 0) return cudaErrorInvalidValue;
    static const char kernel = 0;
    return sgdsim::cuda_on_host::issue(stream, &kernel, {room, histogram}, [=] {
      std::memset(room, 0xa5, room_B);
      std::fill_n(histogram, kinds, Counter{0});
      for (int64_t i = 0; i < count; ++i)
        if (const int sample = samples[i]; sample >= lower && sample < upper)
          ++histogram[(sample - lower) / ((upper - lower) / kinds)];
    });
  }
};

// In the order of what is selected from; how many there are lies on the device.
class DeviceSelect {
 public:
  template <class Samples, class Out, class Count, class Predicate>
  static cudaError_t If(void* room, std::size_t& room_B, Samples samples, Out* out, Count* selected,
                        int64_t count, Predicate predicate, cudaStream_t stream = nullptr) {
    const auto needed = static_cast<std::size_t>(count) / 64 + 41;
    if (room == nullptr) return room_B = needed, cudaSuccess;
    if (room_B < needed) return cudaErrorInvalidValue;
    static const char kernel = 0;
    return sgdsim::cuda_on_host::issue(stream, &kernel, {room, out, selected}, [=] {
      std::memset(room, 0xa5, room_B);
      Count found = 0;
      for (int64_t i = 0; i < count; ++i)
        if (const auto sample = samples[i]; predicate(sample)) out[found++] = sample;
      *selected = found;
    });
  }
};

// Threads run from the last to the first, so that thread 0 meets the values of all others.
template <class T, int threads>
class BlockReduce {
 public:
  struct TempStorage {
    T sum;
    unsigned seen;
  };

  explicit BlockReduce(TempStorage& room) : room_(room) {}

  template <class Operation>
  T Reduce(T mine, const Operation& operation) {
    const bool is_first = threadIdx.x + 1 == blockDim.x;
    room_.sum = is_first ? mine : operation(room_.sum, mine);
    room_.seen = is_first ? 1 : room_.seen + 1;
    if (blockDim.x != threads || room_.seen != blockDim.x - threadIdx.x)
      throw sgdsim::cuda_on_host::Fault{cudaErrorLaunchFailure};  // not all threads came by
    return threadIdx.x == 0 ? room_.sum : T{};
  }
  T Sum(T mine) {
    return Reduce(mine, [](T a, T b) { return static_cast<T>(a + b); });
  }

 private:
  TempStorage& room_;
};

}  // namespace cub
