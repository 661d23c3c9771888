// Every layout of a space that divides and fits, fastest first.
//
// The space: tp, pp, cp, vp and ep by division; micro-batches of a power of two sequences; all four
// stages of zero; sequence parallelism where there is tensor parallelism; nothing or everything
// computed again; ends=layers where only that divides, and stages=spread where neither does, with a
// power of two virtual stages. All are tried: nothing is pruned but what does not fit into memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/training/hybrid_step.h"
#include "models/training/sites.h"
#include "models/training/training_program.h"
#include "sim/core/stopper.h"

namespace sgdsim {

struct LayoutSpace {
  int64_t gpus = 1;
  int64_t batch = 1;  // sequences of a step
  int64_t sequence = 1;
  Bytes memory;   // of a GPU
  Bytes reserve;  // of it, what the formulas of memory do not know
  bool half_gradients = false;
  TrainingProgram program = TrainingProgram::any;  // layouts that it can do
  std::optional<Layout> near = {};  // only those that differ from this one in one word
  Layout base = {};                 // words that all of them have: of parse_shared_words()
  std::shared_ptr<const PackedDocuments> documents = {};  // in the sequences of a step
  std::optional<Sites> sites = {};  // of which each has the GPUs and sequences above
  const Sites* all_sites() const { return sites ? &*sites : nullptr; }
};

struct FoundLayout {
  Layout layout;
  Duration time;
  double mfu = 0;
  double memory_B = 0;  // of the largest stage, without the reserve
  std::string limit;
};

struct LayoutSearch {
  int64_t candidates = 0;            // layouts that divide
  std::vector<FoundLayout> fitting;  // fastest first; equal ones as they were tried
  // Of those that do not fit, the one that needs least.
  Layout smallest;
  double smallest_B = 0;
  // Those whose groups the chosen algorithms do not fit, and why one of them.
  int64_t left_out = 0;
  std::string why_left_out;
};

inline constexpr int64_t most_micro_batch = 64;  // sequences, that a search tries

// The choices of a search: divisors, ascending; virtual stages; and how the layers are shared out
// over the stages: evenly if they divide, or else with the ends as layers, or else spread.
std::vector<int64_t> divisors_of(int64_t number);
std::vector<int64_t> chunks_of_search(const Transformer& model, const Layout& layout);
void spread_layers(const Transformer& model, Layout& layout);

// Every layout that divides, in a fixed order.
void for_each_layout(const Transformer& model, const LayoutSpace& space,
                     const std::function<void(const Layout&)>& f);

LayoutSearch search_layouts(const Transformer& model, const Gpu& gpu, Precision precision,
                            const Cluster& cluster, const LayoutSpace& space,
                            const AlgorithmChoice& algorithms = {},
                            const Stopper* stopper = nullptr);

}  // namespace sgdsim
