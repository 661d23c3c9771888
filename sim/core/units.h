// The quantities of the simulator, as types that cannot be mixed.
//
// Time is whole picoseconds in 64 bits (106 days): 100 Gb/s is 80 ps a byte, so that the usual
// link rates are exact. Sizes are whole bytes. Rates are kept as doubles, because a fitted beta is
// seldom a whole number; they become picoseconds in exactly one place, PerByte::operator*.
// Only meaningful operations exist: two points in time subtract, they do not add.
// No operation wraps around: what 64 bits cannot hold is an InputError, in models as in engines.
// The check is one branch that is never taken; a loop that has to be rid of it proves first that
// its sums fit (sim/play/round_engine.cpp).
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace sgdsim {

// What the operations below do instead of wrapping around.
[[noreturn]] void time_overflow();
[[noreturn]] void size_overflow();

namespace whole_number {

template <void (*overflow)()>
constexpr int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}
template <void (*overflow)()>
constexpr int64_t difference(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) overflow();
  return result;
}
template <void (*overflow)()>
constexpr int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}
// The nearest whole number, a tie to the even one; NaN is refused as well.
template <void (*overflow)()>
inline int64_t nearest(double value) {
  if (!(std::abs(value) < 0x1p63)) overflow();
  return std::llrint(value);
}

}  // namespace whole_number

// A length of time.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration ps(int64_t count) { return Duration(count); }
  static constexpr Duration ns(int64_t count) { return ps(1'000) * count; }
  static constexpr Duration us(int64_t count) { return ps(1'000'000) * count; }
  static constexpr Duration ms(int64_t count) { return ps(1'000'000'000) * count; }
  static constexpr Duration s(int64_t count) { return ps(1'000'000'000'000) * count; }
  // What a model computed in floating point.
  static Duration nearest_ps(double count) {
    return ps(whole_number::nearest<time_overflow>(count));
  }
  static constexpr Duration longest() { return Duration(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t ps() const { return ps_; }
  constexpr double ns() const { return static_cast<double>(ps_) / 1e3; }
  constexpr double us() const { return static_cast<double>(ps_) / 1e6; }
  constexpr double ms() const { return static_cast<double>(ps_) / 1e9; }
  constexpr double s() const { return static_cast<double>(ps_) / 1e12; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const {
    return Duration(whole_number::sum<time_overflow>(ps_, other.ps_));
  }
  constexpr Duration operator-(Duration other) const {
    return Duration(whole_number::difference<time_overflow>(ps_, other.ps_));
  }
  constexpr Duration operator*(int64_t factor) const {
    return Duration(whole_number::product<time_overflow>(ps_, factor));
  }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  constexpr Duration& operator-=(Duration other) { return *this = *this - other; }
  constexpr double operator/(Duration other) const {
    return static_cast<double>(ps_) / static_cast<double>(other.ps_);
  }

 private:
  constexpr explicit Duration(int64_t count) : ps_(count) {}
  int64_t ps_ = 0;
};
constexpr Duration operator*(int64_t factor, Duration length) { return length * factor; }

// A point in time, counted from the start of the simulation.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time at(Duration since_start) { return Time(since_start); }
  static constexpr Time last() { return Time(Duration::longest()); }

  constexpr Duration since_start() const { return since_start_; }
  constexpr int64_t ps() const { return since_start_.ps(); }
  constexpr double us() const { return since_start_.us(); }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Duration length) const { return Time(since_start_ + length); }
  constexpr Time operator-(Duration length) const { return Time(since_start_ - length); }
  constexpr Duration operator-(Time other) const { return since_start_ - other.since_start_; }
  constexpr Time& operator+=(Duration length) { return *this = *this + length; }

 private:
  constexpr explicit Time(Duration since_start) : since_start_(since_start) {}
  Duration since_start_;
};

// A number of bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : count_(count) {}
  constexpr int64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  // What a model computed in floating point.
  static Bytes nearest(double count) { return Bytes(whole_number::nearest<size_overflow>(count)); }
  constexpr Bytes operator+(Bytes other) const {
    return Bytes(whole_number::sum<size_overflow>(count_, other.count_));
  }
  constexpr Bytes operator-(Bytes other) const {
    return Bytes(whole_number::difference<size_overflow>(count_, other.count_));
  }
  constexpr Bytes operator*(int64_t factor) const {
    return Bytes(whole_number::product<size_overflow>(count_, factor));
  }
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }

 private:
  int64_t count_ = 0;
};

// Time per byte: the beta of a link, the gamma of a reduction.
class PerByte {
 public:
  constexpr PerByte() = default;
  static constexpr PerByte ps(double count) { return PerByte(count); }
  constexpr double ps() const { return ps_; }
  constexpr auto operator<=>(const PerByte&) const = default;
  // Written out: std::max takes a fifth less of a message's time than over <=> of doubles.
  constexpr bool operator<(const PerByte& other) const { return ps_ < other.ps_; }
  constexpr PerByte operator+(PerByte other) const { return PerByte(ps_ + other.ps_); }
  constexpr PerByte operator*(double factor) const { return PerByte(ps_ * factor); }

  // The one place where a rate becomes time: the nearest picosecond, a tie to the even one. The
  // size is a double because the `fractional` chunk option divides a message into n/P bytes.
  Duration of(double size_B) const { return Duration::nearest_ps(ps_ * size_B); }
  Duration operator*(Bytes size) const { return of(static_cast<double>(size.count())); }

 private:
  constexpr explicit PerByte(double count) : ps_(count) {}
  double ps_ = 0;
};
inline Duration operator*(Bytes size, PerByte rate) { return rate * size; }

// Decimal bytes per second, in one direction.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth Bps(double bytes_per_s) { return Bandwidth(bytes_per_s); }
  static constexpr Bandwidth Gbps(double gigabits_per_s) {
    return Bandwidth(gigabits_per_s * 1e9 / 8);
  }
  constexpr double Bps() const { return bytes_per_s_; }
  constexpr double GBps() const { return bytes_per_s_ / 1e9; }
  constexpr PerByte per_byte() const { return PerByte::ps(1e12 / bytes_per_s_); }
  constexpr auto operator<=>(const Bandwidth&) const = default;
  constexpr Bandwidth operator*(double factor) const { return Bandwidth(bytes_per_s_ * factor); }

 private:
  constexpr explicit Bandwidth(double bytes_per_s) : bytes_per_s_(bytes_per_s) {}
  double bytes_per_s_ = 0;
};
inline Duration operator/(Bytes size, Bandwidth rate) { return size * rate.per_byte(); }

// Workers are numbered from 0 by a type of their own; `index` is for addressing arrays.
enum class Worker : int32_t {};
constexpr int index(Worker worker) { return static_cast<int>(worker); }
constexpr Worker worker(int index) { return static_cast<Worker>(index); }

}  // namespace sgdsim
