// The matrices of a layer that a rank multiplies by: their sizes after tensor and expert
// parallelism, which tokens meet them, and with lora what stands beside them.
//
// Products, parameters of adapters and FLOP all come from this one list, in the order of the
// forward pass.
#pragma once

#include <array>
#include <cstddef>

#include "models/training/layout.h"

namespace sgdsim {

// `latent`: those that make queries, keys and values of the narrow vectors of latent attention.
enum class MatrixOf : uint8_t { attention, latent, mlp, experts, router };

struct RankMatrix {
  MatrixOf of = MatrixOf::attention;
  double columns = 0;
  double inner = 0;
  double groups = 1;  // so many of them in one kernel: experts of the rank
  double split = 1;   // ranks among which the tokens of a rank are divided first
  double visits = 1;  // of each of these to any of the groups
  double beside = 1;  // matrices of the model that lie side by side in it: q, k and v
  bool is_there() const { return columns > 0 && inner > 0; }
  double rows(double tokens) const { return tokens / split * visits / groups; }
};

// Of one layer; no allocation, because searches ask this by the million.
class RankMatrices {
 public:
  RankMatrices(const Transformer& model, const Layout& layout, LayerKind kind);
  const RankMatrix* begin() const { return all_.data(); }
  const RankMatrix* end() const { return all_.data() + count_; }

 private:
  void add(const RankMatrix& matrix);
  void add_attention(const Transformer& model, const Layout& layout, LayerKind kind);
  void add_linear(const LinearMixing& linear, double t, double h);
  void add_mlp(const Transformer& model, double width);
  void add_experts(const Transformer& model, const Layout& layout);

  std::array<RankMatrix, 16> all_{};
  std::size_t count_ = 0;
};

// Of attention, with keys and values as often as tensor-parallel ranks hold them: where they are
// more than the heads of keys and values, each has one head, and several the same. Divided by the
// ranks it is what one has.
AttentionWidths held_widths(const Transformer& model, const Layout& layout, Mixing mixing);
// Parameters of matrices that mix positions, of a rank.
double rank_mixing_matrices(const Transformer& model, const Layout& layout, LayerKind kind);

// Whether it has adapters; without lora none has.
bool is_adapted(const Layout& layout, const RankMatrix& matrix);
// Parameters of its adapters, of all groups.
double adapter_parameters(const Layout& layout, const RankMatrix& matrix);
// Those that one token meets, of all layers of the model, whatever the ranks.
double adapters_of_token(const Transformer& model, const Lora& lora);

}  // namespace sgdsim
