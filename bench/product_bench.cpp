// Products of matrices as tasks of learning have them, ours beside Eigen's: FLOP/s of one thread.
// The answers are compared first. Eigen may contract and reorder sums, ours may not
// (models/learning/kernels.h), so 60 % of its speed is what we ask of ours.
//
// Eigen is compiled for this machine's widest registers, as ours choose them when they run.
#include <Eigen/Core>
#include <benchmark/benchmark.h>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"

namespace {

using namespace sgdsim::learning;

struct Shape {
  const char* name;
  int64_t rows, depth, columns;
  bool turned;  // the left factor is given as its transpose: gradients of weights
};
constexpr Shape shapes[] = {{"mlp first", 8, 32, 128, false},
                            {"mlp second", 8, 128, 128, false},
                            {"mlp last", 8, 128, 10, false},
                            {"mlp second, of weights", 128, 8, 128, true},
                            {"mlp first, of weights", 32, 8, 128, true},
                            {"mlp judged", 64, 128, 128, false},
                            {"transformer joined", 512, 48, 144, false},
                            {"transformer up", 512, 48, 192, false},
                            {"transformer down", 512, 192, 48, false},
                            {"transformer last", 512, 48, 96, false},
                            {"transformer up, of weights", 48, 512, 192, true},
                            {"transformer scores", 64, 12, 64, false},
                            {"transformer heads", 64, 64, 12, false}};

std::vector<float> drawn(std::size_t count, uint64_t seed) {
  Draws draws(seed, 0, 0, 0);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(draws.normal());
  return values;
}

struct Factors {
  std::vector<float> a, b, c;
  explicit Factors(const Shape& shape)
      : a(drawn(static_cast<std::size_t>(shape.rows * shape.depth), 1)),
        b(drawn(static_cast<std::size_t>(shape.depth * shape.columns), 2)),
        c(static_cast<std::size_t>(shape.rows * shape.columns)) {}
};

void ours(const Shape& shape, Factors& f) {
  const auto rows = static_cast<std::size_t>(shape.rows);
  const auto depth = static_cast<std::size_t>(shape.depth);
  const auto columns = static_cast<std::size_t>(shape.columns);
  const Strided<float> a =
      shape.turned ? Strided<float>{f.a.data(), 1, rows} : Strided<float>{f.a.data(), depth, 1};
  add_product<float>({a, f.b.data(), columns, f.c.data(), columns, rows, depth, columns});
}

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void of_eigen(const Shape& shape, Factors& f) {
  const Eigen::Map<const Matrix> b(f.b.data(), shape.depth, shape.columns);
  Eigen::Map<Matrix> c(f.c.data(), shape.rows, shape.columns);
  if (shape.turned)
    c.noalias() += Eigen::Map<const Matrix>(f.a.data(), shape.depth, shape.rows).transpose() * b;
  else
    c.noalias() += Eigen::Map<const Matrix>(f.a.data(), shape.rows, shape.depth) * b;
}

void product(benchmark::State& state, void (*add)(const Shape&, Factors&)) {
  const Shape& shape = shapes[state.range(0)];
  Factors one(shape);
  Factors other(shape);
  ours(shape, one);
  of_eigen(shape, other);
  for (std::size_t i = 0; i < one.c.size(); ++i)
    if (!(std::abs(one.c[i] - other.c[i]) <= 1e-3F))
      throw std::logic_error("wrong answer: a product differs");
  for (auto _ : state) {
    add(shape, one);
    benchmark::DoNotOptimize(one.c.data());
    benchmark::ClobberMemory();
  }
  const double flop = 2. * static_cast<double>(shape.rows * shape.depth * shape.columns);
  state.SetLabel(shape.name);
  state.counters["FLOP/s"] =
      benchmark::Counter(flop, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(product, ours, ours)->DenseRange(0, std::size(shapes) - 1);
BENCHMARK_CAPTURE(product, eigen, of_eigen)->DenseRange(0, std::size(shapes) - 1);

}  // namespace
