// Speed of sweeps: one point from its number to its line, and a whole sweep with one and two
// threads. The bar is 100,000 points of ResNet-50 in 6 s with two threads: 120 us of CPU each.
#include <benchmark/benchmark.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "study/sweep/sweep_point.h"
#include "study/sweep/sweep_run.h"
#include "study/typed_columns.h"

namespace {

using namespace sgdsim;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("wrong answer: ") + what);
}

// Nodes, bandwidths and eight strategies; the shipped sweep with more values.
Sweep sweep_of(int bandwidths) {
  const std::string root = SGDSIM_SOURCE_DIR;
  const Json axis = {
      {"from", "1 Gbps"}, {"to", "100 Gbps"}, {"count", bandwidths}, {"spacing", "log"}};
  const std::string file = (std::filesystem::temp_directory_path() /
                            ("sgdsim-bench-" + std::to_string(getpid()) + ".json"))
                               .string();
  Json spec = Json::parse(std::ifstream(root + "/app/sweeps/nodes_bandwidth.json"));
  spec["base"]["trace"] = root + "/traces/data/resnet50_v100.json";
  spec["axes"]["cluster.nic.bandwidth"] = axis;
  std::ofstream(file) << spec;
  Sweep sweep = read_sweep(file, {}, {});
  std::filesystem::remove(file);
  return sweep;
}

// From a point's number to its line, the strategies in turn.
void point(benchmark::State& state) {
  const Sweep sweep = sweep_of(100);
  require(sweep.points == 8 * 100 * 8, "eight nodes, a hundred bandwidths, eight strategies");
  PointReader reader(sweep);
  Points points(sweep, {});
  PointReader fresh(sweep);
  const Point first = *points.next();
  const std::string line = simulate_point(sweep, first, reader).dump();
  simulate_point(sweep, *points.next(), reader);
  require(simulate_point(sweep, first, reader).dump() == line, "the same line again");
  require(simulate_point(sweep, first, fresh).dump() == line, "and from another reader");
  for (auto _ : state) {
    auto next = points.next();
    if (!next) {
      points = Points(sweep, {});
      next = points.next();
    }
    benchmark::DoNotOptimize(simulate_point(sweep, *next, reader).dump());
  }
}
BENCHMARK(point);

// Reading and playing alone: what the next two are measured against. The bar is 1.2 times this.
void simulation(benchmark::State& state) {
  const Sweep sweep = sweep_of(100);
  PointReader reader(sweep);
  Points points(sweep, {});
  for (auto _ : state) {
    auto next = points.next();
    if (!next) {
      points = Points(sweep, {});
      next = points.next();
    }
    benchmark::DoNotOptimize(simulate_step(reader.read(next->choice).question()));
  }
}
BENCHMARK(simulation);

// And its row in columns.
void column_row(benchmark::State& state) {
  const Sweep sweep = sweep_of(100);
  PointReader reader(sweep);
  Points points(sweep, {});
  TypedColumns columns;
  for (auto _ : state) {
    auto next = points.next();
    if (!next) {
      require(columns.rows() >= sweep.points, "every point");
      columns = {};
      points = Points(sweep, {});
      next = points.next();
    }
    columns.add(row_of(sweep, play_point(sweep, *next, reader, false)));
  }
}
BENCHMARK(column_row);

// Everything but the disk.
void whole(benchmark::State& state) {
  const Sweep sweep = sweep_of(100);
  SweepOptions options;
  options.out = "/dev/null";
  options.threads = static_cast<int>(state.range(0));
  std::ostream nowhere(nullptr);
  for (auto _ : state) {
    const SweepOutcome outcome = run_sweep(sweep, options, nowhere, {});
    require(outcome.done == sweep.points && outcome.failed == 0, "every point");
  }
  state.counters["points/s"] = benchmark::Counter(static_cast<double>(sweep.points),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(whole)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
