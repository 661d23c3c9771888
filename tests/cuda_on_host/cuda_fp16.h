// float16 of the stand-in: the host's own arithmetic, which tests hold to IEEE 754.
#pragma once

#include "calibrate/element.h"

struct __half {
  uint16_t bits;
};

inline __half __float2half_rn(float value) { return {sgdsim::calibrate::to_float16(value)}; }
inline __half __float2half(float value) { return __float2half_rn(value); }
inline float __half2float(__half value) { return sgdsim::calibrate::from_float16(value.bits); }
inline uint16_t __half_as_ushort(__half value) { return value.bits; }
inline __half __ushort_as_half(uint16_t bits) { return {bits}; }
