// Parameters, products and exchanges of a layer come from the same shapes, for every published
// model; what experts with narrower inputs exchange.
#include <doctest/doctest.h>

#include "models/training/expert_exchanges.h"
#include "models/training/gpu.h"
#include "models/training/layer_matrices.h"
#include "models/training/layer_times.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "study/layout/layout_files.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

// Matrices of a layer as its list of products has them, and as its parameters are counted: without
// convolutions, which are no products, and what is added in place of multiplied.
double listed(const Transformer& model, LayerKind kind) {
  double all = 0;
  for (const RankMatrix& matrix : RankMatrices(model, {}, kind))
    all += matrix.groups * matrix.columns * matrix.inner;
  return all;
}
int64_t counted(const Transformer& model, LayerKind kind) {
  const LayerParameters layer = layer_parameters(model, kind);
  int64_t all = layer.mixing.matrices + layer.mlp_matrices + layer.router + layer.experts;
  if (kind.mixing == Mixing::linear) all -= model.linear->convolved() * model.linear->kernel;
  if (kind.has_experts() && model.experts->router_bias) all -= model.experts->choices();
  return all;
}

TEST_CASE("layers: products and parameters have the same shapes, in every published model") {
  const Document document =
      Document::read(SGDSIM_SOURCE_DIR "/tests/data/hugging_face_models.json");
  for (const Value& row : document.root().items()) {
    INFO(row.json()["name"].get<std::string>());
    const Transformer model = read_transformer(row.child("config"));
    const OfKinds<int64_t> kinds = model.kinds();
    for (std::size_t i = 0; i < most_kinds; ++i)
      if (kinds[i] > 0)
        CHECK(listed(model, kind_at(i)) == static_cast<double>(counted(model, kind_at(i))));
    Layout one;
    one.predictions = 0;
    CHECK(rank_parameters(model, one, 0).all() == static_cast<double>(parameters_of(model).total));
  }
}

// A token is sent and taken back as wide as the experts' inputs are.
TEST_CASE("layers: experts with narrower inputs exchange less") {
  Transformer model = load_model("qwen3_30b_a3b");
  const Gpu gpu = load_gpu("h100");
  const Layout layout = parse_layout("ep8 dp8 zero1", "");
  const LayerKind kind{.mlp = Mlp::experts};
  const auto sent_B = [&] {
    return expert_exchanges({model, layout, 4096, gpu, Precision::bf16}, 8).all[0].sent_B();
  };
  const double wide_B = sent_B();
  const int64_t router = layer_parameters(model, kind).router;
  const int64_t experts = layer_parameters(model, kind).experts;
  model.experts->input = model.hidden / 4;
  CHECK(sent_B() == doctest::Approx(wide_B / 4));
  CHECK(layer_parameters(model, kind).experts == experts / 4);
  CHECK(layer_parameters(model, kind).router == router + model.hidden * model.hidden / 2);
}

// A router chooses among all, and only the experts that are there have matrices.
TEST_CASE("layers: choices behind which nothing is") {
  Transformer model = load_model("qwen3_30b_a3b");
  const LayerKind kind{.mlp = Mlp::experts};
  const LayerParameters before = layer_parameters(model, kind);
  model.experts->empty = 64;
  const LayerParameters after = layer_parameters(model, kind);
  CHECK(after.router - before.router == 64 * model.hidden);
  CHECK(after.experts == before.experts);
}

}  // namespace
}  // namespace sgdsim
