// What a step does to the memory of this machine, and what it cannot do there.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "calibrate/element.h"
#include "calibrate/plan/plan.h"
#include "calibrate/sparse.h"

namespace sgdsim::calibrate {

// Why threads cannot play a plan; empty if they can.
inline std::string why_not_without_gpu(const Plan& plan) {
  if (plan.has_calls()) return "NCCL runs on GPUs only";
  if (plan.beside > 0) return "what is beside others is timed on GPUs only";
  return plan.has_copies_by_kernel() ? "threads have no copy engines beside them" : "";
}

// at(place): where it lies. Nothing for what orders streams.
template <class F>
void play_in_memory(const Step& step, Type type, const F& at) {
  switch (step.act) {
    case Act::copy:
      std::memcpy(at(step.to), at(step.from), static_cast<std::size_t>(step.bytes));
      return;
    case Act::sum:
      sum(type, at(step.to), at(step.from), at(step.with), step.bytes);
      return;
    case Act::select:
      select(type, at(step.to), at(step.from), step.bytes, step.count);
      return;
    case Act::merge:
      merge(type, at(step.to), at(step.from), step.count);
      return;
    case Act::narrow16:
      narrow_to_16(at(step.to), at(step.from), step.bytes);
      return;
    case Act::narrow8:
      narrow_to_8(type, at(step.to), at(step.from), step.bytes);
      return;
    case Act::product:
      multiply(type, at(step.to), at(step.from), at(step.with), step.shape.rows, step.shape.columns,
               step.shape.inner, step.shape.groups);
      return;
    case Act::library:  // refused by why_not()
    case Act::nothing:
    case Act::mark:
    case Act::await:
      return;
  }
}

}  // namespace sgdsim::calibrate
