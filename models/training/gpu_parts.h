// What the operations of a GPU are, for people: parts of its passes, and of what goes with them.
#pragma once

#include <utility>
#include <vector>

#include "models/collective/collective.h"
#include "models/training/gpu_groups.h"
#include "models/training/pass_order.h"

namespace sgdsim {

// Operations that follow one another and belong together.
struct GpuPart {
  enum class Kind : uint8_t {
    compute,
    tensor,  // exchanges inside of layers, by what splits them
    context,
    experts,
    send,  // to another stage
    receive,
    gather,  // of weights, from replicas
    reduce,  // of gradients
    optimizer
  };
  Kind kind = Kind::compute;
  Pass pass = Pass::forward;
  int64_t chunk = 0;
  int64_t micro_batch = 0;
  uint32_t first = 0;  // among the operations of all GPUs
  uint32_t end = 0;    // behind the last one
};

// What a collective of a group is part of.
constexpr GpuPart::Kind part_of(GroupKind kind, Operation operation) {
  switch (kind) {
    case GroupKind::tensor:
      return GpuPart::Kind::tensor;
    case GroupKind::context:
      return GpuPart::Kind::context;
    case GroupKind::experts:
    case GroupKind::expert_parts:
    case GroupKind::expert_nodes:
    case GroupKind::expert_node:
      return GpuPart::Kind::experts;
    default:
      return operation == Operation::allgather ? GpuPart::Kind::gather : GpuPart::Kind::reduce;
  }
}

// The parts of one GPU, as its operations are written.
class GpuParts {
 public:
  explicit GpuParts(bool are_wanted) : are_wanted_(are_wanted) {}

  void begin_pass(Pass pass, int64_t chunk, int64_t micro_batch) {
    pass_ = {.pass = pass, .chunk = chunk, .micro_batch = micro_batch};
  }
  void add(GpuPart::Kind kind, std::size_t first, std::size_t end) {
    if (!are_wanted_) return;
    all_.push_back(pass_);
    all_.back().kind = kind;
    all_.back().first = static_cast<uint32_t>(first);
    all_.back().end = static_cast<uint32_t>(end);
  }
  // The GPU's operations stand behind so many of others.
  std::vector<GpuPart> take(uint32_t others) {
    for (GpuPart& part : all_) {
      part.first += others;
      part.end += others;
    }
    return std::move(all_);
  }

 private:
  bool are_wanted_;
  GpuPart pass_;
  std::vector<GpuPart> all_;
};

}  // namespace sgdsim
