// bfloat16 of the stand-in: the host's own arithmetic.
#pragma once

#include "calibrate/element.h"

struct __nv_bfloat16 {
  uint16_t bits;
};

inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {sgdsim::calibrate::to_bfloat16(value)};
}
inline __nv_bfloat16 __float2bfloat16(float value) { return __float2bfloat16_rn(value); }
inline float __bfloat162float(__nv_bfloat16 value) {
  return sgdsim::calibrate::from_bfloat16(value.bits);
}
inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(uint16_t bits) { return {bits}; }
